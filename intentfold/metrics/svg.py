"""Plots as SVG text: no library, so that a report needs nothing to be made or read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.metrics.document import escaped

_WIDTH, _ROW, _LEFT, _RIGHT = 720, 26, 220, 70


@dataclass(frozen=True, slots=True)
class Bar:
    """An estimate with its interval; `strong` ones are what the plot is about."""

    name: str
    mean: float
    low: float
    high: float
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """A reference's interval, drawn behind all the bars."""

    name: str
    mean: float
    low: float
    high: float


def intervals(bars: Sequence[Bar], axis: str, band: Band | None = None) -> str:
    """One row a bar: a dot at the estimate, a line over the interval; the axis runs from 0 to 1."""
    height = _ROW * len(bars) + 46
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="12"><title>{escaped(axis)}</title>'
    ]
    bottom = _ROW * len(bars) + 8
    if band is not None:
        left, right = _x(band.low), _x(band.high)
        parts.append(f'<rect x="{left:.1f}" y="4" width="{right - left:.1f}" height="{bottom - 4}" fill="#cfe3f5"/>')
        parts.append(_line(_x(band.mean), 4, _x(band.mean), bottom, "#6aa0d0"))
    for tick in range(6):
        x = _x(tick / 5)
        parts.append(_line(x, 4, x, bottom, "#e4e4e4") if band is None else _line(x, bottom - 4, x, bottom, "#999"))
        parts.append(_text(x, bottom + 14, f"{tick / 5:.1f}", "middle"))
    for place, bar in enumerate(bars):
        y = _ROW * place + 18
        colour = "#1f5fa8" if bar.strong else "#8a8a8a"
        parts.append(_text(_LEFT - 10, y + 4, bar.name, "end"))
        parts.append(_line(_x(bar.low), y, _x(bar.high), y, colour, 3))
        parts.append(f'<circle cx="{_x(bar.mean):.1f}" cy="{y}" r="5" fill="{colour}"/>')
        parts.append(_text(_WIDTH - _RIGHT + 12, y + 4, f"{bar.mean:.3f}", "start"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, bottom + 32, axis, "middle"))
    return "".join((*parts, "</svg>"))


def _x(value: float) -> float:
    return _LEFT + min(1.0, max(0.0, value)) * (_WIDTH - _LEFT - _RIGHT)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    shown = text if len(text) <= 34 else text[:33] + "…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escaped(shown)}</text>'
