"""The judge's prompt for summaries: does one insight stand in it, and in which of its bullet points (Laban et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.dialogue import Turn

SYSTEM = (
    "You check whether one insight stands in a summary of numbered points. Write one line: FULL and the number of the point "
    "that says all of it, PARTIAL and the number of the point that says part of it, or NONE. Example: `FULL 2`."
)


def insight_judge_prompt(points: Sequence[str], insight: str) -> tuple[Turn, ...]:
    """The messages for one insight. The points come first: questions about one summary share that much."""
    listed = "\n".join(f"{number}. {' '.join(point.split())}" for number, point in enumerate(points, start=1))
    return Turn("system", SYSTEM), Turn("user", f"Points:\n{listed}\n\nInsight: {' '.join(insight.split())}")
