"""Wording banks of the corrective environment, split into train, dev and test, and reading them back from text."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, Literal

import yaml

from intentfold.trace import Wording

# What a clause does: name a discrepancy, state the desired change, say what an asset holds, state a fact.
Kind = Literal["wrong", "want", "require", "fact"]
KINDS: tuple[Kind, ...] = ("wrong", "want", "require", "fact")
_FIELD = re.compile(r"\{(\w+)\}")


@cache
def bank(wording: Wording) -> Mapping[str, Any]:
    """Family -> criterion -> act -> templates; `frames` holds what belongs to no family."""
    path = Path(__file__).parent / "wording" / f"{wording}.yaml"
    found: Mapping[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its fields filled in, in one pass. Raises `KeyError` naming a field without a value."""
    return _FIELD.sub(lambda match: values[match[1]], template)


def fields(template: str) -> tuple[str, ...]:
    """The names of the template's fields, each once."""
    return tuple(dict.fromkeys(_FIELD.findall(template)))


def say(wording: Wording, family: str, key: str, act: str, rng: random.Random, values: Mapping[str, str]) -> str:
    """One wording of an act of a criterion. Raises `KeyError` where the bank has none."""
    return fill(rng.choice(bank(wording)[family][key][act]), values)


def frame(wording: Wording, act: str, rng: random.Random, **values: str) -> str:
    """One wording of an act that belongs to no family."""
    return fill(rng.choice(bank(wording)["frames"][act]), values)


@dataclass(frozen=True)
class Said:
    """A clause that was found in a text: which criterion it is about, and what the fields of its template held."""

    family: str
    key: str
    kind: Kind
    values: Mapping[str, str]


@lru_cache(maxsize=1 << 16)
def read(text: str, wording: Wording) -> tuple[Said, ...]:
    """Every clause of the bank that stands in `text`, whatever its fields hold; those in another's middle left out."""
    found = []
    for family, key, kind, pattern in _patterns(wording):
        for match in pattern.finditer(text):
            values = {name: value for name, value in match.groupdict().items() if value is not None}
            found.append((match.start(), match.end(), Said(family, key, kind, values)))
    kept = [
        (start, end, said)
        for start, end, said in found
        if not any(s <= start and end <= e and (s, e) != (start, end) for s, e, _ in found)
    ]
    return tuple(said for _, _, said in sorted(kept, key=lambda item: item[:2]))


@lru_cache(maxsize=1 << 16)
def read_whole(text: str, wording: Wording) -> Said | None:
    """The one clause that `text` is, None where it is none of the bank."""
    for family, key, kind, pattern in _patterns(wording):
        match = pattern.fullmatch(text)
        if match:
            return Said(family, key, kind, {name: value for name, value in match.groupdict().items() if value is not None})
    return None


@lru_cache(maxsize=4)
def _patterns(wording: Wording) -> tuple[tuple[str, str, Kind, re.Pattern[str]], ...]:
    patterns = []
    for family, criteria in bank(wording).items():
        if family == "frames":
            continue
        for key, acts in criteria.items():
            if key in ("request", "pressure"):
                continue
            for kind in KINDS:
                for template, fact in product(acts.get(kind, ()), acts.get("fact", ("",))):
                    spelt = template.replace("{fact}", fact)
                    if spelt == template and fact and fact != acts["fact"][0]:
                        continue
                    patterns.append((family, key, kind, re.compile(_pattern(spelt))))
    return tuple(patterns)


def _pattern(template: str) -> str:
    """A pattern for the template: fields hold no quotation marks, and evidence anything between a pair of them."""
    pattern, seen, place = "", set[str](), 0
    for match in _FIELD.finditer(template):
        pattern += re.escape(template[place : match.start()])
        place, name = match.end(), match[1]
        if name in seen:
            pattern += f"(?P={name})"
        elif name == "evidence":
            pattern += "(?P<evidence>[^“”]+)"
        else:
            pattern += rf"(?P<{name}>[^“”.!?]+?)"
        seen.add(name)
    return pattern + re.escape(template[place:])
