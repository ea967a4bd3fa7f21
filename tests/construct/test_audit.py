"""The deterministic audit: what the simulator says passes, and every kind of planted fault is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from intentfold.construct.audit import Audit, audit_turn, edit_turns, recover, same_goals
from intentfold.construct.episode import build_episode
from intentfold.construct.reading import Said, read_reply, readings
from intentfold.construct.wording import bank
from intentfold.intent import Edit, IntentState, fold
from intentfold.sources.registry import builtin_task
from intentfold.trace import Episode, EpisodeTurn
from tests.tasks import flight_task

DEV = bank("dev")
SLOTS = {"destination city", "number of seats", "travel date", "cabin class", "meal", "baggage", "insurance"}


def played(*turns: tuple[str, Sequence[Edit], str]) -> Episode:
    """A dialogue of the flight task from (user, edits, reply), the request put before the first."""
    state, steps = IntentState(), []
    for number, (user, edits, reply) in enumerate(turns):
        state = fold(state, edits)
        steps.append(EpisodeTurn(user if number else f"I need a flight. {user}", tuple(edits), state, (), reply))
    task = flight_task()
    return Episode(1, "flight", task, 1, "dev", "dev", 0, (), tuple(steps), "", ())


def add(slot: str, value: str) -> Edit:
    return Edit("ADD", slot=slot, value=value)


PORTO, BUSINESS, MEAL = add("destination city", "Porto"), add("cabin class", "business"), add("meal", "vegan")
OPENING = ("Jot down Porto under destination city", [PORTO], "Very good.")
BOTH = ("Jot down Porto under destination city. In addition, cabin class => business.", [PORTO, BUSINESS], "Very good.")


def found(episode: Episode, t: int = -1) -> list[tuple[str, str]]:
    audit = audit_turn(episode, t % len(episode.turns), DEV)
    return [(fault.aspect, fault.kind) for fault in audit.faults]


def recap() -> str:
    return DEV["agent_recap"][0].replace("{list}", "1) destination city: Porto, 2) cabin class: business")


GOOD = [
    [OPENING],
    [BOTH],
    [OPENING, ("Say, jot down business under cabin class; and then you mustn't budge on the destination city.",
               [Edit("REPRIORITIZE", id=1, priority="must"), BUSINESS], "")],
    [OPENING, ("Nope, Faro", [Edit("REPLACE", id=1, value="Faro")], "")],
    [OPENING, ("Rewind that", [Edit("DELETE", id=1)], "")],
    [OPENING, ("Faro takes over from Porto", [Edit("REPLACE", id=1, value="Faro")], ""),
     ("Please reverse the last change of the destination city.", [Edit("REPLACE", id=1, value="Porto")], "")],
    [OPENING, ("There's no requirement on the destination city any longer", [Edit("DELETE", id=1)], ""),
     ("let's revive the destination city", [PORTO], "")],
    [OPENING, ("it's so windy out there", [], ""), ("off you go!", [], "")],
]  # fmt: skip


@pytest.mark.parametrize("turns", GOOD)
def test_what_is_said_as_scheduled_passes(turns) -> None:
    episode = played(*turns)
    assert [found(episode, t) for t in range(len(turns))] == [[]] * len(turns)
    assert same_goals(recover(episode, DEV), episode.final_state)


def test_a_reply_is_leant_on() -> None:
    question = DEV["agent_ask"][0].replace("{slot}", "meal")
    asked = (*OPENING[:2], question)
    assert read_reply(f"Very good. {question}", DEV, SLOTS).asked == "meal"
    assert found(played(asked, ("vegan if you ask me", [MEAL], ""))) == []
    listed = (*BOTH[:2], recap())
    assert read_reply(recap(), DEV, SLOTS).listed == ("destination city: Porto", "cabin class: business")
    assert found(played(listed, ("wipe the second line", [Edit("DELETE", id=2)], ""))) == []


# What is planted, and what must be found of it.
FAULTS = {
    "a wrong value said": ([("Jot down Faro under destination city", [PORTO], "")], ("fidelity", "wrong value")),
    "an extra edit": (
        [("Jot down Porto under destination city. In addition, meal => vegan", [PORTO], "")], ("fidelity", "extra edit"),
    ),
    "a missing edit": ([("Jot down Porto under destination city", [PORTO, MEAL], "")], ("fidelity", "missing edit")),
    "another item withdrawn": (
        [BOTH, ("there's no requirement on the destination city any longer", [Edit("DELETE", id=2)], "")],
        ("fidelity", "missing edit"),
    ),
    "more words in the value": (
        [("Jot down Porto and a dragon under destination city", [PORTO], "")], ("fidelity", "wrong value"),
    ),
    "words after the clause": (
        [("Jot down Porto under destination city, and a dragon", [PORTO], "")], ("fidelity", "words that say nothing known"),
    ),
    "nothing that can be read": ([("Bring me a dragon", [PORTO], "")], ("fidelity", "words that say nothing known")),
    "an active requirement denied": (
        [OPENING, ("Rest assured, Faro is the destination city I want. In addition, meal => vegan", [MEAL], "")],
        ("fidelity", "active requirement not respected"),
    ),
    "another priority": (
        [OPENING, ("the destination city is a mere frill", [Edit("REPRIORITIZE", id=1, priority="must")], "")],
        ("fidelity", "wrong value"),
    ),
    "a convention of no task": (
        [("Jot down Porto under destination city. In addition, please present it this way: in verse", [PORTO], "")],
        ("fidelity", "extra edit"),
    ),
    "an ordinal without a list": (
        [OPENING, ("wipe the second line", [Edit("DELETE", id=1)], "")], ("coherence", "dangling reference"),
    ),
    "an ordinal beyond the list": (
        [(*BOTH[:2], recap()), ("wipe the third line", [Edit("DELETE", id=2)], "")], ("coherence", "dangling reference"),
    ),
    "a slot that nothing holds": (
        [OPENING, ("there's no requirement on the meal any longer", [Edit("DELETE", id=1)], "")],
        ("coherence", "dangling reference"),
    ),
    "an old value that nothing has": (
        [OPENING, ("Faro takes over from Oslo", [Edit("REPLACE", id=1, value="Faro")], "")], ("coherence", "dangling reference"),
    ),
    "an old value spoken of wrongly": (
        [OPENING, ("let the destination city shift to Faro, away from Oslo", [Edit("REPLACE", id=1, value="Faro")], "")],
        ("coherence", "contradicts the active state"),
    ),
    "taken back after two edits": ([BOTH, ("rewind that", [Edit("DELETE", id=1)], "")], ("coherence", "dangling reference")),
    "brought back though never gone": ([OPENING, ("let's revive the meal", [MEAL], "")], ("coherence", "dangling reference")),
    "an answer to a question never asked": (
        [OPENING, ("vegan if you ask me", [MEAL], "")], ("coherence", "answer to a question never asked"),
    ),
    "a list that is not the state": (
        [(*OPENING[:2], recap()), ("jot down vegan under meal", [MEAL], "")], ("coherence", "contradicts the active state"),
    ),
    "a reply of no known kind": (
        [(*OPENING[:2], "Dragons ahoy."), ("jot down vegan under meal", [MEAL], "")],
        ("coherence", "reply that says nothing known"),
    ),
    "the turn before once more": ([OPENING, ("I need a flight. " + OPENING[0], [], "")], ("coherence", "does not flow")),
    "silence": ([OPENING, (" ", [MEAL], "")], ("coherence", "does not flow")),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    turns, expected = FAULTS[name]
    assert expected in found(played(*turns))


def test_an_annotated_state_that_does_not_follow_is_found() -> None:
    episode = played(OPENING, ("jot down vegan under meal", [MEAL], ""))
    other = replace(episode.turns[1], state=fold(episode.turns[1].state, [BUSINESS]))
    kinds = found(replace(episode, turns=(episode.turns[0], other)))
    assert ("coherence", "state does not follow") in kinds
    twice = replace(episode.turns[1], edits=(Edit("DELETE", id=9),))
    assert ("coherence", "edit that cannot be made") in found(replace(episode, turns=(episode.turns[0], twice)))


def test_a_conclusion_that_outlives_its_ground_is_found() -> None:
    said = DEV["agent_conclude"][0]
    date, trip = add("travel date", "May 2"), "destination city Porto and travel date May 2"
    reply = said.replace("{slot}", "trip").replace("{value}", "Porto on May 2").replace("{basis}", trip)
    opening = ("Jot down Porto under destination city. In addition, travel date => May 2", [PORTO, date], reply)
    conclusion = Edit("ADD", kind="conclusion", depends_on=(1, 2), slot="trip", value="Porto on May 2")
    kept = played(opening, ("jot down vegan under meal", [conclusion, MEAL], ""))
    assert found(kept) == []
    gone = ("Faro takes over from Porto", [Edit("REPLACE", id=1, value="Faro")], "")
    assert found(played(opening, gone)) == []
    outlives = Edit("ADD", kind="conclusion", depends_on=(2,), slot="trip", value="Porto on May 2")
    assert ("coherence", "conclusions out of step") in found(played(opening, (*gone[:1], [*gone[1], outlives], "")))
    groundless = (*opening[:2], reply.replace("Porto and", "Oslo and").replace("May 2", "May 3"))
    assert ("coherence", "contradicts the active state") in found(played(groundless, ("jot down vegan under meal", [MEAL], "")))


def test_an_opening_without_the_request_is_found() -> None:
    episode = played(OPENING)
    bare = replace(episode.turns[0], user=OPENING[0])
    assert found(replace(episode, turns=(bare,))) == [("coherence", "does not flow")]


def test_of_several_readings_the_one_with_more_of_the_banks_words_counts() -> None:
    [(said,)] = readings("jot down business under cabin class, if you please", DEV, SLOTS)
    assert said == Said("add", slot="cabin class", value="business")
    both = readings("Cabin class => first; and then meal => vegan!", DEV, SLOTS)
    assert both == [(Said("add", slot="Cabin class", value="first"), Said("add", slot="meal", value="vegan"))]


def test_recovery_reads_words_and_no_annotation() -> None:
    episode = played(OPENING, ("Faro takes over from Porto", [Edit("REPLACE", id=1, value="Oslo")], ""))
    assert [item.text for item in recover(episode, DEV).items] == ["destination city: Faro"]
    assert not same_goals(recover(episode, DEV), episode.final_state)


@pytest.mark.parametrize("family", ["tools", "sql", "arithmetic", "text", "code"])
def test_built_dialogues_pass(family: str) -> None:
    audits: list[Audit] = []
    for index in range(2):
        episode = build_episode(builtin_task(family, 3, index), 3, "test", "test", 3)
        audits += [audit_turn(episode, t, bank("test")) for t in edit_turns(episode)]
    assert len(audits) > 15
    assert sum(not audit.faults for audit in audits) >= len(audits) - 1, [audit.faults for audit in audits if audit.faults]
