"""The judge's prompt for interactive tasks: does what was done satisfy one rubric (VitaBench)."""

from __future__ import annotations

from intentfold.dialogue import Turn

SYSTEM = (
    "You check what an assistant did for its user against one rubric. Judge by the tool results and the orders at the end, never "
    "by what the assistant says it did. Write one line: MET or UNMET."
)


def rubric_judge_prompt(transcript: str, outcome: str, rubric: str) -> tuple[Turn, ...]:
    """The messages for one rubric. The transcript comes first: questions about one run share that much."""
    return Turn("system", SYSTEM), Turn("user", f"What happened:\n{transcript}\n\nAt the end:\n{outcome}\n\nRubric: {rubric}")
