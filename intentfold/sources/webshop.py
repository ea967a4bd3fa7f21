"""WebShop's goal texts as shop requests: what product is wanted, and which fields the text fills.

Yao et al. 2022, "WebShop". The goal texts come without their catalogue, so their wishes are read by the words of
`shop_words`: as whole words, the longest phrase at each place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from intentfold.intent import normalise
from intentfold.sources.loading import Skip, SourceError, expect_file, parsed
from intentfold.sources.shop_words import FIELDS, PRODUCTS

MIN_WISHES = 2
# A text that grades its own wishes says what no rule here reads.
_GRADED = re.compile(r"\b(prefer\w*|ideally|if possible|optional\w*|would be nice|must|or)\b")


@dataclass(frozen=True, slots=True)
class ShopRequest:
    """A request as it is said: its group of products, and (field, value) in the order of the text, `product` among them."""

    text: str
    origin: str
    license: str
    group: str
    wishes: tuple[tuple[str, str], ...]


def load_goals(folder: Path) -> tuple[tuple[ShopRequest, ...], Mapping[str, int]]:
    """The requests of `human_goals.json`, in its order, and how many texts made none, by reason.

    Raises `SourceError` with the place where the file is not a list of texts.
    """
    path = expect_file(folder / "human_goals.json", "WebShop's goal texts")
    texts = parsed(str(path), path.read_bytes())
    if not isinstance(texts, list):
        raise SourceError(f"{path}: expected a list of texts, got {str(texts)[:80]!r}")
    found: dict[str, ShopRequest] = {}
    skipped: Counter[str] = Counter()
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise SourceError(f"{path}: entry {number} must be a text, got {str(text)[:80]!r}")
        try:
            request = read_goal(text)
            if request.origin in found:
                raise Skip("the same text again")
            found[request.origin] = request
        except Skip as reason:
            skipped[str(reason)] += 1
    return tuple(found.values()), dict(skipped)


def read_goal(text: str, license: str = "MIT") -> ShopRequest:
    """The request that a goal text makes; raises `Skip` with the reason where it makes none that can be read."""
    said = " ".join(text.split()).strip(" .,")
    lowered = said.casefold()
    if _GRADED.search(lowered):
        raise Skip("grades or offers alternatives")
    places = _found(lowered, PRODUCTS)
    if len(places) != 1:
        raise Skip("no product that is known" if not places else "more than one product")
    start, end, group, product = places[0]
    rest = lowered[:start] + "#" * (end - start) + lowered[end:]
    wishes = _found(rest, FIELDS[group])
    by_field: dict[str, list[tuple[int, str]]] = {}
    for place, _, field, value in wishes:
        by_field.setdefault(field, []).append((place, value))
    # Two values of one field may be a conjunction; only "free" wishes are one for sure.
    for values in by_field.values():
        if len(values) > 1 and not all(value.endswith(" free") for _, value in values):
            raise Skip("two values of one field")
        if len({value for _, value in values}) < len(values):
            raise Skip("two values of one field")
    if len(by_field) < MIN_WISHES:
        raise Skip(f"fewer than {MIN_WISHES} fields that are known")
    ordered = [(start, "product", product)]
    ordered += [(values[0][0], field, " and ".join(value for _, value in values)) for field, values in by_field.items()]
    return ShopRequest(said, normalise(said), license, group, tuple((field, value) for _, field, value in sorted(ordered)))


def _found(text: str, words: Mapping[str, tuple[str, ...]]) -> list[tuple[int, int, str, str]]:
    """(start, end, name, phrase) of the phrases that stand in the text, from left to right, the longest at each place."""
    names = {phrase: name for name, phrases in words.items() for phrase in phrases}
    return [(*match.span(), names[match[0]], match[0]) for match in _pattern(tuple(names)).finditer(text)]


@cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")
