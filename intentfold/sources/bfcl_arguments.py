"""Arguments of BFCL's gold calls: the words for them, and values that a user might have said instead."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from intentfold.sources.values import MOST_VALUES, look_alikes_first, near_numbers, near_text, said

ENOUGH_VALUES = 3
_TYPES = {"integer": "integer", "float": "number", "boolean": "boolean", "array": "json", "tuple": "json", "dict": "json"}
_SPELLED_OUT = {"num": "number of", "loc": "location", "temp": "temperature", "max": "maximum", "min": "minimum"}
_SAY_NOTHING = ("name", "type", "id", "number", "list", "value", "data", "info")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of one gold call; `acceptable` is empty where the gold calls leave the argument out.

    `must` tells whether the gold call is wrong without it.
    """

    function: str
    name: str
    schema: Mapping[str, Any]
    acceptable: tuple[Any, ...]
    must: bool

    @property
    def value(self) -> Any:
        """What the gold's first choice gives."""
        return _chosen(self.acceptable[0])

    @property
    def type(self) -> str:
        """The parameter type: by the gold's value where it must be given (a few descriptions mislabel it)."""
        described = _TYPES.get(self.schema["type"], "string")
        if not self.must or described == "number":
            return described
        by_value = {bool: "boolean", int: "integer", float: "number", str: "string"}
        return by_value.get(type(self.value), "json")

    @property
    def words(self) -> str:
        """The name as words: `start_loc` is `start location`, `side1` is `side 1`."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)", " ", self.name.replace("_", " "))
        parts = [part if len(part) == 1 else part.lower() for part in spaced.split()]
        return " ".join(_SPELLED_OUT.get(part, part) for part in parts)

    @property
    def phrases(self) -> list[str]:
        """Noun phrases for the argument, the best first: its name, unless that is a letter or two, and its description."""
        described = re.split(r"e\.?g\b|[.,;:(]", self.schema.get("description", ""))[0].strip()
        described = re.sub(r"^(the|a|an) ", "", described, flags=re.IGNORECASE)
        described = described[:1].lower() + described[1:]
        length = len(described.split())
        if not re.fullmatch(r"[A-Za-z][\w' -]*", described) or not 2 <= length <= 6 or described == self.words:
            return [self.words]
        return [described, self.words] if len(self.name) <= 2 and length <= 4 else [self.words, described]


class Pool:
    """What the gold calls of all tasks say, by type and words of the argument: a source of plausible values."""

    def __init__(self, arguments: Iterable[Argument]) -> None:
        self._values: dict[tuple[str, str], set[str]] = defaultdict(set)
        for argument in arguments:
            for words in (argument.words, _last_word(argument), ""):
                self._values[argument.type, words].add(said(argument.value))

    def same_name(self, argument: Argument) -> set[str]:
        """Values of arguments of the same name."""
        return self._values.get((argument.type, argument.words), set())

    def same_ending(self, argument: Argument) -> set[str]:
        """Values of arguments whose name ends in the same word, if that word says what they are."""
        ending = _last_word(argument)
        return set() if ending in _SAY_NOTHING else self._values.get((argument.type, ending), set())

    def same_type(self, argument: Argument) -> set[str]:
        """Values of every argument of the type."""
        return self._values.get((argument.type, ""), set())


def _last_word(argument: Argument) -> str:
    return argument.words.split(" ")[-1]


def other_values(argument: Argument, pool: Pool) -> list[str]:
    """Up to `MOST_VALUES` plausible values that the gold does not accept, the likeliest to be confused first."""
    text = said(argument.value) if argument.must else ""
    accepted = [_standardised(said(_chosen(value))) for value in argument.acceptable]
    if not argument.must:  # Setting what is the default anyway would change nothing.
        accepted += map(_standardised, _defaults(argument.schema))
    candidates = _candidates(argument, text, pool)
    kept: dict[str, str] = {}
    for value in candidates:
        plain = _standardised(value)
        if plain and len(kept) < MOST_VALUES and not any(_same_thing(plain, other, argument.type) for other in accepted):
            kept.setdefault(plain, value)
    if argument.type == "string" and argument.must and len(kept) < ENOUGH_VALUES and "enum" not in argument.schema:
        others = (value for value in pool.same_type(argument) if _shape(value) == _shape(text))
        more = {_standardised(value): value for value in look_alikes_first(text, others)}
        new = [(plain, value) for plain, value in more.items() if plain not in (*accepted, *kept)]
        kept |= dict(new[: ENOUGH_VALUES - len(kept)])
    return list(kept.values())


def _same_thing(plain: str, other: str, type: str) -> bool:
    """Equal to BFCL, or the same name at another length ("Chicago" and "Chicago, IL")."""
    longer = type == "string" and min(len(plain), len(other)) > 2 and not re.search(r"\d", plain + other)
    return plain == other or (longer and (plain in other or other in plain))


def _defaults(schema: Mapping[str, Any]) -> list[str]:
    found = [said(schema["default"])] if "default" in schema else []
    words = r"default\w*(?: value)?(?: is| to| as)?:? (?:'([^']+)'|(\w+(?:\.\d+)?))"
    described = [quoted or word for quoted, word in re.findall(words, schema.get("description", ""), re.IGNORECASE)]
    return [*found, *({"true": "yes", "false": "no"}.get(word.lower(), word) for word in described)]


def _candidates(argument: Argument, text: str, pool: Pool) -> list[str]:
    schema, type = argument.schema, argument.type
    if "enum" in schema:
        return [said(member) for member in schema["enum"]]
    if type == "boolean":
        return ["yes", "no"]
    alike = look_alikes_first(text, pool.same_name(argument))
    if argument.must:
        alike += look_alikes_first(text, pool.same_ending(argument))
    if type in ("integer", "number"):
        base = argument.value if argument.must else schema.get("default")
        if isinstance(base, bool) or not isinstance(base, int | float):
            return [*alike, "2", "5", "10"]
        near = [said(number) for number in near_numbers(base)]
        return [*near[:3], *(value for value in alike if 0.1 <= float(value) / (base or 1) <= 10), *near[3:]]
    if type == "json":
        alike = [value for value in alike if not argument.must or _json_shape(json.loads(value)) == _json_shape(argument.value)]
        return [*map(said, _changed(argument.value)), *alike] if argument.must else alike
    examples = re.findall(r"'(\w[\w /-]*)'", schema.get("description", ""))
    return [*near_text(text), *examples, *alike]


def _shape(text: str) -> tuple[int, bool, bool]:
    """What makes two strings interchangeable at a glance: words, capital, digits."""
    return len(text.split()), text[:1].isupper(), any(map(str.isdigit, text))


def _json_shape(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_shape(value[0])] if value else []
    return sorted(value) if isinstance(value, dict) else type(value).__name__


def _changed(value: Any) -> list[Any]:
    """The list or dict with one member changed or, in a list, left out."""
    if isinstance(value, dict):
        return [{**value, key: other} for key, member in value.items() for other in _changed(member)[:2]]
    if isinstance(value, list):
        changed = [[*value[:i], other, *value[i + 1 :]] for i, member in enumerate(value) for other in _changed(member)[:2]]
        return changed[:4] + ([value[:-1]] if len(value) > 1 else [])
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return list(near_numbers(value))
    return list(near_text(value)) if isinstance(value, str) else []


def _chosen(acceptable: Any) -> Any:
    """The first choice: inside a dict every key lists acceptable values of its own."""
    if isinstance(acceptable, dict):
        chosen = {key: next((v for v in choices if v != ""), "") for key, choices in acceptable.items()}
        return {key: _chosen(value) for key, value in chosen.items() if value != ""}
    return [_chosen(member) for member in acceptable] if isinstance(acceptable, list) else acceptable


def _standardised(text: str) -> str:
    """Text as BFCL compares it."""
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')
