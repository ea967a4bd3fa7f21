"""Examples: one prompt and one completion each, with where they come from; the columns that TRL reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from intentfold.codec.edits import LineOperation
from intentfold.codec.thinking import completion_message, style_of
from intentfold.dialogue import Turn
from intentfold.records import RECORD, canonical_json, content_hash, to_json

# Tracker examples come from oracle, corrupted or failed states; checker examples from what a correction found or mended; an
# agent's from the drifting dialogue, or from the clean request.
Mining = Literal[
    "oracle", "corrupted", "failure", "unmet", "fixed", "kept", "regression", "not_applicable", "hard_negative", "drift", "clean"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an example comes from: enough to split, slice and trace it back.

    `episode` and `turn` are the history and exchange of a checker or learner example; `load` is then its difficulty, 1 to 3.
    `codec` is what the completion is written in, and by that the role that it teaches.
    `branch` is 0 for the turn that the dialogue took, else the place of another (`Branch`). `operations` are what the lines of
    a completion of edits fold to, which its words alone do not tell (SET); empty where it is none, or
    begins with a thought. `teacher` is who wrote that thought, `shown` what that teacher was shown of the right answer.
    """

    __pydantic_config__ = RECORD

    episode: str
    turn: int
    split: str
    wording: str
    family: str
    origin: str
    license: str
    load: int
    mining: Mining
    codec: str
    template: str
    phenomena: tuple[str, ...]
    branch: int = 0
    operations: tuple[LineOperation, ...] = ()
    teacher: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """A role's prompt, the completion it should give, and the privileged prompt that a self-teacher gets.

    `privileged` is the same prompt with the right answer in it (design D4). `thought` is what leads to the completion, where
    the codec has one (`prompts/templates.py`).
    """

    __pydantic_config__ = RECORD

    version: Literal[1]
    messages: tuple[Turn, ...]
    privileged: tuple[Turn, ...]
    completion: str
    provenance: Provenance
    thought: str = ""

    def hash(self) -> str:
        """Identity of the canonical content."""
        return content_hash(canonical_json(to_json(self)))


def trl_row(example: Example) -> dict[str, Any]:
    """TRL's conversational prompt/completion columns, and the privileged prompt beside them."""

    def messages(turns: tuple[Turn, ...]) -> list[dict[str, str]]:
        return [{"role": turn.role, "content": turn.content} for turn in turns]

    return {
        "prompt": messages(example.messages),
        "completion": [completion_message(example.thought, example.completion, style_of(example.provenance.codec))],
        "privileged_prompt": messages(example.privileged),
    }
