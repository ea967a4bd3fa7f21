"""What a working agent writes, as JSON objects one after the other, and a parser that is total on arbitrary text.

{"call": "search_trains", "arguments": {"from": "Graz", "to": "Brno"}}
{"write": "note.md", "text": "# Title\\n"}
{"reply": "The note is in note.md."}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from intentfold.intent import Rejected

MAX_ACTIONS = 50
_DECODER = json.JSONDecoder(strict=False)  # models break lines inside strings
_BETWEEN = " \t\r\n,;[]"  # an array of actions is read as its actions


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Write:
    """A whole text file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to the user."""

    text: str


Action = Call | Write | Reply


def decode_actions(text: str) -> tuple[tuple[Action, ...], tuple[Rejected, ...]]:
    """The actions that `text` holds, and what in it is none, for any text whatever. Fences of code blocks are passed over."""
    actions: list[Action] = []
    rejected: list[Rejected] = []
    position, prose = 0, False
    while position < len(text):
        if text[position] in _BETWEEN:
            position += 1
            continue
        line = text[position:].split("\n", 1)[0]
        end = position + len(line)
        if text[position] == "{":
            if len(actions) + len(rejected) >= MAX_ACTIONS:
                rejected.append(Rejected(line[:80], f"more than {MAX_ACTIONS} actions at once"))
                break
            prose = False
            try:
                data, position = _DECODER.raw_decode(text, position)
            except (ValueError, RecursionError) as error:
                rejected.append(Rejected(line[:80], str(error)[:120]))
                position = end
                continue
            try:
                actions.append(_action(data))
            except (ValueError, RecursionError) as error:
                rejected.append(Rejected(line[:80], str(error)[:120]))
            continue
        if not line.startswith("```") and not prose:
            rejected.append(Rejected(line[:80], "expected a JSON object"))
            prose = True
        position = end
    return tuple(actions), tuple(rejected)


def _action(data: dict[str, Any]) -> Action:
    """Raises `ValueError` that says what was expected."""
    if set(data) == {"reply"}:
        return Reply(_string("reply", data["reply"]))
    if set(data) == {"write", "text"}:
        path = _string("write", data["write"])
        if not path or path.startswith("/") or ".." in path.split("/") or "\n" in path or len(path) > 200:
            raise ValueError(f"write: expected a relative path, got {path[:80]!r}")
        return Write(path, _string("text", data["text"]))
    if set(data) in ({"call"}, {"call", "arguments"}):
        arguments = data.get("arguments", {})
        if not isinstance(arguments, dict):
            raise ValueError(f"arguments: expected an object, got {str(arguments)[:80]!r}")
        return Call(_string("call", data["call"]), {_clean(name): _scalar(name, value) for name, value in arguments.items()})
    raise ValueError(f"expected the keys call and arguments, write and text, or reply; got {sorted(data)[:5]}")


def _string(what: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what}: expected a string, got {str(value)[:80]!r}")
    return _clean(value)


def _scalar(name: str, value: Any) -> str:
    """Arguments are text; what is none, but for null, is taken as it is spelt in JSON."""
    if isinstance(value, bool | int | float | list | dict):
        return _clean(json.dumps(value, ensure_ascii=False))
    return _string(f"arguments.{name[:40]}", value)


def _clean(text: str) -> str:
    """Without lone surrogates, which could not be written anywhere."""
    return text.encode("utf-8", "replace").decode("utf-8")
