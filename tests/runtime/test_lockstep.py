"""Plays in lockstep: one call a role, plays in order, and of a failing call only what did not come is lost."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.dialogue import Turn
from intentfold.runtime.lockstep import Ask, Lost, Play, in_lockstep
from intentfold.runtime.roles import BackendError, Completion, Prompt


def prompt(text: str) -> Prompt:
    return (Turn("user", text),)


class Echo:
    """Says the prompt in capitals; of a call it fails on prompts that hold `bad`, and brings the others."""

    name = "echo"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        texts = [one[-1].content for one in prompts]
        self.calls.append(texts)
        done = {n: Completion(text.upper(), 1, 1, True) for n, text in enumerate(texts) if "bad" not in text}
        if len(done) < len(texts):
            raise BackendError("down", done)
        return [done[n] for n in range(len(texts))]


def asks(*steps: tuple[str, ...]) -> Play[str]:
    """Asks `role text…` step by step and returns what it was told."""
    told = []
    for role, *texts in steps:
        told += [one.text for one in (yield Ask(role, tuple(map(prompt, texts)), 5))]
    return " ".join(told)


def test_what_plays_ask_of_a_role_goes_in_one_call_and_comes_back_to_its_play() -> None:
    agent, user = Echo(), Echo()
    plays = [asks(("user", "a"), ("agent", "b", "c")), asks(("user", "d"), ("agent", "e")), asks(("agent", "f")), asks()]
    assert in_lockstep(plays, {"agent": agent, "user": user}) == ["A B C", "D E", "F", ""]
    assert user.calls == [["a", "d"]]
    assert agent.calls == [["b", "c", "e", "f"]], "the role that most wait for goes first"


def test_of_a_failing_call_only_what_did_not_come_is_lost() -> None:
    agent = Echo()
    plays = [asks(("agent", "a"), ("agent", "b")), asks(("agent", "x", "bad")), asks(("agent", "c"))]
    assert in_lockstep(plays, {"agent": agent}) == ["A B", Lost("agent", "down"), "C"]
    assert agent.calls == [["a", "x", "bad", "c"], ["b"]]


def test_a_play_that_can_make_nothing_of_an_answer_is_lost_by_that_role() -> None:
    def picky() -> Play[str]:
        [one] = yield Ask("user", (prompt("a"),), 5)
        raise BackendError(f"no use: {one.text}")

    assert in_lockstep([picky(), asks(("user", "b"))], {"user": Echo()}) == [Lost("user", "no use: A"), "B"]
