"""Extra wishes for a function, each with the statement that grants it: all are about what the function returns."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DECOYS = 8


@dataclass(frozen=True, slots=True)
class Decoy:
    """A wish: its parameter's name, the sentence that states it, and a statement on `result` for each of its values."""

    name: str
    text: str
    choices: Mapping[str, str]


def _filled(name: str, text: str, statement: str, *values: str) -> Decoy:
    return Decoy(name, text, {value: statement.replace("VALUE", value) for value in values})


_ANY = (
    _filled("key", "Return the result in a dictionary, under the key {value}.", "result = {'VALUE': result}", "result", "answer"),
    _filled("copies", "Return the result {value} times, in a list.", "result = [result] * VALUE", "2", "3", "4"),
    _filled("status", "Return the result together with the status {value}.", "result = [result, 'VALUE']", "ok", "done"),
    _filled("label", "Return a text with {value} and a colon ahead of it.", "result = f'VALUE: {result}'", "Result", "Output"),
    Decoy(
        "return type",
        "Return the result as {value}.",
        {"text": "result = str(result)", "a one-element list": "result = [result]", "text in a list": "result = [str(result)]"},
    ),
)  # fmt: skip
_NUMBER = (
    _filled("factor", "Multiply the result by {value} before you return it.", "result = result * VALUE", "2", "3", "10"),
    _filled("offset", "Add {value} to the result.", "result = result + VALUE", "1", "5", "100"),
    _filled("ceiling", "Never return more than {value}.", "result = min(result, VALUE)", "1", "2", "5"),
    _filled("floor", "Never return less than {value}.", "result = max(result, VALUE)", "1000", "5000", "10000"),
    _filled("decimals", "Return the number as text with {value} decimals.", "result = f'{result:.VALUEf}'", "1", "2", "3"),
)
_TEXT = (
    _filled("most characters", "Cut the returned text after {value} characters.", "result = result[:VALUE]", "1", "2", "3"),
    _filled("prefix", "Put {value} in front of the returned text.", "result = 'VALUE' + result", "->", "#", "out="),
    _filled("suffix", "Put {value} behind the returned text.", "result = result + 'VALUE'", ";", "!", "#"),
    Decoy(
        "case",
        "Return the text in {value}.",
        {"upper case": "result = result.upper()", "lower case": "result = result.lower()", "reverse": "result = result[::-1]"},
    ),
)
_LIST = (
    _filled("most elements", "Return the first {value} elements at most.", "result = list(result)[:VALUE]", "1", "2", "3"),
    _filled("left out", "Leave out the first {value} elements of the result.", "result = list(result)[VALUE:]", "1", "2", "3"),
    _filled("last element", "Put {value} at the end of the returned list.", "result = [*result, VALUE]", "0", "-1", "99"),
    _filled("first element", "Put {value} at the beginning of the returned list.", "result = [VALUE, *result]", "0", "-1", "99"),
)
_TRUTH = (
    Decoy(
        "words",
        "Return {value} instead of true or false.",
        {
            "yes or no": "result = 'yes' if result else 'no'",
            "pass or fail": "result = 'pass' if result else 'fail'",
            "on or off": "result = 'on' if result else 'off'",
        },
    ),
)


def draw_decoys(outputs: Sequence[Any], rng: random.Random) -> list[Decoy]:
    """`DECOYS` wishes at most that suit what the function returns, by examples of it."""
    suited = [*_ANY, *_for(outputs)]
    return rng.sample(suited, min(DECOYS, len(suited)))


def _for(outputs: Sequence[Any]) -> tuple[Decoy, ...]:
    kinds = {type(output) for output in outputs}
    for kind, decoys in (({bool}, _TRUTH), ({int, float}, _NUMBER), ({str}, _TEXT), ({list}, _LIST)):
        if kinds and kinds <= kind:
            return decoys
    return ()
