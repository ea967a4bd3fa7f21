"""Compressed histories, by hand."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.graders import grade
from intentfold.intent import Edit
from intentfold.runtime.compress import (
    CLEARED,
    Budget,
    ExtractiveSummariser,
    Message,
    ModelSummariser,
    Summary,
    _specific,
    compress,
    recap,
)
from intentfold.runtime.conditions import (
    ablated_view,
    answers,
    compressed_view,
    stale_conclusions,
)
from intentfold.runtime.episodes import track
from intentfold.runtime.history import stated_items
from intentfold.runtime.roles import Completion
from intentfold.runtime.scripted import ExecutorAgent, oracle_backend
from tests.episodes import episode, house, small_house, table_task


class Echo:
    """A summarising model that numbers its summaries and keeps what it was asked."""

    name = "echo"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, prompts, max_tokens):
        self.asked += [prompt[-1].content for prompt in prompts]
        return [Completion(f"Summary {len(self.asked)}.", 1, 2, True) for _ in prompts]


def test_the_extract_keeps_the_users_most_specific_sentences_in_their_order() -> None:
    messages = [
        Message(0, "user", "Book me a house. It is for Ana and Bo."),
        Message(0, "assistant", "For Ana and Bo, in May 2026."),
        Message(1, "user", "Scratch that. We need 3 beds, thanks."),
    ]
    [found] = ExtractiveSummariser().summarise([(Summary(((0, "Only in Lisbon or Porto."),)), messages)], words=12)
    # Two capitals each, then one figure (5 words, too many for the room that is left), then nothing specific.
    assert found.lines == ((0, "Only in Lisbon or Porto."), (0, "It is for Ana and Bo."))
    [more] = ExtractiveSummariser().summarise([(found, messages[2:])], words=16)
    assert more.lines == (*found.lines, (1, "We need 3 beds, thanks."))


def test_a_history_under_the_budget_stays_as_it_is() -> None:
    [found] = compress([house()], ExtractiveSummariser(), Budget(words=200))
    assert (found.dialogue, found.summaries) == (house().drift(), 0)
    assert found.left == tuple(turn.user for turn in house().turns)


def test_a_rolling_summary_takes_the_one_before_into_the_next() -> None:
    echo = Echo()
    [found] = compress([house()], ModelSummariser(echo), Budget(words=12, keep=2, summary_words=5))
    assert found.left is None
    assert found.summaries == len(echo.asked) > 1
    assert "Summary of what came before:\nSummary 1.\n\n" in echo.asked[1]
    assert "Book me a house" in echo.asked[0]
    assert "Book me a house" not in echo.asked[1]
    assert found.dialogue[0].content.endswith(f"Summary {found.summaries}.")
    roles = [turn.role for turn in found.dialogue]
    assert roles == ["user", "assistant", "user"][: len(roles)]
    assert found.dialogue[-1] == Turn("user", "Go ahead.")


def test_compaction_clears_replies_first_and_summarises_only_where_that_is_not_enough() -> None:
    talk = episode(
        table_task(),
        "talk",
        ("city: Porto please", (Edit("ADD", slot="city", value="Porto"),), "word " * 40),
        ("guests: 3 please", (Edit("ADD", slot="guests", value="3"),), "Fine."),
        ("Go ahead.", (), ""),
    )
    [phase_one] = compress([talk], ExtractiveSummariser(), Budget(words=30, keep=1), clear_replies=True)
    assert phase_one.summaries == 0
    assert phase_one.dialogue[1] == Turn("assistant", CLEARED)
    assert phase_one.left == ("city: Porto please", "guests: 3 please", "Go ahead.")
    [rolling] = compress([talk], ExtractiveSummariser(), Budget(words=30, keep=1), clear_replies=False)
    assert rolling.summaries == 1
    [both] = compress([talk], ExtractiveSummariser(), Budget(words=6, keep=1), clear_replies=True)
    assert both.summaries >= 1


LEFT = [
    # What is left of the three turns, and what the policy then obeys.
    (("city: Oslo please", "", "Go on."), ["city: Oslo"]),
    (("Oslo", "", ""), ["city: Oslo"]),
    (("please", "", ""), []),
    (("Oslo", "Rome", ""), ["city: Oslo", "city: Rome"]),
    # The turn that replaces names the city, but that part of it is gone.
    (("city: Oslo please", "Rome", ""), ["city: Oslo", "city: Rome"]),
    (("city: Oslo please", "Make the city Rome", ""), ["city: Rome"]),
]


@pytest.mark.parametrize(("left", "stated"), LEFT)
def test_what_is_left_of_a_history_states(left, stated) -> None:
    turns = [
        ("city: Oslo please", (Edit("ADD", slot="city", value="Oslo"),), ""),
        ("Make the city Rome", (Edit("REPLACE", id=1, value="Rome"),), ""),
        ("Go on.", (), ""),
    ]
    assert [item.text for item in stated_items(episode(table_task(), "e", *turns), left)] == stated


def test_an_anaphoric_statement_counts_only_where_its_turn_is_whole() -> None:
    turns = [("the usual place. Thanks.", (Edit("ADD", slot="city", value="Oslo"),), ""), ("A pool.", (add_pool(),), "")]
    story = episode(table_task(), "e", *turns)
    assert [item.text for item in stated_items(story, ("the usual place. Thanks.", "A pool"))] == ["city: Oslo", "pool: yes"]
    assert [item.text for item in stated_items(story, ("the usual place.", ""))] == []
    with pytest.raises(ValueError, match="expected what is left of 2 turns, got 1"):
        stated_items(story, ("x",))


def add_pool() -> Edit:
    return Edit("ADD", slot="pool", value="yes")


def test_the_views_of_a_compressed_history() -> None:
    story = house()
    [found] = compress([story], ExtractiveSummariser(), Budget(words=12, keep=2, summary_words=8))
    scripted = compressed_view(story, found, "summarize", executor=True)
    assert [item.text for item in scripted.items or ()] == [item.text for item in stated_items(story, found.left)]
    assert compressed_view(story, found, "summarize", executor=False).items is None
    [written] = compress([story], ModelSummariser(Echo()), Budget(words=12, keep=2))
    with pytest.raises(ValueError, match="reads no summary that a model wrote"):
        compressed_view(story, written, "summarize", executor=True)


def test_a_recap_stands_beside_the_whole_history_with_conventions_and_gate_as_they_are() -> None:
    story = episode(
        table_task(), "f", *[(t.user, t.edits, t.reply) for t in small_house().turns[:2]], ("Answer with JSON only.", (), "")
    )
    [found] = recap([story], ExtractiveSummariser(), 60)
    view = compressed_view(story, found, "recap", executor=True)
    assert view.dialogue == story.drift()
    assert [item.text for item in view.items or ()] == ["city: Lisbon", "guests: 3", "answer with JSON only"]
    assert grade(story.task, answers(ExecutorAgent(), [view])[0].answer).full
    model = compressed_view(story, found, "recap", executor=False)
    assert [item.text for item in model.items or ()] == ["answer with JSON only"]
    assert "Lisbon" in model.recap


def test_ablations_take_one_part_out_each() -> None:
    story = house()
    [folds] = track([story], oracle_backend([story]))
    # The beds rested on the city, which changed: stale, and shown again without the invalidation.
    assert [item.text for item in stale_conclusions(folds)] == ["beds: 3"]
    assert [item.text for item in ablated_view(story, folds, "no_invalidation").items or ()][-1] == "beds: 3"
    assert ablated_view(story, folds, "state_only").dialogue == (Turn("user", "Go ahead."),)
    assert ablated_view(story, folds, "no_gate").items == ablated_view(story, folds, "state_only").items
    named = episode(
        table_task(),
        "d",
        ("x", (Edit("ADD", slot="city", value="Oslo"), Edit("ADD", kind="conclusion", text="three beds", depends_on=(-1,))), ""),
        ("not three beds", (Edit("DELETE", id=2),), ""),
    )
    assert stale_conclusions(track([named], oracle_backend([named]))[0]) == ()


def test_without_the_format_tracker_or_the_gate_conventions_are_not_kept() -> None:
    story = episode(
        table_task(),
        "f",
        *[(t.user, t.edits, t.reply) for t in small_house().turns[:2]],
        ("Your answer should be in upper case.", (), ""),
    )
    [folds] = track([story], oracle_backend([story]))
    [whole, ungated] = [ablated_view(story, folds, name) for name in ("no_gate", "no_gate")]
    [unformatted] = [ablated_view(story, folds, "no_format_tracker")]
    assert answers(ExecutorAgent(), [whole])[0].answer.isupper()
    assert not answers(ExecutorAgent(), [ungated], gate=False)[0].answer.isupper()
    assert not answers(ExecutorAgent(), [unformatted])[0].answer.isupper()


def test_of_equally_specific_sentences_the_newer_wins_and_a_first_capital_is_not_specific() -> None:
    messages = [Message(0, "user", "Go to Lisbon."), Message(1, "user", "Go to Porto."), Message(2, "user", "Please go on.")]
    [found] = ExtractiveSummariser().summarise([(Summary(), messages)], words=3)
    assert found.lines == ((1, "Go to Porto."),)


SPECIFIC = [
    ("We need 3 beds", 1),
    ("at 18:30 in room B2", 2),  # a figure anywhere in a word, and a word with both counts once
    ("take bus n5", 1),
    ("Lisbon it is", 0),  # every sentence begins with a capital
    ("3 of them", 0),
    ("from Oslo to Ghent, the 4th", 3),
    ("all of it", 0),
    ("", 0),
]


@pytest.mark.parametrize(("sentence", "count"), SPECIFIC)
def test_how_specific_a_sentence_is(sentence: str, count: int) -> None:
    assert _specific(sentence) == count
