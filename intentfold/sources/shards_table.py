"""Sharded ToTTo: the table with its highlighted cells stands in the record as HTML; the cells' values are the goals."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from intentfold.sources.loading import SourceError, checked, listed
from intentfold.sources.shards import SPLIT, Shards
from intentfold.sources.totto import Table, headers_of, spread, totto_task
from intentfold.task import SourceTask


def task(shards: Shards) -> SourceTask:
    """The ToTTo task of the record."""
    raw = shards.field("raw_table", list)
    rows, places = spread(shards.where, raw)
    reader = _Highlights()
    reader.feed(shards.field("table_highlighted_html", str))
    for row, cell in reader.found:
        if not (row < len(places) and cell < len(places[row])):
            raise SourceError(f"{shards.where}: field table_highlighted_html: no cell {cell} of row {row} in raw_table")
    heads = [[bool(cell["is_header"]) for cell in row for _ in range(cell["column_span"])] for row in raw]
    fields: dict[str, type] = {"table_page_title": str, "table_section_title": str}
    about = checked(f"{shards.where}: field metadata", shards.field("metadata", dict), fields)
    highlighted = tuple((row, places[row][cell]) for row, cell in reader.found)
    table = Table(about["table_page_title"], about["table_section_title"], headers_of(rows, heads), rows, highlighted)
    references = listed(shards.where, "references", shards.field("references", list), str)
    return totto_task(shards.field("original_task_id", int), table, references, SPLIT)


class _Highlights(HTMLParser):
    """Collects (row, cell) of cells whose class is `highlighted`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, int]] = []
        self._row, self._cell = -1, -1

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self._row, self._cell = self._row + 1, -1
        elif tag in ("td", "th"):
            self._cell += 1
            if "highlighted" in (dict(attrs).get("class") or "").split():
                self.found.append((self._row, self._cell))
