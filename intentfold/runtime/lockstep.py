"""Many plays side by side: what they ask of one role at a time goes to its backend in one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from intentfold.runtime.roles import Backend, BackendError, Completion, Prompt

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """Prompts for a role's backend; a play that gives one is sent their completions, in order."""

    role: str
    prompts: tuple[Prompt, ...]
    max_tokens: int


Play = Generator[Ask, list[Completion], T]


@dataclass(frozen=True, slots=True)
class Lost:
    """A play that ended because a role's backend failed: nobody's wrong answer (design D8)."""

    role: str
    reason: str


def in_lockstep(plays: Sequence[Play[T]], backends: Mapping[str, Backend]) -> list[T | Lost]:
    """What each play returns, in order; of a call that fails only the plays are lost whose completions did not come.

    The role that most plays wait for goes first, so that calls are large. A play that raises `BackendError` itself, for
    what it was sent is of no use, is lost by the role that sent it.
    """
    ended: dict[int, T | Lost] = {}
    waiting: dict[int, Ask] = {}

    def advance(number: int, role: str, found: list[Completion] | None) -> None:
        try:
            waiting[number] = next(plays[number]) if found is None else plays[number].send(found)
        except StopIteration as done:
            ended[number] = done.value
        except BackendError as error:
            ended[number] = Lost(role, str(error))

    for number in range(len(plays)):
        advance(number, "", None)
    while waiting:
        [((role, max_tokens), _)] = Counter((ask.role, ask.max_tokens) for ask in waiting.values()).most_common(1)
        asked = {n: ask for n, ask in sorted(waiting.items()) if (ask.role, ask.max_tokens) == (role, max_tokens)}
        failure = ""
        try:
            found = dict(enumerate(backends[role].complete([p for ask in asked.values() for p in ask.prompts], max_tokens)))
        except BackendError as error:
            found, failure = error.finished, str(error)
        place = 0
        for number, ask in asked.items():
            del waiting[number]
            mine = [found[n] for n in range(place, place + len(ask.prompts)) if n in found]
            place += len(ask.prompts)
            if len(mine) == len(ask.prompts):
                advance(number, role, mine)
            else:
                plays[number].close()
                ended[number] = Lost(role, failure)
    return [ended[n] for n in range(len(plays))]
