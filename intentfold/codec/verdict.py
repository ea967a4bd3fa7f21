"""Verdicts as text: the verdict first, in a few tokens, then a reason for unmet alone.

met
unmet: the disclosure is not the last line
not applicable
"""

from __future__ import annotations

from dataclasses import dataclass

from intentfold.asset import Verdict
from intentfold.codec.escape import escape, unescape
from intentfold.records import RECORD

VERDICTS: dict[Verdict, str] = {"met": "met", "unmet": "unmet:", "not_applicable": "not applicable"}
REASON_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one requirement or fact; `reason` is for unmet alone."""

    __pydantic_config__ = RECORD

    verdict: Verdict
    reason: str = ""

    def __post_init__(self) -> None:
        if self.reason and self.verdict != "unmet":
            raise ValueError(f"a reason goes with unmet alone, got {self.verdict} with {self.reason[:80]!r}")


def encode_verdict(judgement: Judgement) -> str:
    """The judgement on one line."""
    reason = f" {escape(judgement.reason)}" if judgement.reason else ""
    return VERDICTS[judgement.verdict] + reason


def decode_verdict(text: str) -> Judgement | None:
    """The judgement that `text` spells, or None (not assessed) for any other text whatever.

    Case, and white space around it, do not count. More than one line, or words after `met` or `not applicable`, are no
    verdict. An unmet without its reason is still unmet.
    """
    line = text.strip()
    if len(line.splitlines()) != 1:
        return None
    said = line.casefold()
    if said == "met":
        return Judgement("met")
    if said == "not applicable":
        return Judgement("not_applicable")
    if said == "unmet" or said.startswith("unmet:"):
        return Judgement("unmet", unescape(line[len("unmet:") :].strip())[:REASON_LIMIT])
    return None
