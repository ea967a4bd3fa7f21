"""Intent assets: edits, quotations, merging; tables worked by hand."""

from __future__ import annotations

import pytest

from intentfold.asset import (
    AssetEdit,
    AssetError,
    Assets,
    ContextualIntent,
    Fact,
    Quotation,
    Requirement,
    Situation,
    describe,
    fold_asset,
    intents_of,
    merge,
    source_of,
)
from intentfold.records import from_json, to_json

MESSAGES = {"h:0": "Write my review of the styler.", "h:1": "I haven't timed this styler. Use [My time] for now."}
TIMING = ContextualIntent(
    1,
    "Claims come from the user's own use.",
    (Requirement(2, "Timing uses [My time]."), Requirement(3, "No hype.")),
    (Fact(4, "The styler is untimed.", Quotation("I haven't timed this styler.", "h:1")),),
    ("h:1",),
)
BEFORE = Situation("", (TIMING,), 5, ("h",))


def texts(situation: Situation) -> list[tuple[str, list[str]]]:
    return [(intent.explanation, [part.text for part in intent.parts]) for intent in situation.intents]


def test_what_the_feedback_does_not_contradict_stays() -> None:
    edits = (
        AssetEdit("EXPLAIN", 1, "Claims come from own use, and mornings matter."),
        AssetEdit("REQUIRE", 1, "A routine is named."),
        AssetEdit("INTENT", text="Sponsors are disclosed."),
        AssetEdit("REQUIRE", -1, "The last line is the disclosure."),
        AssetEdit("FACT", -1, "There is no timing.", "timed this styler"),
    )
    after, rejected = fold_asset(BEFORE, edits, MESSAGES)
    assert rejected == ()
    assert texts(after) == [
        (
            "Claims come from own use, and mornings matter.",
            ["Timing uses [My time].", "No hype.", "A routine is named.", "The styler is untimed."],
        ),
        ("Sponsors are disclosed.", ["The last line is the disclosure.", "There is no timing."]),
    ]
    assert after.intents[1].facts[0].quotation == Quotation("timed this styler", "h:1")
    assert after.next_id == 9
    assert after.intents[0].sources == ("h:1",)


REJECTED = [
    (AssetEdit("REQUIRE", 2, "x"), "no intent has the id 2"),
    (AssetEdit("REVISE", 9, "x"), "no requirement or fact has the id 9"),
    (AssetEdit("REVISE", 4, "x"), "a fact keeps the user's words"),
    (AssetEdit("WITHDRAW", 1), "no requirement or fact has the id 1"),
    (AssetEdit("REQUIRE", 1, "  "), "needs words"),
    (AssetEdit("REQUIRE", 1, "no HYPE"), "the intent has this requirement"),
    (AssetEdit("FACT", 1, "the styler is untimed", "timed"), "the intent has this fact"),
    (AssetEdit("REQUIRE", -1, "x"), "no intent has the id 0"),
    (AssetEdit("INTENT", text="alone"), "an intent needs a requirement or a fact"),
]


@pytest.mark.parametrize(("edit", "reason"), REJECTED)
def test_an_edit_that_cannot_be_applied_is_skipped_alone(edit: AssetEdit, reason: str) -> None:
    after, rejected = fold_asset(BEFORE, (edit, AssetEdit("REQUIRE", 1, "Kept.")), MESSAGES)
    assert [reason in one.reason for one in rejected] == [True]
    assert texts(after) == [(TIMING.explanation, ["Timing uses [My time].", "No hype.", "Kept.", "The styler is untimed."])]


def test_a_rejected_intent_does_not_lend_its_place_to_the_next() -> None:
    edits = (AssetEdit("INTENT"), AssetEdit("INTENT", text="B"), AssetEdit("REQUIRE", -1, "a"), AssetEdit("REQUIRE", -2, "b"))
    after, rejected = fold_asset(Situation(), edits, MESSAGES)
    assert texts(after) == [("B", ["b"])]
    assert [one.what for one in rejected] == ["INTENT 0", "REQUIRE -1"]


def test_a_withdrawn_requirement_goes_and_an_emptied_intent_with_it() -> None:
    after, rejected = fold_asset(BEFORE, (AssetEdit("WITHDRAW", 3), AssetEdit("REVISE", 2, "Timing is never claimed.")), MESSAGES)
    assert rejected == ()
    assert texts(after) == [(TIMING.explanation, ["Timing is never claimed.", "The styler is untimed."])]
    gone, rejected = fold_asset(after, (AssetEdit("WITHDRAW", 2), AssetEdit("WITHDRAW", 4)), MESSAGES)
    assert (gone.intents, rejected, gone.next_id) == ((), (), 5)


QUOTATIONS = [
    ("I haven't timed this styler.", "h:1"),
    ("styler", "h:1"),  # the latest message that holds it
    ("my review", "h:0"),
    ("I haven't timed this styler!", None),  # one character off
    ("I haven’t timed this styler.", None),  # another apostrophe
    ("i haven't timed this styler.", None),
    ("I haven't  timed", None),
    ("", None),
    (" ", None),
    ("styler. I haven't", None),  # across two messages
]


@pytest.mark.parametrize(("words", "source"), QUOTATIONS)
def test_a_quotation_must_be_verbatim_or_the_whole_update_is_rejected(words: str, source: str | None) -> None:
    assert source_of(words, MESSAGES) == source
    edits = (AssetEdit("REQUIRE", 1, "New."), AssetEdit("FACT", 1, "Told.", words))
    after, rejected = fold_asset(BEFORE, edits, MESSAGES)
    if source is None:
        assert after == BEFORE
        assert "not verbatim" in rejected[0].reason
    else:
        assert after.intents[0].facts[-1].quotation == Quotation(words, source)
        assert rejected == ()


def test_excerpts_of_requests_must_be_verbatim() -> None:
    found = describe(BEFORE, "Reviews of stylers", {"h:0": MESSAGES["h:0"]}, ["my review"])
    assert found.excerpts == (Quotation("my review", "h:0"),)
    with pytest.raises(AssetError, match="'our review' is not verbatim"):
        describe(BEFORE, "", {"h:0": MESSAGES["h:0"]}, ["our review"])


def test_merging_keeps_sources_and_joins_what_says_the_same() -> None:
    same = ContextualIntent(
        7,
        "claims come from the user's own use",
        (Requirement(9, "no hype"), Requirement(8, "Timing uses [My time].")),
        (Fact(10, "the styler is untimed", Quotation("untimed", "g:2")),),
        ("g:2",),
    )
    other = ContextualIntent(1, "Prices are looked up.", (Requirement(2, "The price is exact."),), (), ("g:1",))
    merged = merge(
        Situation("a", (TIMING,), 5, ("h",), (Quotation("my review", "h:0"),)),
        Situation("b", (same, other), 11, ("g",), (Quotation("a review", "g:0"),)),
        "both",
    )
    assert merged.description == "both"
    assert merged.sources == ("h", "g")
    assert [e.source for e in merged.excerpts] == ["h:0", "g:0"]
    assert [(i.id, i.sources, [part.id for part in i.parts]) for i in merged.intents] == [
        (1, ("h:1", "g:2"), [2, 3, 4]),
        (5, ("g:1",), [6]),
    ]
    assert merged.next_id == 7


def test_selected_intents_have_ids_of_their_own() -> None:
    other = Situation("", (ContextualIntent(1, "Other.", (Requirement(2, "x"),)),), 3)
    assert [intent.id for intent in intents_of([BEFORE, other])] == [1, 5]


def test_a_situation_refuses_doubled_ids() -> None:
    with pytest.raises(AssetError, match="must be unique"):
        Situation("", (TIMING, TIMING), 9)
    with pytest.raises(AssetError, match="below the counter 4"):
        Situation("", (TIMING,), 4)


def test_assets_survive_writing() -> None:
    assets = Assets("ann", 3, (BEFORE,))
    assert from_json(Assets, to_json(assets)) == assets
