"""Turns and dialogues, and what an agent delivers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Observation:
    """One tool call as it can be seen: its name, its arguments by name, and what came back."""

    __pydantic_config__ = RECORD

    name: str
    arguments: Mapping[str, str] = field(hash=False)
    result: str

    def __post_init__(self) -> None:
        # As they are read back from a file: what is shown, quoted and trained on is one text.
        object.__setattr__(self, "arguments", dict(sorted(self.arguments.items())))


@dataclass(frozen=True, slots=True)
class File:
    """One text file that the agent left."""

    __pydantic_config__ = RECORD

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """What an agent delivers, as the user can see it: its reply, its tool calls in order, and the files after them."""

    __pydantic_config__ = RECORD

    reply: str
    calls: tuple[Observation, ...] = ()
    files: tuple[File, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.reply.strip() or self.calls or any(file.text.strip() for file in self.files))

    @property
    def asks(self) -> bool:
        """Whether it is a clarification question: words alone, and a question at their end."""
        return not self.calls and not self.files and self.reply.rstrip().endswith("?")

    def text(self) -> str:
        """All that can be read in it, a piece a line: the reply, the calls, the files."""
        calls = [f"{c.name} {' '.join(f'{k}={v}' for k, v in c.arguments.items())} {c.result}" for c in self.calls]
        return "\n".join([self.reply, *calls, *(f"{file.path}\n{file.text}" for file in self.files)])


@dataclass(frozen=True, slots=True)
class CorrectionStep:
    """The result before, the correction, the result after (LiveAsset, 3.2), and the user's messages up to the correction."""

    __pydantic_config__ = RECORD

    before: Output
    correction: str
    after: Output
    messages: Mapping[str, str] = field(hash=False)
