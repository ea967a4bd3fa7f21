"""Plain English texts into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

_POINTS_BACK = re.compile(r"(he|she|it|they|his|her|hers|its|their|this|that|these|those|then)\b", re.IGNORECASE)
_END = re.compile(r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<=[.?!])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z$\d])")


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every sentence, the spaces between them left out."""
    start = 0
    for gap in _END.finditer(text):
        spaces = re.search(r"\s+$", gap[0])
        assert spaces is not None
        yield start, gap.start() + spaces.start()
        start = gap.end()
    yield start, len(text)


def sentences(text: str) -> list[str]:
    """The sentences of a text, each once, runs of white space as one blank."""
    plain = " ".join(text.split())
    return list(dict.fromkeys(plain[start:end] for start, end in sentence_spans(plain) if end > start))


def points_back(sentence: str) -> bool:
    """Whether a sentence begins with a word that needs the sentence before it."""
    return _POINTS_BACK.match(sentence) is not None
