"""Work that asks models now and then, written as it reads: a generator yields what it asks and is sent the answer.

`together` plays many of them in lockstep (`runtime/lockstep.py`), so that all that wait for one role are asked in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from intentfold.runtime import lockstep
from intentfold.runtime.roles import Backend, BackendError, Completion, Prompt
from intentfold.runtime.serving import Ledger


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to a role."""

    role: str
    prompt: Prompt


T = TypeVar("T")
U = TypeVar("U")
Talk = Generator[Ask, Completion, T]


def together(
    talks: Sequence[Talk[T]],
    backends: Mapping[str, Backend],
    max_tokens: int,
    ledger: Ledger,
    failed: Callable[[int, Exception], U],
    given_up: type[Exception],
) -> list[T | U]:
    """What each talk returns, in order; where one raises `given_up`, what `failed` makes of its number and the reason.

    Raises `BackendError` where a role does not answer: through a journal, a second run goes on from there.
    """

    def play(number: int, talk: Talk[T]) -> lockstep.Play[T | U]:
        try:
            asked = next(talk)
            while True:
                answers = yield lockstep.Ask(asked.role, (asked.prompt,), max_tokens)
                ledger.book(asked.role, (asked.prompt,), answers)
                asked = talk.send(answers[0])
        except StopIteration as end:
            return end.value
        except given_up as reason:
            return failed(number, reason)

    found: list[T | U] = []
    for ended in lockstep.in_lockstep([play(number, talk) for number, talk in enumerate(talks)], backends):
        if isinstance(ended, lockstep.Lost):
            raise BackendError(ended.reason)
        found.append(ended)
    return found
