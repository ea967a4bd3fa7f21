"""Audits of each message before it is delivered: grounding, coverage, added requirements (LiveAsset, B.2).

They read the message alone and compare with what was selected and with the output it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.construct.corrective.wording import read
from intentfold.dialogue import Output
from intentfold.records import RECORD
from intentfold.trace import Wording


class AuditError(ValueError):
    """No wording of a message says what was selected and nothing else; `refused` holds those tried, with their faults."""

    def __init__(self, history: str, refused: Sequence[str]) -> None:
        super().__init__(history, tuple(refused))
        self.history, self.refused = history, tuple(refused)

    def __str__(self) -> str:
        return f"{self.history}: {'; '.join(self.refused)}"


@dataclass(frozen=True, slots=True)
class Audit:
    """What is wrong with a correction: words quoted that the output has not, keys it leaves out, keys it adds."""

    __pydantic_config__ = RECORD

    ungrounded: tuple[str, ...]
    uncovered: tuple[str, ...]
    added: tuple[str, ...]

    def __str__(self) -> str:
        parts = {"not in the result": self.ungrounded, "left out": self.uncovered, "added": self.added}
        return ", ".join(f"{name}: {' / '.join(found)}" for name, found in parts.items() if found)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.ungrounded or self.uncovered or self.added)


def audit(message: str, selected: Sequence[str], family: str, output: Output, words: Wording) -> Audit:
    """Audit one message about `output` that was to raise `selected`, requirements of `family`."""
    clauses = [said for said in read(message, words) if said.kind in ("wrong", "want")]
    visible = output.text()
    quoted = [said.values["evidence"] for said in clauses if "evidence" in said.values]
    said_keys = {said.key if said.family == family else f"{said.family}/{said.key}" for said in clauses}
    return Audit(
        ungrounded=tuple(quotation for quotation in quoted if quotation not in visible),
        uncovered=tuple(key for key in selected if key not in said_keys),
        added=tuple(sorted(said_keys - set(selected))),
    )
