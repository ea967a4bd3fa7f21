"""Nothing of a template stands outside its hash: whatever is rendered beside the data changes it."""

from __future__ import annotations

import re

import pytest

from intentfold.asset import AssetEdit, ContextualIntent, Fact, Quotation, Requirement, Situation
from intentfold.codec import asset_edits
from intentfold.dialogue import CorrectionStep, File, Observation, Output, Turn
from intentfold.prompts import assets, checker

X = "§"
OUTPUT = Output(X, (Observation(X, {X: X}, X),), (File(X, X),))
DIALOGUE = (Turn("user", X), Turn("assistant", X), Turn("system", X), Turn("user", X))
PARTS = (Requirement(2, X), Fact(3, X, Quotation(X, X)))
INTENT = ContextualIntent(1, X, (PARTS[0],), (PARTS[1],))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The text that each call of a template hash covers."""
    seen: list[str] = []
    for module in (checker, assets):
        monkeypatch.setattr(module, "content_hash", lambda text: seen.append(text) or "hash")
    return seen


def test_every_word_of_the_checkers_prompt_is_hashed(hashed: list[str]) -> None:
    checker.checker_template_hash()
    for part in PARTS:
        for turn in checker.checker_prompt(DIALOGUE, OUTPUT, INTENT, part):
            assert set(re.findall(r"[\w.]+|->|[=(]", turn.content)) - {X} <= set(re.findall(r"[\w.]+|->|[=(]", hashed[0]))


def test_every_word_of_the_learners_prompt_is_hashed(hashed: list[str]) -> None:
    assets.learner_template_hash()
    step = CorrectionStep(OUTPUT, X, OUTPUT, {"h:0": X, "h:1": X})
    first = CorrectionStep(OUTPUT, X, OUTPUT, {"h:0": X})
    for one, context in ((step, True), (step, False), (first, True)):
        for turn in assets.learner_prompt(Situation(), one, context=context):
            # `empty` is how no assets are written: the version of those lines stands for it.
            assert set(re.findall(r"[\w.]+|->|=", turn.content)) - {X, "empty"} <= set(re.findall(r"[\w.]+|->|=", hashed[0]))


PIECES = [
    (checker, name, value)
    for name, value in (
        ("SYSTEM", "Judge."),
        ("_WHY", "Reason: {explanation}"),
        ("_KINDS", {Fact: "Known", Requirement: "Wanted"}),
        ("_QUOTATION", " ({words})"),
        ("_QUESTION", "{text}"),
        ("VERDICTS", {"met": "yes", "unmet": "no", "not_applicable": "void"}),
    )
] + [
    (assets, name, value)
    for name, value in (("LEARN", "Learn."), ("_LEARN", "{assets}"), ("_FIRST", "-"), ("_HIDDEN", "-"), ("LINES", "2"))
]


@pytest.mark.parametrize(("module", "name", "value"), PIECES, ids=[name for _, name, _ in PIECES])
def test_each_piece_changes_the_hash(monkeypatch: pytest.MonkeyPatch, module, name: str, value) -> None:
    identity = checker.checker_template_hash if module is checker else assets.learner_template_hash
    before = identity()
    monkeypatch.setattr(module, name, value)
    assert identity() != before


@pytest.mark.parametrize("place", range(len(checker.TRUNK)))
def test_each_piece_of_a_trunk_changes_both(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    before = checker.checker_template_hash(), assets.learner_template_hash()
    other = (*checker.TRUNK[:place], "another", *checker.TRUNK[place + 1 :])
    monkeypatch.setattr(checker, "TRUNK", other)
    monkeypatch.setattr(assets, "TRUNK", other)
    assert checker.checker_template_hash() != before[0]
    assert assets.learner_template_hash() != before[1]


def test_how_assets_and_edits_are_written_is_that_of_the_version() -> None:
    """Whoever changes these lines changes `LINES` in codec/asset_edits.py, and then this test."""
    edits = (
        AssetEdit("INTENT", text="why"),
        AssetEdit("REQUIRE", -1, "what"),
        AssetEdit("FACT", 1, "it | is", "said"),
        AssetEdit("EXPLAIN", 1, "why"),
        AssetEdit("REVISE", 2, "what"),
        AssetEdit("WITHDRAW", 3),
    )
    written = (asset_edits.encode_asset_edits(edits), asset_edits.encode_asset_edits(()))
    shown = (asset_edits.situation_lines(Situation("d", (INTENT,), 4)), asset_edits.situation_lines(Situation()))
    assert (asset_edits.LINES, written, shown) == (
        "1",
        (
            "INTENT: why\nREQUIRE +1: what\nFACT 1: it \\| is || said\nEXPLAIN 1: why\nREVISE 2: what\nWITHDRAW 3",
            "NONE",
        ),
        ("1 intent: §\n2 requirement: §\n3 fact: § || §", "empty"),
    )
