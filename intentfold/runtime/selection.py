"""Selecting situations at task entry by their descriptions; the selection stays fixed through the task (LiveAsset, 3.3)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from intentfold.asset import Situation
from intentfold.prompts.assets import selector_prompt
from intentfold.runtime.roles import Backend

# Words that say nothing about a task.
_COMMON = set(
    re.findall(
        r"\w+",
        "a an and are as at be by for from has have i in is it its make me my need no not of on or please so some than that the "
        "their them they this to user users was we what when where which who will with would you your",
    )
)


class Selector(Protocol):
    """Ranks situations for a request. What it leaves out is not selected."""

    @property
    def name(self) -> str: ...

    @property
    def tokens(self) -> int | None:
        """What its requests have taken so far; None where no model takes part."""
        ...

    def rank(self, request: str, situations: Sequence[Situation]) -> list[int]:
        """Places of the situations that fit, best first."""
        ...


class LexicalSelector:
    """No model: situations whose description shares words with the request, rare words counting more.

    Those at least `floor` of the best one's score are selected, `most` at most.
    """

    name = "lexical"
    tokens = None

    def __init__(self, most: int = 1, floor: float = 0.5) -> None:
        self.most, self.floor = most, floor

    def rank(self, request: str, situations: Sequence[Situation]) -> list[int]:
        """By the summed inverse document frequency of the shared words; the earlier on ties."""
        bags = [set(words(shown(situation))) for situation in situations]
        count = Counter(word for bag in bags for word in bag)
        weight = {word: math.log(1 + len(bags) / times) for word, times in count.items()}
        scores = [sum(weight[word] for word in set(words(request)) & bag) / math.sqrt(1 + len(bag)) for bag in bags]
        order = sorted((place for place, score in enumerate(scores) if score > 0), key=lambda place: (-scores[place], place))
        return [place for place in order if scores[place] >= self.floor * scores[order[0]]][: self.most]


class ModelSelector:
    """A language model as the selector. `unread` counts answers that could not be read: nothing is selected then."""

    def __init__(self, backend: Backend, most: int = 3, max_tokens: int = 32) -> None:
        self.backend, self.most, self.max_tokens = backend, most, max_tokens
        self.unread = 0
        self.tokens = 0

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def rank(self, request: str, situations: Sequence[Situation]) -> list[int]:
        """The places that the model named, in its order."""
        if not situations:
            return []
        [completion] = self.backend.complete([selector_prompt(request, situations)], self.max_tokens)
        self.tokens += completion.prompt_tokens + completion.completion_tokens
        places = read_selection(completion.text, len(situations))
        if places is None:
            self.unread += 1
            return []
        return places[: self.most]


def read_selection(text: str, count: int) -> list[int] | None:
    """The places that an answer names (it counts from 1), None where it is no answer. Total."""
    line = text.strip()
    if line == "NONE":
        return []
    if not re.fullmatch(r"\d{1,6}(?:[ ,]+\d{1,6})*", line):
        return None
    places = [int(number) - 1 for number in re.findall(r"\d+", line)]
    return list(dict.fromkeys(places)) if all(0 <= place < count for place in places) else None


def shown(situation: Situation) -> str:
    """What of a situation is matched with a request: its description and the excerpts of earlier requests."""
    return " ".join([situation.description, *(excerpt.text for excerpt in situation.excerpts)])


def words(text: str) -> list[str]:
    """The words of a text that say something."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in _COMMON]


def similarity(a: str, b: str) -> float:
    """Cosine of the word counts of two texts, 0 where one is empty."""
    left, right = Counter(words(a)), Counter(words(b))
    product = sum(times * right[word] for word, times in left.items())
    norm = math.sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))
    return product / norm if norm else 0.0
