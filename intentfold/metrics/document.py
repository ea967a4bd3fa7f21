"""A report as blocks, rendered to one self-contained HTML page and to Markdown; text from models and data is escaped in both."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

# Characters that could hide or turn around what a report shows.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~$&!])")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
table { border-collapse: collapse; margin: .6rem 0; font-size: .9em; }
th, td { border: 1px solid #ccc; padding: .2rem .5rem; text-align: left; vertical-align: top; overflow-wrap: break-word; }
th { background: #f2f2f2; } td:not(:first-child) { min-width: 4rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f7f7f7; padding: .5rem; margin: .3rem 0; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } details { margin: .6rem 0; }
figure { margin: 1rem 0; } figcaption { color: #555; font-size: .9em; }
"""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `level` 1 is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of cells. `folded` tables are closed at first and show their title."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts side by side, line by line as they are."""

    left: tuple[str, str]
    right: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot as SVG of our own making (it is not escaped), and its caption."""

    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Links:
    """Files beside the report, by relative name."""

    names: tuple[str, ...]


Block = Heading | Text | Table | Pair | Figure | Links


def to_html(title: str, blocks: Sequence[Block]) -> str:
    """The page: no script, no request, whatever its texts say."""
    body = "\n".join(map(_html, blocks))
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escaped(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def to_markdown(blocks: Sequence[Block]) -> str:
    """The same as Markdown; figures are left to the page."""
    return "\n\n".join(filter(None, map(_markdown, blocks))) + "\n"


def visible(text: str) -> str:
    """Text with control, zero-width and direction characters spelled out."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def escaped(text: str) -> str:
    """Text for the inside of HTML elements and quoted attributes."""
    return html.escape(visible(text), quote=True)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escaped(text)}</h{level}>"
        case Text(text):
            return f"<p>{escaped(text)}</p>"
        case Table(header, rows, folded):
            head = "".join(f"<th>{escaped(cell)}</th>" for cell in header)
            lines = "\n".join("<tr>" + "".join(f"<td>{_lines(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            table = f"<table>\n<tr>{head}</tr>\n{lines}\n</table>"
            return f"<details><summary>{escaped(folded)}</summary>\n{table}\n</details>" if folded else table
        case Pair(left, right):
            sides = "".join(f"<div><b>{escaped(name)}</b><pre>{escaped(text)}</pre></div>" for name, text in (left, right))
            return f'<div class="pair">{sides}</div>'
        case Figure(svg, caption):
            return f"<figure>{svg}<figcaption>{escaped(caption)}</figcaption></figure>"
        case Links(names):
            return "<ul>" + "".join(f'<li><a href="{escaped(name)}">{escaped(name)}</a></li>' for name in names) + "</ul>"


def _lines(cell: str) -> str:
    return "<br>".join(map(escaped, cell.splitlines() or [""]))


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_plain(text)}"
        case Text(text):
            return _plain(text)
        case Table(header, rows, folded):
            lines = [_row(header), "|" + "---|" * len(header), *map(_row, rows)]
            return (f"**{_plain(folded)}**\n\n" if folded else "") + "\n".join(lines)
        case Pair(left, right):
            return "\n".join((_row((left[0], right[0])), "|---|---|", _row((left[1], right[1]))))
        case Figure(_, caption):
            return f"({_plain(caption)}: see report.html)"
        case Links(names):
            return "\n".join(f"- [{_plain(name)}]({name})" for name in names)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """One line of Markdown that shows the text as it is."""
    return "<br>".join(_MARKDOWN.sub(r"\\\1", line) for line in visible(text).splitlines())
