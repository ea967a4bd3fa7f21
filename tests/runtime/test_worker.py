"""A language model that really works: tools run, files stay, and whatever is no action is an error of the agent."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from intentfold.asset import ContextualIntent, Requirement
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.work import assess
from intentfold.dialogue import File, Observation, Output, Turn
from intentfold.runtime.checker import Finding
from intentfold.runtime.roles import BackendError, Completion, Prompt
from intentfold.runtime.verification import Job
from intentfold.runtime.worker import ModelWorker
from intentfold.tool import Tool

BOOKING = FAMILIES["booking"]
SCENARIO = BOOKING.scenario(1, 1)
V = SCENARIO.values


class Says:
    """Writes one text after the other, and keeps the prompts."""

    name = "says"

    def __init__(self, *texts: str) -> None:
        self.texts, self.prompts = list(texts), list[Prompt]()

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        self.prompts += prompts
        return [Completion(self.texts.pop(0), 1, 1, True) for _ in prompts]


def job(**more) -> Job:
    return Job((Turn("user", "Book it."),), **more)


def test_calls_are_executed_and_shown_until_the_reply() -> None:
    backend = Says(
        f'{{"call": "search_trains", "arguments": {{"from": "{V["start"]}", "to": "{V["end"]}", "day": "{V["day"]}"}}}}',
        f'{{"call": "book_train", "arguments": {{"seat": "middle", "train": "{V["train"]}", "departs": "12:{V["minute"]}",'
        f' "refundable": true}}}}\n{{"write": "itinerary.txt", "text": "departs 12:{V["minute"]}\\n"}}',
        '{"reply": "Booked."}',
    )
    worker = ModelWorker(backend, BOOKING.tools(V), BOOKING.brief)
    output = worker.work(job())
    assert output.reply == "Booked."
    assert [call.name for call in output.calls] == ["search_trains", "book_train"]
    # Arguments stand as they are read back from a file, whatever order the model had.
    assert list(output.calls[1].arguments) == ["departs", "refundable", "seat", "train"]
    assert output.calls[1].result == f"booked, code {V['code']}"
    assert output.files == (File("itinerary.txt", f"departs 12:{V['minute']}\n"),)
    assert worker.errors == []
    shown = backend.prompts[1][-1].content
    assert f"search_trains: {V['train']}" in shown
    found = {c.key: assess(BOOKING, SCENARIO, output, c.key).verdict for c in BOOKING.criteria}
    assert (found["refundable"], found["book_once"], found["quote_code"]) == ("met", "met", "unmet")


def test_what_is_no_action_is_recorded_and_the_work_goes_on() -> None:
    backend = Says(
        'Let me think.\n{"call": "fly", "arguments": {}}\n{"call": "book_train", "arguments": {"train": "R1", "color": "red"}}',
        "{broken",
        '{"reply": "I could not."}',
    )
    worker = ModelWorker(backend, BOOKING.tools(V), BOOKING.brief)
    output = worker.work(job())
    assert output.reply == "I could not."
    assert [call.result[:14] for call in output.calls] == ["error: missing"]
    assert [error.split(":")[0] for error in worker.errors] == ["Let me think.", "fly", "book_train", "{broken"]
    assert "not done: Let me think. (expected a JSON object)" in backend.prompts[1][-1].content
    assert "the tools are search_trains, book_train" in backend.prompts[1][-1].content
    # An agent that booked nothing has met nothing.
    assert {assess(BOOKING, SCENARIO, output, key).verdict for key in ("refundable", "seat_kind", "not_before")} == {"unmet"}
    assert assess(BOOKING, SCENARIO, output, "refundable").reason == "no train is booked"


def test_work_without_a_reply_ends_and_says_so() -> None:
    worker = ModelWorker(Says("", "", ""), (), "", steps=3)
    assert worker.work(job()) == Output("")
    assert worker.errors == ["no reply within 3 steps"]


def test_a_revision_begins_anew_and_is_told_what_is_wrong_and_what_is_right() -> None:
    tool = Tool("count", "counts", (), lambda arguments, before: str(len(before)))
    backend = Says('{"call": "count"}{"reply": "a"}', '{"call": "count"}{"reply": "b"}')
    worker = ModelWorker(backend, (tool,), "Brief.")
    intent = ContextualIntent(1, "Plans change.", (Requirement(2, "Refundable fares."),))
    first = worker.work(job(intents=(intent,), notes=("Likes tea.",)))
    finding = Finding(1, 2, "Refundable fares.", "unmet", "it is not")
    second = worker.work(job(draft=first, unmet=(finding,), met=(Finding(1, 3, "One seat.", "met"),)))
    assert first.calls == second.calls == (Observation("count", {}, "0"),)
    last = backend.prompts[0][-1].content
    assert "- Plans change.\n  - Refundable fares." in last
    assert "- Likes tea." in last
    revised = backend.prompts[1][-1].content
    for line in ("Reply:\n  a", "- Refundable fares.: it is not", "- One seat."):
        assert line in revised
    assert backend.prompts[0][0].content.endswith("- count(): counts\nBrief.")


def test_a_failed_server_is_no_answer() -> None:
    class Down(Says):
        def complete(self, prompts, max_tokens):
            raise BackendError("down")

    with pytest.raises(BackendError, match="down"):
        ModelWorker(Down(), (), "").work(job())


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_tools_are_total_and_start_afresh(family) -> None:
    scenario = family.scenario(2, 3)
    for tool in family.tools(scenario.values):
        for value in ("", "x", "Friday", "99:99", "\n"):
            arguments = dict.fromkeys((*tool.arguments, *tool.optional), value)
            one, other = tool.call(arguments, ()), tool.call(arguments, ())
            assert one == other
            assert one.result
    assert family.missing(Output("Done."))
    assert family.brief
