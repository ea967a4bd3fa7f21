"""The rubric of audits, for judges and people alike, and the prompts of a model that judges or recovers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.codec.escape import escape
from intentfold.dialogue import Dialogue, Turn
from intentfold.records import RECORD

# What is asked about the user's last turn (IntentFlux: fidelity and coherence of simulated dialogues).
RUBRIC = {
    "fidelity": "The user's last turn says the scheduled changes and no others, and respects the requirements that stay active.",
    "coherence": "Its references resolve, it is consistent with what is active, and it follows from what was said before.",
}
JUDGE = (
    "You audit a simulated user. Answer two questions about the user's last turn.\n"
    + "\n".join(f"{aspect}: {question}" for aspect, question in RUBRIC.items())
    + '\nAnswer with one JSON object: {"fidelity": true or false, "coherence": true or false, "reason": "what is wrong"}.'
)
_JUDGE = "Dialogue:\n{dialogue}\nActive before the last turn:\n{state}\n\nScheduled changes of the last turn:\n{edits}"
RECOVER = (
    "Read a dialogue and write down what the user wants in the end: every requirement that still holds, none that was changed or "
    'withdrawn. Answer with one JSON object: {"requirements": [{"name": "…", "value": "…"}]}, with names of the list alone.'
)
_RECOVER = "Names: {names}\n\nDialogue:\n{dialogue}"
_WHO = {"user": "User", "assistant": "Agent", "system": "System"}


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's answer."""

    __pydantic_config__ = RECORD

    fidelity: bool
    coherence: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement by name and value."""

    __pydantic_config__ = RECORD

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a reader takes the user to want in the end."""

    __pydantic_config__ = RECORD

    requirements: tuple[Requirement, ...]


def audit_judge_prompt(dialogue: Dialogue, state: str, edits: str) -> Dialogue:
    """The messages for judging the last turn of `dialogue`; `state` and `edits` are lines of the delta codec."""
    return Turn("system", JUDGE), Turn("user", _JUDGE.format(dialogue=spoken(dialogue), state=state, edits=edits))


def recovery_prompt(dialogue: Dialogue, names: Sequence[str]) -> Dialogue:
    """The messages for recovering what the user wants at the end of `dialogue`, in the task's own names."""
    return Turn("system", RECOVER), Turn("user", _RECOVER.format(names="; ".join(map(escape, names)), dialogue=spoken(dialogue)))


def spoken(dialogue: Dialogue) -> str:
    """A dialogue as lines."""
    return "".join(f"{_WHO[turn.role]}: {escape(turn.content)}\n" for turn in dialogue)
