"""Turns and dialogues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from intentfold.records import RECORD

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message."""

    __pydantic_config__ = RECORD

    role: Role
    content: str


Dialogue = tuple[Turn, ...]


def last_reply(dialogue: Dialogue) -> str:
    """What the agent said last, empty where it has not spoken."""
    return next((turn.content for turn in reversed(dialogue) if turn.role == "assistant"), "")


def to_messages(dialogue: Dialogue) -> list[dict[str, str]]:
    """OpenAI-style messages."""
    return [{"role": turn.role, "content": turn.content} for turn in dialogue]
