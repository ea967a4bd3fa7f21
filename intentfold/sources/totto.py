"""ToTTo (Parikh et al. 2020) as source tasks: one task a table with highlighted cells, and the sentences written for them.

The values to say are those of the highlighted cells that every reference says in the table's own words (people reword
dates and names at will); a table without any makes no task. Variants are other cells of the same column, decoys
other cells and titles that no reference says. An answer is graded by slot coverage; BLEU stands beside.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.graders.text import says
from intentfold.intent import normalise, slot_text
from intentfold.sources.builtin.common import opening
from intentfold.sources.loading import LoadReport, Skip, SourceError, checked, read_lines
from intentfold.sources.values import MOST_VALUES
from intentfold.task import Goal, SourceTask

FILES = {"totto_train_data.jsonl": "train", "totto_dev_data.jsonl": "test"}  # the test set's sentences are not public
MOST_DECOYS = 8
WIDEST = 1000  # columns that a cell may span, as in HTML
_ASKS = (
    "describe part of a table in one sentence",
    "write one sentence about a table",
    "put some cells of a table into a sentence",
)
_FIELDS = {
    "example_id": int,
    "table_page_title": str,
    "table_section_title": str,
    "table": list,
    "highlighted_cells": list,
    "sentence_annotations": list,
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table by rows of texts, each as wide as the table; `headers` are the words for its columns."""

    title: str
    section: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    highlighted: tuple[tuple[int, int], ...]


def load_totto(folder: Path) -> LoadReport:
    """The tasks of those of upstream's files with public sentences (`FILES`) that are in `folder`.

    `payload["benchmark_split"]` keeps which; upstream's development set is the one to evaluate on and never trained on.
    """
    found = [name for name in FILES if (folder / name).is_file()]
    if not found:
        raise SourceError(f"{folder}: none of ToTTo's files {list(FILES)} is there")
    tasks: list[SourceTask] = []
    left: dict[str, str] = {}
    for name in found:
        for where, record in read_lines(folder / name, "ToTTo's examples, one JSON object a line", _FIELDS):
            texts = [checked(where, one, {"final_sentence": str})["final_sentence"] for one in record["sentence_annotations"]]
            try:
                tasks.append(totto_task(record["example_id"], _table(where, record), texts, FILES[name]))
            except Skip as reason:
                left[f"totto/{record['example_id']}"] = str(reason)
    return LoadReport(tuple(tasks), left)


def _table(where: str, record: Mapping[str, Any]) -> Table:
    cells = record["highlighted_cells"]
    if not all(isinstance(cell, list) and len(cell) == 2 and all(type(n) is int for n in cell) for cell in cells):
        raise SourceError(f"{where}: field highlighted_cells must hold pairs of row and column, got {str(cells)[:80]!r}")
    rows, places = spread(where, record["table"])
    marked = []
    for row, column in cells:
        if not (0 <= row < len(places) and 0 <= column < len(places[row])):
            raise SourceError(f"{where}: field highlighted_cells: there is no cell {[row, column]}")
        marked.append((row, places[row][column]))
    heads = [[bool(cell["is_header"]) for cell in row for _ in range(cell["column_span"])] for row in record["table"]]
    headers = headers_of(rows, heads)
    return Table(record["table_page_title"], record["table_section_title"], headers, rows, tuple(marked))


def spread(where: str, table: Any) -> tuple[tuple[tuple[str, ...], ...], list[list[int]]]:
    """Rows of texts in which every cell stands as often as it is wide, and where each cell of a row begins."""
    rows, places = [], []
    for number, row in enumerate(table):
        if not isinstance(row, list):
            raise SourceError(f"{where}: field table: row {number} must be a list, got {str(row)[:80]!r}")
        texts: list[str] = []
        starts: list[int] = []
        for cell in row:
            fields: dict[str, type] = {"value": str, "is_header": bool, "column_span": int}
            one = checked(f"{where}: table row {number}", cell, fields)
            if not 1 <= one["column_span"] <= WIDEST:
                raise SourceError(
                    f"{where}: table row {number}: field column_span must be 1 to {WIDEST}, got {str(one['column_span'])[:20]}"
                )
            starts.append(len(texts))
            texts += [" ".join(one["value"].split())] * one["column_span"]
        rows.append(tuple(texts))
        places.append(starts)
    return tuple(rows), places


def headers_of(rows: Sequence[Sequence[str]], heads: Sequence[Sequence[bool]]) -> tuple[str, ...]:
    """The words for every column: its first header cell, else `column n`."""
    width = max(map(len, rows), default=0)

    def of(column: int) -> str:
        for texts, marks in zip(rows, heads, strict=True):
            if column < len(texts) and marks[column] and normalise(texts[column]) not in ("", "#"):
                return texts[column]
        return f"column {column + 1}"

    return tuple(of(column) for column in range(width))


def totto_task(id: int | str, table: Table, references: Sequence[str], split: str) -> SourceTask:
    """The task of one example; raises `Skip` where no reference says a highlighted cell in the table's words."""
    rng = random.Random(f"totto/{id}")
    texts = [text for text in dict.fromkeys(references) if text.strip()]
    marked = {(row, column): table.rows[row][column] for row, column in table.highlighted}
    said = {place: value for place, value in marked.items() if texts and all(says(text, value) for text in texts)}
    stated = {place: value for n, (place, value) in enumerate(said.items()) if value not in list(said.values())[:n]}
    if not stated:
        raise Skip("no highlighted cell that every reference says in the table's words")
    slots = _named({place: table.headers[place[1]] for place in stated})
    parameters: dict[str, Any] = {}
    for place, slot in slots.items():
        column = [row[place[1]] for row in table.rows if place[1] < len(row)]
        others = [value for value in dict.fromkeys(column) if _unsaid(value, texts) and value not in table.headers]
        parameters[slot] = _parameter(others[:MOST_VALUES], optional=False)
    reference = {
        "slots": {slots[place]: value for place, value in stated.items()},
        "realisations": {slots[place]: [value] for place, value in stated.items()},
        "references": texts,
    }
    forbidden: dict[str, list[str]] = {}
    for slot, value in _decoys(table, stated, slots, texts, rng):
        parameters[slot], forbidden[slot] = _parameter([value], optional=True), [value]
    goals = tuple(Goal(f"g{n}", slot_text(slots[p], v), slots[p], v) for n, (p, v) in enumerate(stated.items(), start=1))
    return SourceTask(
        id=f"totto/{id}",
        family="totto",
        origin=f"totto/{id}",
        license="CC-BY-SA-3.0",
        request=opening(_ASKS, rng) + f" It is the table {table.section!r} of the page {table.title!r}.",
        goals=goals,
        answer_form="text",
        payload={
            "benchmark_split": split,
            "parameters": parameters,
            "program": {
                "order": list(parameters),
                "sentences": {slot: f"The {slot} is {{value}}." for slot in parameters},
                "subject": next(iter(parameters)),
            },
            "reference": {**reference, "forbidden": forbidden},
        },
    )


def _named(headers: Mapping[tuple[int, int], str]) -> dict[tuple[int, int], str]:
    """Words for cells that tell them apart: the header, with a number from the second cell of a column on."""
    times: Counter[str] = Counter()
    named = {}
    for place, header in headers.items():
        times[normalise(header)] += 1
        named[place] = header if times[normalise(header)] == 1 else f"{header} {times[normalise(header)]}"
    return named


def _decoys(
    table: Table,
    stated: Mapping[tuple[int, int], str],
    slots: Mapping[tuple[int, int], str],
    texts: Sequence[str],
    rng: random.Random,
) -> list[tuple[str, str]]:
    """Cells of the same rows, then of others, then titles: what no reference says and no stated value holds."""
    rows = list(dict.fromkeys(row for row, _ in stated))
    near = [(row, column) for row in rows for column in range(len(table.rows[row]))]
    far = [(row, column) for row in range(len(table.rows)) if row not in rows for column in range(len(table.rows[row]))]
    found = [(table.headers[column], table.rows[row][column]) for row, column in near]
    found += [(f"other {table.headers[column]}", table.rows[row][column]) for row, column in rng.sample(far, len(far))]
    taken = {normalise(slot) for slot in slots.values()}
    kept: list[tuple[str, str]] = []
    for slot, value in [*found, ("page title", table.title), ("section title", table.section)]:
        if (
            len(kept) < MOST_DECOYS
            and _unsaid(value, [*texts, *stated.values(), *(v for _, v in kept)])
            and value not in table.headers
        ):
            numbered = itertools.chain((slot,), (f"{slot} {n}" for n in itertools.count(2)))
            name = next(name for name in numbered if normalise(name) not in taken)
            taken.add(normalise(name))
            kept.append((name, value))
    return kept


def _unsaid(value: str, texts: Iterable[str]) -> bool:
    return any(map(str.isalnum, value)) and not any(says(text, value) for text in texts)


def _parameter(values: Sequence[str], *, optional: bool) -> dict[str, Any]:
    return {"type": "string", "values": list(values), "optional": optional, "spoken": []}
