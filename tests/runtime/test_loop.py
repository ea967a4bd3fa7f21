"""The state-folding loop: what the agent is shown, turn by turn."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.intent import IntentItem
from intentfold.prompts.agent import agent_prompt
from intentfold.runtime.loop import Loop, converse
from intentfold.runtime.model_agent import ModelAgent
from intentfold.runtime.roles import Completion
from intentfold.runtime.scripted import CannedBackend, ExecutorAgent, ScriptedSimulator, oracle_backend
from intentfold.runtime.tracker import Tracker
from tests.episodes import episode, house, table_task


class Parrot:
    """A backend that replies what the episode's agent replied, and keeps the prompts."""

    name = "parrot"

    def __init__(self, replies):
        self.replies = list(replies)
        self.prompts = []

    def complete(self, prompts, max_tokens):
        self.prompts += prompts
        return [Completion(self.replies.pop(0), 1, 1, True) for _ in prompts]


def test_the_agent_sees_history_and_active_state_and_no_stale_conclusion() -> None:
    story = house()
    backend = Parrot(turn.reply or "Done." for turn in story.turns)
    loop = Loop(ModelAgent(backend), Tracker(oracle_backend([story])))
    steps = converse(loop, ScriptedSimulator([turn.user for turn in story.turns]))
    assert [step.fold.state for step in steps] == [turn.state for turn in story.turns]
    shown = [prompt[-1].content for prompt in backend.prompts]
    assert "beds: 3" in shown[2]
    assert "beds: 3" not in shown[3].split("[What holds now")[1]
    assert shown[4].endswith("no longer counts]\n- city: Lisbon\n- guests: 3")
    assert backend.prompts[4][1:-1] == story.drift(4)[:-1]
    assert loop.dialogue == (*story.drift(), Turn("assistant", "Done."))


def test_conventions_come_from_the_format_tracker_and_pass_the_gate() -> None:
    story = episode(table_task(), "e", ("Book me a house. In a fenced json block.", (), ""))
    loop = Loop(ExecutorAgent(), Tracker(oracle_backend([story])), table_task())
    step = loop.turn(story.turns[0].user)
    assert [item.text for item in step.items] == ["answer in a fenced json block"]
    assert step.gated.answer == '```json\n[{"name": "book", "arguments": {}}]\n```'


def test_a_simulator_that_is_the_agent_is_refused_unless_told() -> None:
    class Twin(ScriptedSimulator):
        name = "parrot"

    loop = Loop(ModelAgent(Parrot(["Hello."])), Tracker(CannedBackend({}, otherwise="NONE")))
    with pytest.raises(ValueError, match=r"simulator: must not be the tested agent itself \(parrot\)"):
        converse(loop, Twin(["Hi"]))
    assert len(converse(loop, Twin(["Hi"]), allow_shared=True)) == 1


def test_the_agents_prompt() -> None:
    dialogue = (Turn("user", "Hi"), Turn("assistant", "Hello"), Turn("user", "Go"))
    assert agent_prompt(dialogue, None)[1:] == dialogue
    items = (IntentItem(2, "guests: 3", slot="guests", value="3", priority="must"), IntentItem(1, "no stairs"))
    shown = agent_prompt(dialogue, items)
    assert shown[1:-1] == dialogue[:-1]
    assert shown[-1].content.endswith("- no stairs\n- (must) guests: 3")
    repair = agent_prompt(dialogue, items, draft="It is 3", violations=("answer with the number only",))
    assert repair[: len(shown)] == shown
    assert repair[-2] == Turn("assistant", "It is 3")
    assert "answer with the number only" in repair[-1].content
    with pytest.raises(ValueError, match="must end with a user turn"):
        agent_prompt(dialogue[:2], None)
