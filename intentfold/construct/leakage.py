"""The leakage gate (design D7): shared origins, shared final states, and near-duplicate edit-bearing user turns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from intentfold.intent import key, normalise
from intentfold.trace import Episode

NGRAM = 3
NEAR_DUPLICATE = 0.8
MIN_NGRAMS = 4


class LeakageError(ValueError):
    """A dataset whose test or dev part stands in its training part."""


@dataclass(frozen=True, slots=True)
class Leak:
    """One held-out episode that the training part gives away, and how."""

    episode: str
    kind: str
    detail: str


class TrainingIndex:
    """What the training episodes show: origins, final states, and the n-grams of edit-bearing user turns."""

    def __init__(self, train: Iterable[Episode]) -> None:
        self.origins: dict[tuple[str, str], str] = {}
        self.states: dict[object, str] = {}
        self.turns: list[tuple[frozenset[tuple[str, ...]], str]] = []
        self.by_ngram: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for episode in train:
            self.origins[(episode.task.family, episode.task.origin)] = episode.id
            self.states[_final_goals(episode)] = episode.id
            for words in edit_bearing_turns(episode):
                ngrams = _ngrams(words)
                if len(ngrams) >= MIN_NGRAMS:
                    for ngram in ngrams:
                        self.by_ngram[ngram].append(len(self.turns))
                    self.turns.append((ngrams, words))

    def leaks(self, episode: Episode) -> list[Leak]:
        """Every way in which a held-out episode stands in the training part."""
        found = []
        origin = (episode.task.family, episode.task.origin)
        if origin in self.origins:
            found.append(Leak(episode.id, "origin", f"{origin[1]!r} is the origin of {self.origins[origin]}"))
        state = _final_goals(episode)
        if state in self.states:
            found.append(Leak(episode.id, "final state", f"equal to that of {self.states[state]}"))
        for words in edit_bearing_turns(episode):
            twin = self._near_duplicate(words)
            if twin is not None:
                found.append(Leak(episode.id, "user turn", f"{words!r} is nearly {twin!r}"))
        return found

    def part(self, episodes: Iterable[Episode]) -> tuple[list[Episode], list[Leak]]:
        """The episodes that the training part does not give away, and the first leak of each of the others."""
        kept, found = [], []
        for episode in episodes:
            leaks = self.leaks(episode)
            if leaks:
                found.append(leaks[0])
            else:
                kept.append(episode)
        return kept, found

    def _near_duplicate(self, words: str) -> str | None:
        ngrams = _ngrams(words)
        if len(ngrams) < MIN_NGRAMS:
            return None
        shared: dict[int, int] = defaultdict(int)
        for ngram in ngrams:
            for position in self.by_ngram.get(ngram, ()):
                shared[position] += 1
        for position, count in shared.items():
            other, text = self.turns[position]
            if count / (len(ngrams) + len(other) - count) >= NEAR_DUPLICATE:
                return text
        return None


def edit_bearing_turns(episode: Episode) -> list[str]:
    """The user's turns that change the state, branches too (the opening request, which is the task's own, left out)."""
    turns: list[str] = []
    for turn in episode.turns:
        turns += [user for user, edits in [(turn.user, turn.edits), *((b.user, b.edits) for b in turn.branches)] if edits]
    return [text.removeprefix(episode.task.request).strip() for text in turns]


def _final_goals(episode: Episode) -> object:
    goals = frozenset((key(item), normalise(item.value or "")) for item in episode.final_state.of_kind("goal"))
    return (episode.task.family, goals)


def _ngrams(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return frozenset(tuple(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1))


def leakage_error(what: str, leaks: Sequence[Leak]) -> LeakageError:
    """The error that names the first few leaks."""
    shown = "; ".join(f"{leak.episode}: {leak.kind}: {leak.detail}" for leak in leaks[:5])
    return LeakageError(f"{what}: {len(leaks)} leaks from the training part: {shown}")
