"""The judge's prompt for interactive tasks: does what was done satisfy one rubric (VitaBench)."""

from __future__ import annotations

from collections.abc import Iterable

from intentfold.codec.escape import escape
from intentfold.dialogue import Output, Turn

SYSTEM = (
    "You check what an assistant did for its user against one rubric. Judge by the tool results and the orders at the end, never "
    "by what the assistant says it did. Write one line: MET or UNMET."
)


def rubric_judge_prompt(transcript: str, outcome: str, rubric: str) -> tuple[Turn, ...]:
    """The messages for one rubric. The transcript comes first: questions about one run share that much."""
    return Turn("system", SYSTEM), Turn("user", f"What happened:\n{transcript}\n\nAt the end:\n{outcome}\n\nRubric: {rubric}")


def transcript(exchanges: Iterable[tuple[str, Output]]) -> str:
    """What the user said and what was done upon it, a line each: words, calls with their results, and the reply."""
    lines = []
    for user, output in exchanges:
        lines.append(f"User: {escape(user)}")
        for call in output.calls:
            given = "; ".join(f"{name}={value}" for name, value in call.arguments.items())
            lines.append(f"Call {escape(call.name)}: {escape(given)} -> {escape(call.result)}")
        lines.append(f"Assistant: {escape(output.reply)}")
    return "\n".join(lines)
