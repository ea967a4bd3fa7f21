"""GSM8K as source tasks: one goal per sentence, answers by executing the annotated arithmetic again.

The sentence that asks is part of the request where it states no number, else a goal like the others. A sentence
varies in one number (its first that can be traced without doubt); numbers in words become digits there. Decoys
are extra sentences that change the result.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from intentfold.sources.builtin.common import opening
from intentfold.sources.gsm8k_arithmetic import Arithmetic, Exact, Number, find_numbers, trace
from intentfold.sources.gsm8k_decoys import draw_decoys
from intentfold.sources.loading import LoadReport, Skip, SourceError, answer_alone, read_lines
from intentfold.sources.sentences import points_back, sentence_spans
from intentfold.sources.values import MOST_VALUES
from intentfold.task import Goal, SourceTask

SPLITS = ("train", "test")
_ASKS = ("work through a word problem", "solve a small word problem", "do a bit of arithmetic", "work out a puzzle with numbers")
_FIELDS = {"question": str, "answer": str}


def load_gsm8k(folder: Path) -> LoadReport:
    """The tasks of `train.jsonl` and `test.jsonl` in `folder`; `payload["benchmark_split"]` keeps which."""
    tasks: list[SourceTask] = []
    left: dict[str, str] = {}
    answers: list[SourceTask] = []
    for split in SPLITS:
        lines = read_lines(folder / f"{split}.jsonl", f"GSM8K's {split} questions, one JSON object a line", _FIELDS)
        for number, (where, record) in enumerate(lines):
            marked = re.search(r"####\s*(-?[\d,]*\.?\d+)\s*$", record["answer"])
            if marked is None:
                raise SourceError(f"{where}: field answer must end in `#### number`, got {record['answer'][-40:]!r}")
            id, answer = f"gsm8k/{split}/{number}", marked[1].replace(",", "")
            try:
                tasks.append(_task(id, split, record, answer))
            except Skip as reason:
                left[id] = str(reason)
                answers.append(answer_alone(id, "number", {"reference": {"answer": answer}}))
    return LoadReport(tuple(tasks), left, answers=tuple(answers))


def gsm8k_origin(question: str) -> str:
    """The identity of a problem whoever shards or renumbers it: its words without its numbers."""
    plain = " ".join(question.replace("’", "'").lower().split())
    for number in reversed(find_numbers(plain)):
        plain = plain[: number.start] + "#" + plain[number.end :]
    return f"gsm8k/{plain}"


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a problem, and where in it which of the question's numbers stand."""

    text: str
    numbers: tuple[tuple[int, int, Number], ...]


def _task(id: str, split: str, record: dict[str, Any], answer: str) -> SourceTask:
    question = " ".join(record["question"].split())
    if "{" in question:
        raise Skip("braces in the question")
    arithmetic = trace(question, record["answer"], Fraction(answer))
    pieces = [
        Piece(
            question[start:end], tuple((n.start - start, n.end - start, n) for n in arithmetic.numbers if start <= n.start < end)
        )
        for start, end in sentence_spans(question)
    ]
    asks = len(pieces) - 1 if len(pieces) > 1 and not pieces[-1].numbers else None
    return word_problem(id, question, answer, arithmetic, pieces, asks, split)


def word_problem(
    id: str, question: str, answer: str, arithmetic: Arithmetic, pieces: Sequence[Piece], asks: int | None, split: str
) -> SourceTask:
    """The task of a traced problem, told in `pieces`; the piece number `asks` is part of the request.

    Raises `Skip` where nothing in it can vary or two pieces read alike.
    """
    rng = random.Random(id)
    texts, parameters, names = _sentences(pieces, arithmetic)
    if asks is not None:
        del parameters[f"sentence {asks + 1}"]
    if not any(parameter["values"] for parameter in parameters.values()):
        raise Skip("no number that can vary safely")
    stated = [text for position, text in enumerate(texts) if position != asks]
    if _read_alike(stated, [parameter["text"] for parameter in parameters.values()]):
        raise Skip("two sentences that read alike")
    decoys, adjustments = draw_decoys(Fraction(answer), rng)
    fixed = {number.name: _plain(number.value) for number in arithmetic.numbers if number.name not in names}
    expression = re.sub(r"\bn\d+\b", lambda match: fixed.get(match[0], match[0]), arithmetic.answer.text)
    goals = tuple(
        Goal(f"g{n}", text, depends_on=(f"g{n - 1}",) if n > 1 and points_back(text) else ())
        for n, text in enumerate(stated, start=1)
    )
    return SourceTask(
        id=id,
        family="gsm8k",
        origin=gsm8k_origin(question),
        license="MIT",
        request=" ".join(filter(None, (opening(_ASKS, rng), "" if asks is None else texts[asks]))),
        goals=goals,
        answer_form="number",
        payload={
            "benchmark_split": split,
            "parameters": parameters | decoys,
            "program": {"expression": expression, "names": names, "adjustments": adjustments},
            "reference": {"answer": answer},
        },
    )


def _sentences(pieces: Sequence[Piece], arithmetic: Arithmetic) -> tuple[list[str], dict[str, Any], dict[str, str]]:
    """The goals' texts, a parameter for each, and which parameter gives which number of the arithmetic."""
    texts: list[str] = []
    parameters: dict[str, Any] = {}
    names: dict[str, str] = {}
    for n, piece in enumerate(pieces, start=1):
        name, text = f"sentence {n}", piece.text
        parameters[name] = {"type": "string", "values": [], "optional": False, "spoken": [], "text": text}
        for start, end, found in piece.numbers:
            if found.name in arithmetic.variable:
                written = piece.text[start:end]
                values = _other_values(written, found, arithmetic)
                if values:
                    template = piece.text[:start] + "{value}" + piece.text[end:]
                    text = template.replace("{value}", _said(written, found.value))
                    parameters[name] |= {"type": "number", "values": values, "text": template}
                    names[found.name] = name
                    break
        texts.append(text)
    return texts, parameters, names


def _other_values(written: str, varied: Number, arithmetic: Arithmetic) -> list[str]:
    """Other numbers with which every step keeps its sign, stays whole where it was, and the answer changes."""
    before = list(arithmetic.run({}))
    found: list[str] = []
    for other in _near(written, varied):
        answer = _answer_with({varied.name: other}, arithmetic, before)
        if answer not in (None, before[-1]):
            found.append(_said(written, other))
        if len(found) == MOST_VALUES:
            break
    return found


def _answer_with(changed: dict[str, Exact], arithmetic: Arithmetic, before: list[Exact]) -> Exact | None:
    value: Exact | None = None
    try:
        for value, was in zip(arithmetic.run(changed), before, strict=True):
            if not _alike(value, was):
                return None
    except ZeroDivisionError:
        return None
    return value


def _alike(after: Exact, before: Exact) -> bool:
    """Of one sign, and whole if the other is, else with a decimal end in sight."""
    same_sign = (after > 0) == (before > 0) and (after < 0) == (before < 0)
    return same_sign and (after.denominator == 1 if before.denominator == 1 else 10**6 % after.denominator == 0)


def _near(written: str, number: Number) -> list[Exact]:
    """Numbers near this one, then multiples of it, in steps of its last decimal."""
    scale = 10 ** len(written.partition(".")[2])
    units = int(number.value * scale)
    offsets = (1, -1, 2, -2, 3, -3, 5, -5, 10, -10, 4, -4, 6, -6, 20, -20, 50, -50, 100)
    candidates = [*(units + offset for offset in offsets), 2 * units, units // 2, 3 * units, 4 * units, 5 * units, 10 * units]
    most = 100 * scale if number.percent and number.value <= 100 else 10**12
    kept = [other for other in dict.fromkeys(candidates) if 0 < other < most and other != units]
    return [other if scale == 1 else Fraction(other, scale) for other in kept]


def _said(written: str, value: Exact) -> str:
    """The number in the digits, decimals and thousands commas of the one that was written."""
    decimals = len(written.partition(".")[2])
    comma = "," if "," in written else ""
    return f"{float(value):{comma}.{decimals}f}"


def _plain(value: Exact) -> str:
    return str(value.numerator) if value.denominator == 1 else f"({value.numerator} / {value.denominator})"


def _read_alike(texts: list[str], templates: list[str]) -> bool:
    """Whether one sentence could be taken for another, with the same or another number."""
    others = [(text, template) for n, text in enumerate(texts) for m, template in enumerate(templates) if n != m]
    return any(_fills(text.casefold(), template.casefold()) for text, template in others)


def _fills(text: str, template: str) -> bool:
    before, mark, after = template.partition("{value}")
    return text == template or (mark != "" and text.startswith(before) and text.endswith(after))
