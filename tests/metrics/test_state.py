"""Turn metrics on the hand-written house, where every number can be worked on paper."""

from __future__ import annotations

import pytest

from intentfold.intent import IntentState
from intentfold.metrics.state import fold_records, measure, rejections
from intentfold.runtime.episodes import track, track_forced
from intentfold.runtime.roles import Completion
from intentfold.runtime.scripted import null_backend, oracle_backend
from intentfold.runtime.tracker import Fold, read_fold
from tests.episodes import house, small_house

RIGHT = (
    "ADD city: Porto\nADD pool: yes",
    "DELETE #2\nADD guests: 3",
    "ADD garden: yes\nADD conclusion [#1] beds: 3",
    "REPLACE #1: Lisbon",
    "DELETE #4",
    "NONE",
)


def folds(*texts: str) -> list[Fold]:
    """A tracker's own run that prints these texts."""
    found, state = [], IntentState()
    for text in texts:
        found.append(read_fold(state, Completion(text, 1, len(text.split()), True)))
        state = found[-1].state
    return found


def run(*, but: dict[int, str] | None = None) -> dict[str, tuple[float, float]]:
    """The house's metrics where the tracker prints the right thing `but` at some turns."""
    texts = [(but or {}).get(n, text) for n, text in enumerate(RIGHT)]
    return measure(house(), folds(*texts))


def test_a_perfect_run() -> None:
    found = run()
    for metric, (count, size) in found.items():
        if metric.endswith(("precision", "recall", "f1")) or metric.startswith("exact"):
            assert count == size, metric
    assert found["exact_state"] == (6, 6)
    assert found["item_f1"] == (4, 4)
    assert (found["add_recall"], found["replace_recall"], found["delete_recall"]) == ((5, 5), (1, 1), (2, 2))
    # Porto, the pool and the garden were right and went.
    assert found["obsolete_retention"] == (0, 3)
    assert found["wrong_slot"] == (0, 6)
    assert found["dangling_conclusions"] == (0, 1)
    assert found["recovery"] == (0, 0)
    assert "exact_edits" not in found


def test_a_missed_deletion_is_retained_and_never_recovered() -> None:
    found = run(but={1: "ADD guests: 3"})
    assert found["obsolete_retention"] == (1, 3)
    assert found["delete_recall"] == (1, 2)
    assert found["delete_precision"] == (1, 1)
    assert found["exact_state"] == (1, 6)
    assert found["recovery"] == (0, 4)
    assert found["recovered_items"] == (0, 4)
    assert found["item_f1"] == (4, 5)


def test_a_late_deletion_recovers() -> None:
    found = run(but={1: "ADD guests: 3", 5: "DELETE #2"})
    assert found["exact_final_state"] == (1, 1)
    assert found["recovery"] == (1, 4)
    assert found["recovered_items"] == (1, 4)
    # The oracle deleted it earlier: that edit counts as missed there, and as spurious here.
    assert found["delete_recall"] == (1, 2)
    assert found["delete_precision"] == (1, 2)


def test_a_value_bound_to_the_wrong_slot() -> None:
    found = run(but={3: "REPLACE #3: Lisbon"})
    assert found["wrong_slot"] == (1, 6)
    assert found["replace_precision"] == (0, 1)
    assert found["obsolete_retention"] == (1, 3)


def test_a_conclusion_that_rests_on_nothing_dangles() -> None:
    found = run(but={2: "ADD garden: yes\nADD conclusion beds: 3"})
    # It holds at its own turn; from the change of city on it does not.
    assert found["dangling_conclusions"] == (3, 4)
    assert found["exact_state"] == (2, 6)


def test_rejections_and_their_reasons() -> None:
    texts = ["DELETE #9\nrubbish\nADD city: Porto\nADD pool: yes", "DELETE #12\nADD guests: 3"]
    assert measure_sum(texts, "rejected_per_turn") == (3, 6)
    assert rejections(folds(*texts)) == {"# is not active": 2, "not an edit": 1}


def measure_sum(texts: list[str], metric: str) -> tuple[float, float]:
    return measure(house(), folds(*texts, *["NONE"] * (6 - len(texts))))[metric]


def test_forced_folds_start_from_the_oracles_state() -> None:
    episodes = [house(), small_house()]
    oracle, null = oracle_backend(episodes), null_backend()
    own, forced = track(episodes, oracle), track_forced(episodes, oracle)
    assert [fold.state for fold in own[0]] == [turn.state for turn in episodes[0].turns]
    assert measure(episodes[0], own[0], forced[0])["exact_edits"] == (6, 6)
    idle = measure(episodes[0], track(episodes, null)[0], track_forced(episodes, null)[0])
    # Nothing is right only where nothing changes.
    assert idle["exact_edits"] == (1, 6)
    assert idle["exact_state"] == (0, 6)
    with pytest.raises(ValueError, match="episode house: expected 6 folds, got 3"):
        measure(house(), own[1])


def test_the_same_state_by_other_edits_is_no_exact_edit() -> None:
    episode = house()
    forced = [read_fold(before, Completion(text, 1, 1, True)) for before, text in zip(
        [IntentState(), *(turn.state for turn in episode.turns)],
        [*RIGHT[:3], "DELETE #1\nADD city: Lisbon", *RIGHT[4:]], strict=False)]  # fmt: skip
    found = measure(episode, folds(*RIGHT), forced)
    assert found["exact_edits"] == (5, 6)


def test_fold_records_show_where_it_went_wrong() -> None:
    records = list(fold_records([house()], [folds("ADD city: Porto\nADD pool: yes", "NONE", *["NONE"] * 4)]))
    assert [record["right"] for record in records] == [True, False, False, False, False, False]
    assert records[1]["oracle"] == "DELETE pool\nSET guests: 3"
    assert records[1]["wrote"] == "NONE"
