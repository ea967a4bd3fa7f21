"""Work that asks models now and then, written as it reads: a generator yields what it asks and is sent the answer.

`together` runs many of them in lockstep, so that all that wait for one role are asked in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from intentfold.runtime.roles import Backend, Completion, Prompt
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
    done: dict[int, T | U] = {}
    waiting: dict[int, Ask] = {}

    def go_on(number: int, answer: Completion | None) -> None:
        waiting.pop(number, None)
        try:
            waiting[number] = next(talks[number]) if answer is None else talks[number].send(answer)
        except StopIteration as end:
            done[number] = end.value
        except given_up as reason:
            done[number] = failed(number, reason)

    for number in range(len(talks)):
        go_on(number, None)
    while waiting:
        for role in sorted({ask.role for ask in waiting.values()}):
            asked = {number: ask.prompt for number, ask in sorted(waiting.items()) if ask.role == role}
            prompts = list(asked.values())
            answers = backends[role].complete(prompts, max_tokens)
            ledger.book(role, prompts, answers)
            for number, answer in zip(asked, answers, strict=True):
                go_on(number, answer)
    return [done[number] for number in range(len(talks))]
