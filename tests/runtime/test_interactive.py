"""The interactive loop: what is said and shown under each condition, the environment's state, and every bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from intentfold.codec.state import active_lines
from intentfold.domains import delivery
from intentfold.intent import Edit, IntentState
from intentfold.prompts.agent import STATE
from intentfold.prompts.tracker import tracker_completion
from intentfold.runtime.interactive import DIAGNOSTIC, Condition, Limits, Played, ScriptedAgent, ToolAgent, play, user_turns
from intentfold.runtime.lockstep import Lost, in_lockstep
from intentfold.runtime.roles import Completion, Prompt
from intentfold.trace import Episode
from tests.services import episodes

BUY = {"store_id": "s1", "products": [{"product_id": "p1", "quantity": 1}], "address": "Office", "delivery_time": "", "note": ""}
MADE = json.dumps({"call": "create_order", "arguments": BUY})


@pytest.fixture
def episode(tmp_path: Path) -> Episode:
    return episodes(tmp_path, 1)[0]


class Says:
    """Writes what `answer` makes of a prompt's last message, and keeps the prompts."""

    name = "says"

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.answer, self.prompts = answer, list[Prompt]()

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        self.prompts += prompts
        texts = [self.answer(prompt[-1].content) for prompt in prompts]
        return [Completion(text.removesuffix("…"), 1, 1, not text.endswith("…")) for text in texts]


def run(episode: Episode, condition: Condition, limits: Limits = Limits(), **backends: Says) -> Played | Lost:  # noqa: B008
    tools = delivery.tools(episode.task.payload["environment"])
    worker = ToolAgent(tools, "Serve.", limits)
    [found] = in_lockstep([play(episode, condition, worker, tools, simulated="simulator" in backends, limits=limits)], backends)
    return found


def reply(last: str) -> str:
    return '{"reply": "Yes?"}'


def test_what_the_user_says_under_each_condition(episode: Episode) -> None:
    said = [turn.user for turn in episode.turns]
    assert user_turns(episode, "clean") == (episode.clean,)
    assert user_turns(episode, "drift") == user_turns(episode, "oracle_state") == user_turns(episode, "tracker") == tuple(said)
    *before, last = user_turns(episode, DIAGNOSTIC)
    assert before == said[:-1] and last.startswith(said[-1])
    assert all(goal.text in last for goal in episode.task.goals)
    assert not any(stale.text in last for stale in episode.stale)


def test_the_exact_state_stands_behind_the_last_turn_and_in_no_history(episode: Episode) -> None:
    agent = Says(reply)
    played = run(episode, "oracle_state", agent=agent)
    assert isinstance(played, Played) and len(played.exchanges) == len(episode.turns) == len(agent.prompts)
    for prompt, turn in zip(agent.prompts, episode.turns, strict=True):
        assert prompt[-1].content == turn.user + STATE.format(items=active_lines(turn.state.items) or "- nothing")
        assert not any("What holds now" in one.content for one in prompt[:-1])
    assert [one.content for one in agent.prompts[-1][1::2]][:-1] == [turn.user for turn in episode.turns[:-1]]
    drift = Says(reply)
    run(episode, "drift", agent=drift)
    assert [one.content for one in drift.prompts[-1][1::2]] == [turn.user for turn in episode.turns]


def test_the_environment_goes_on_from_turn_to_turn_and_results_are_shown(episode: Episode) -> None:
    written = iter([MADE, '{"reply": "Ordered."}', '{"call": "list_orders"}', '{"reply": "Here it is."}'])
    agent = Says(lambda last: next(written, '{"reply": "Yes."}'))
    played = run(episode, "drift", agent=agent)
    assert isinstance(played, Played)
    first, second = played.exchanges[:2]
    assert [call.name for call in first[1].calls] == ["create_order"] and first[1].reply == "Ordered."
    [listed] = second[1].calls
    assert [order["order_id"] for order in json.loads(listed.result)] == ["NEW01"]
    assert "NEW01" in agent.prompts[1][-1].content, "a result is shown before the next round"
    assert any("NEW01" in turn.content for turn in agent.prompts[-1]), "and stays in the history"
    assert played.errors == () and played.rounds == len(agent.prompts)


def test_malformed_and_impossible_calls_are_answered_and_counted(episode: Episode) -> None:
    written = iter(
        ["I will order.", '{"call": "fly"}', '{"call": "pay_order", "arguments": {"id": "1"}}', MADE.replace("s1", "s9")]
    )
    agent = Says(lambda last: next(written, '{"reply": "Well."}'))
    played = run(episode, "clean", agent=agent)
    assert isinstance(played, Played)
    assert [error.split(":")[0] for error in played.errors] == ["I will order.", "fly", "pay_order", "create_order"]
    shown = [prompt[-1].content for prompt in agent.prompts[1:]]
    assert ["expected a JSON object" in shown[0], "the tools are search_stores" in shown[1]] == [True, True]
    assert "error: missing ['order_id']" in shown[2] and "error: there is no store 's9'" in shown[3]
    assert played.exchanges[0][1].reply == "Well."


def test_rounds_are_bounded_and_the_next_turn_goes_on(episode: Episode) -> None:
    agent = Says(lambda last: '{"call": "show_weather"}')
    played = run(episode, "drift", Limits(steps=2), agent=agent)
    assert isinstance(played, Played)
    assert len(agent.prompts) == played.rounds == 2 * len(episode.turns)
    assert played.errors == ("no reply within 2 steps",) * len(episode.turns)
    roles = [turn.role for turn in agent.prompts[-1]]
    assert all(a != b for a, b in pairwise(roles)), "user and assistant alternate"
    assert episode.turns[1].user in agent.prompts[2][-1].content
    with pytest.raises(ValueError, match=r"limits.steps must be at least 1, got 0"):
        Limits(steps=0)


def test_a_simulated_user_says_each_turn_and_what_is_cut_off_is_lost(episode: Episode) -> None:
    user = Says(lambda last: "In my words: " + last.rpartition("Say: ")[2])
    played = run(episode, "drift", agent=Says(reply), simulator=user)
    assert isinstance(played, Played)
    assert [said for said, _ in played.exchanges] == [f"In my words: {turn.user}" for turn in episode.turns]
    assert "Assistant: Yes?" in user.prompts[1][-1].content
    lost = run(episode, "drift", agent=Says(reply), simulator=Says(lambda last: "Half a…"))
    assert isinstance(lost, Lost) and lost.role == "simulator" and "expected the user's turn 0 whole" in lost.reason


def test_a_tracker_folds_its_own_state_from_what_was_said(episode: Episode) -> None:
    tracker = Says(lambda last: "ADD a goal of mine" if "State" not in last else "NONE")
    agent = Says(reply)
    played = run(episode, "tracker", agent=agent, tracker=tracker)
    assert isinstance(played, Played) and len(played.folds) == len(episode.turns)
    assert "Yes?" in str(tracker.prompts[1]), "the tracker sees what the agent really said"
    assert STATE.split("{")[0] in agent.prompts[0][-1].content


def test_the_scripted_agent_shows_what_its_items_are(episode: Episode) -> None:
    environment = episode.task.payload["environment"]
    tools = delivery.tools(environment)
    calls = delivery.reference_calls(environment, episode.task.payload["reference"]["orders"])

    def orders(condition: Condition, episode: Episode = episode, **backends: Says) -> list[tuple[str, str]]:
        worker = ScriptedAgent(episode, calls)
        [found] = in_lockstep([play(episode, condition, worker, tools, simulated=False, limits=Limits())], backends)
        assert isinstance(found, Played)
        made = [call for _, output in found.exchanges for call in output.calls]
        assert not any(output.calls for _, output in found.exchanges[:-1])
        return [(order["note"], order["status"]) for order in delivery.outcome(environment, made)]

    assert orders("clean") == orders("oracle_state") == [("", "paid")]
    assert orders("tracker", tracker=Says(lambda last: "NONE")) == [], "it does nothing without the task's goals"
    decoy = next(stale.text for stale in episode.stale if stale.kind == "decoy")
    kept = [Edit("ADD", text=text) for text in (*(goal.text for goal in episode.task.goals), decoy)]
    written = iter([tracker_completion(IntentState(), kept, "delta")])
    [(note, status)] = orders("tracker", tracker=Says(lambda last: next(written, "NONE")))
    assert (note == "", status) == (False, "unpaid"), "a wish that was withdrawn is obeyed, and shows"
