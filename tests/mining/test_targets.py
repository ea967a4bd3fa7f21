"""The right edits from wrong states: all of them with the whole history, the supported ones with a window."""

from __future__ import annotations

import random

import pytest

from intentfold.construct.episode import build_episode
from intentfold.dialogue import Turn
from intentfold.intent import Edit, IntentItem, IntentState, canonical, fold, fold_leniently
from intentfold.mining.examples import corrupt, corrupted_examples, oracle_examples
from intentfold.mining.failures import failure_examples
from intentfold.mining.targets import in_order_said, supported_edits
from intentfold.trace import Episode, EpisodeTurn, Rollout
from tests.tasks import flight_task


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [build_episode(flight_task(), 3, "train", "train", seed) for seed in range(15)]


@pytest.mark.parametrize("window", [None, 3, 2])
def test_from_the_oracle_state_the_target_is_the_oracle_edits(episodes: list[Episode], window: int | None) -> None:
    for episode in episodes:
        before = IntentState()
        for turn, step in enumerate(episode.turns):
            target = supported_edits(before, episode, turn, window)
            assert canonical(fold(before, target)) == canonical(step.state), (episode.id, turn, step.user, target)
            before = step.state


def test_with_the_whole_history_every_repair_is_a_target(episodes: list[Episode]) -> None:
    rng = random.Random(0)
    for episode in episodes:
        for turn in range(1, len(episode.turns)):
            own = corrupt(episode, turn, rng)
            assert canonical(fold(own, supported_edits(own, episode, turn, None))) == canonical(episode.turns[turn].state)


def test_with_a_window_every_target_folds_and_names_nothing_out_of_sight(episodes: list[Episode]) -> None:
    rng = random.Random(1)
    for episode in episodes:
        for turn in range(1, len(episode.turns)):
            own = corrupt(episode, turn, rng)
            edits = supported_edits(own, episode, turn, 3)
            _, rejected = fold_leniently(own, edits)
            assert rejected == ()


def hand_made() -> Episode:
    """Three turns: seats 3; city Lisbon; city Porto."""
    base = build_episode(flight_task(), 1, "train", "train", 0)
    states, state, turns = [], IntentState(), []
    said = [
        ("the number of seats is 3", Edit("ADD", slot="number of seats", value="3")),
        ("the destination city is Lisbon", Edit("ADD", slot="destination city", value="Lisbon")),
        ("make the destination city Porto", Edit("REPLACE", id=2, value="Porto")),
    ]
    for words, edit in said:
        state = fold(state, [edit])
        states.append(state)
        turns.append(EpisodeTurn(words, (edit,), state, (), "Noted."))
    return Episode(1, "hand", base.task, 1, "train", "train", 0, (), tuple(turns), "", ())


def test_a_repair_out_of_sight_is_no_target() -> None:
    episode = hand_made()
    missing_seats = fold(IntentState(), [Edit("ADD", slot="destination city", value="Lisbon")])
    assert supported_edits(missing_seats, episode, 2, 3) == (Edit("REPLACE", id=1, value="Porto"),)
    assert len(supported_edits(missing_seats, episode, 2, None)) == 2


def test_what_was_missed_a_turn_ago_is_mended_while_it_is_in_sight() -> None:
    episode = hand_made()
    missed_city = fold(IntentState(), [Edit("ADD", slot="number of seats", value="3")])
    assert supported_edits(missed_city, episode, 2, 2) == (Edit("ADD", slot="destination city", value="Porto"),)
    missed_seats = IntentState()
    assert len(supported_edits(missed_seats, episode, 1, 3)) == 2
    assert len(supported_edits(missed_seats, episode, 1, 2)) == 1


def test_examples_say_where_they_come_from(episodes: list[Episode]) -> None:
    episode = episodes[0]
    mined = list(oracle_examples(episode))
    assert len(mined) == len(episode.turns)
    assert [example.provenance.turn for example in mined] == list(range(len(mined)))
    assert {example.provenance.mining for example in mined} == {"oracle"}
    assert all(example.completion in example.privileged[1].content for example in mined)
    assert all("Right answer" not in example.messages[1].content for example in mined)
    corrupted = list(corrupted_examples(episode, random.Random(0), share=1.0))
    assert len(corrupted) == len(episode.turns) - 1
    assert {example.provenance.mining for example in corrupted} == {"corrupted"}


def test_only_failures_that_flip_the_verdict_are_mined(episodes: list[Episode]) -> None:
    episode = episodes[0]
    outputs = ("NONE",) * len(episode.turns)
    flipped = Rollout(episode.id, "base", "delta", outputs, full=False, oracle_full=True)
    mined = list(failure_examples(episode, flipped))
    assert len(mined) == len(episode.turns)
    assert "State:\nempty" in mined[-1].messages[1].content
    for full, oracle_full in ((True, True), (False, False), (None, True)):
        assert not list(failure_examples(episode, Rollout(episode.id, "base", "delta", outputs, full, oracle_full)))
    with pytest.raises(ValueError, match="the rollout of base has 1"):
        list(failure_examples(episode, Rollout(episode.id, "base", "delta", outputs[:1], False, True)))


ITEMS = (
    IntentItem(1, "city: Lisbon", slot="city", value="Lisbon"),
    IntentItem(2, "seats: 3", slot="seats", value="3"),
    IntentItem(3, "meal: vegan", slot="meal", value="vegan"),
    IntentItem(4, "fare: 90", "conclusion", (2,), "fare", "90"),
)
DELETE_SEATS, PORTO = Edit("DELETE", id=2), Edit("REPLACE", id=1, value="Porto")
CABIN = Edit("ADD", slot="cabin", value="business")


@pytest.mark.parametrize(
    ("reply", "user", "edits", "expected"),
    [
        (
            "Noted.",
            "Business cabin, Porto as the city, no seats.",
            (DELETE_SEATS, PORTO, CABIN),
            (CABIN, PORTO, DELETE_SEATS),
        ),
        # By the value that goes away, where nothing else is named.
        ("Noted.", "Not Lisbon, go to Porto; forget the 3.", (DELETE_SEATS, PORTO), (PORTO, DELETE_SEATS)),
        # The reply comes before the turn; what neither names comes last.
        ("Which cabin?", "No seats; the second one.", (DELETE_SEATS, CABIN), (CABIN, DELETE_SEATS)),
        ("Noted.", "Scratch that, and Porto.", (DELETE_SEATS, PORTO), (PORTO, DELETE_SEATS)),
        # "$$" holds no word: no message names it.
        (
            "Noted.",
            "No seats.",
            (Edit("ADD", slot="price", value="$$"), DELETE_SEATS),
            (DELETE_SEATS, Edit("ADD", slot="price", value="$$")),
        ),
        # Words, not letters: "seat" stands in no "seating".
        ("Noted.", "Seating aside, Porto, no seats.", (DELETE_SEATS, PORTO), (PORTO, DELETE_SEATS)),
    ],
)
def test_edits_stand_in_the_order_in_which_the_turn_names_them(
    reply: str, user: str, edits: tuple[Edit, ...], expected: tuple[Edit, ...]
) -> None:
    dialogue = (Turn("user", "Porto first."), Turn("assistant", reply), Turn("user", user))
    assert in_order_said(IntentState(ITEMS, 5), edits, dialogue) == expected


def test_an_order_that_would_lose_a_conclusion_is_not_taken() -> None:
    own = IntentState(ITEMS[:3], 5)
    edits = (Edit("REPLACE", id=2, value="4"), Edit("ADD", kind="conclusion", depends_on=(2,), slot="fare", value="120"))
    dialogue = (Turn("assistant", "The fare is 120."), Turn("user", "4 seats."))
    assert in_order_said(own, edits, dialogue) == edits
    chained = (Edit("ADD", slot="cabin", value="b"), Edit("ADD", kind="conclusion", depends_on=(-1,), slot="fare", value="1"))
    assert in_order_said(own, chained, (Turn("user", "fare, cabin"),)) == chained
