"""Contamination of training data with an evaluation set: the same text, a shared run of words, or nearly the same text.

Texts are compared by their words alone (case and punctuation do not count). A shared run is of 13 words unless told otherwise
(Brown et al. 2020, appendix C). Near-duplicates are pairs whose sets of word 3-grams have a Jaccard similarity of at least the
threshold; they are found exactly, by prefix filtering (Bayardo et al. 2007, "Scaling up all pairs similarity search"): of two
sets that are so alike, the rarest few 3-grams of each must share one. What stands in many evaluation texts alike is
boilerplate and counts in neither.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from intentfold.records import RECORD

Way = Literal["exact", "n-gram", "near-duplicate"]
SHINGLE = 3
MIN_SHINGLES = 4
# Boilerplate stands in more than so many evaluation texts and in more than that share of them.
COMMON_TEXTS, COMMON_SHARE = 10, 0.05
_ROUNDING = 1e-9  # 0.7 * 10 is a little more than 7
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a record: `whole` is all that it says, else one of its parts (a turn, a line), which may be a commonplace."""

    source: str
    id: str
    words: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A training text that stands in an evaluation set, and how; `detail` holds the words that were found."""

    __pydantic_config__ = RECORD

    way: Way
    train: str
    evaluation: str
    evaluation_id: str
    detail: str


@dataclass(frozen=True)
class Bounds:
    """What counts: runs of `run` words, similarity `near`, and parts of at least `part_words` words."""

    run: int = 13
    near: float = 0.8
    part_words: int = 8

    def __post_init__(self) -> None:
        if self.run < SHINGLE or self.part_words < 1:
            raise ValueError(f"run must be at least {SHINGLE} and part_words 1, got {self.run} and {self.part_words}")
        if not 0.0 < self.near <= 1.0:
            raise ValueError(f"near must be in (0.0, 1.0], got {self.near}")


class EvaluationIndex:
    """Evaluation texts, to be asked about training texts one at a time: time goes with their words, not with the index."""

    def __init__(self, texts: Iterable[Text], bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.texts: list[Text] = []
        self._exact: dict[str, int] = {}
        kept: list[Sequence[str]] = []
        for text in texts:
            words = _words(text.words)
            if self._counts(text, words):
                self._exact.setdefault(" ".join(words), len(self.texts))
                self.texts.append(text)
                kept.append(words)
        most = max(COMMON_TEXTS, COMMON_SHARE * len(kept))
        self._runs = _once(kept, self.bounds.run, most)
        self._frequency = Counter(gram for words in kept for gram in _grams(words, SHINGLE))
        self._common = {gram for gram, times in self._frequency.items() if times > most}
        self._shingles = [self._distinctive(words) for words in kept]
        self._by_prefix: dict[str, list[int]] = defaultdict(list)
        for place, shingles in enumerate(self._shingles):
            for gram in self._prefix(shingles):
                self._by_prefix[gram].append(place)

    def hits(self, text: Text) -> list[Hit]:
        """The ways, one hit each, in which a training text stands among the evaluation texts."""
        words = _words(text.words)
        if not self._counts(text, words):
            return []
        found: list[Hit] = []
        if (place := self._exact.get(" ".join(words))) is not None:
            found.append(self._hit("exact", text, place, " ".join(words)))
        run = next((gram for gram in _grams(words, self.bounds.run) if gram in self._runs), None)
        if run is not None:
            found.append(self._hit("n-gram", text, self._runs[run], run))
        if (place := self._near(self._distinctive(words))) is not None:
            found.append(self._hit("near-duplicate", text, place, self.texts[place].words))
        return found

    def _counts(self, text: Text, words: Sequence[str]) -> bool:
        return bool(words) and (text.whole or len(words) >= self.bounds.part_words)

    def _hit(self, way: Way, text: Text, place: int, detail: str) -> Hit:
        return Hit(way, text.id, self.texts[place].source, self.texts[place].id, detail[:400])

    def _distinctive(self, words: Sequence[str]) -> frozenset[str]:
        """The 3-grams that are no boilerplate; none where too few are left to tell."""
        shingles = frozenset(_grams(words, SHINGLE)) - self._common
        return shingles if len(shingles) >= MIN_SHINGLES else frozenset()

    def _prefix(self, shingles: frozenset[str]) -> list[str]:
        """The rarest of the 3-grams, of which one at least is shared by any set that is near enough."""
        length = len(shingles) - math.ceil(self.bounds.near * len(shingles) - _ROUNDING) + 1
        return sorted(shingles, key=lambda gram: (self._frequency[gram], gram))[:length] if shingles else []

    def _near(self, shingles: frozenset[str]) -> int | None:
        for gram in self._prefix(shingles):
            for place in self._by_prefix.get(gram, ()):
                other = self._shingles[place]
                shared = len(shingles & other)
                if shared >= self.bounds.near * (len(shingles) + len(other) - shared) - _ROUNDING:
                    return place
        return None


def _once(kept: Sequence[Sequence[str]], length: int, most: float) -> dict[str, int]:
    """Every run of words and the first text that holds it, without those that more than `most` texts hold."""
    first: dict[str, int] = {}
    times: Counter[str] = Counter()
    for place, words in enumerate(kept):
        for gram in _grams(words, length):
            first.setdefault(gram, place)
            times[gram] += 1
    return {gram: place for gram, place in first.items() if times[gram] <= most}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _grams(words: Sequence[str], length: int) -> dict[str, None]:
    """The distinct runs of so many words, in order."""
    return dict.fromkeys(" ".join(words[start : start + length]) for start in range(len(words) - length + 1))
