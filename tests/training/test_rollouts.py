"""Lanes: which folds a step holds, and from which state."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from intentfold.codec.edits import encode_edits
from intentfold.intent import Edit, IntentState, canonical
from intentfold.records import write_jsonl
from intentfold.training.preflight import PreflightError
from intentfold.training.rollouts import Dialogues, LaneOrder, Rollout, fold_rows, load_lanes, oracle_before, oracle_folds
from intentfold.training.weighting import Reading
from tests.episodes import episode as build
from tests.episodes import table_task
from tests.tiny import tiny_episodes

EPISODES = tiny_episodes(6, turns=4)


def rollout(own_state_share: float) -> Rollout:
    return Rollout(EPISODES, codec="delta", window=3, own_state_share=own_state_share, seed=0)


def test_lanes_go_through_episodes_turn_by_turn():
    turns = [3, 5, 2, 4]
    rows = [(episode, turn) for episode, count in enumerate(turns) for turn in range(count)]
    order = list(LaneOrder(turns, lanes=3, width=1, steps=40, repeat=2, seed=0))
    assert len(order) == 3 * 40 * 2
    steps = [[rows[index] for index in order[start : start + 6]] for start in range(0, len(order), 6)]
    for step, after in itertools.pairwise(steps):
        assert step[:3] == step[3:]
        for (episode, turn), (next_episode, next_turn) in zip(step[:3], after[:3], strict=True):
            last = turn == turns[episode] - 1
            assert next_turn == 0 if last else (next_episode, next_turn) == (episode, turn + 1)
    assert {episode for step in steps for episode, _ in step} == {0, 1, 2, 3}
    assert len({turn for _, turn in steps[0][:3]}) > 1, "the first step should not hold first turns alone"


def test_an_episode_is_passed_over_until_it_enters():
    turns, enters = [2, 3, 2, 2], [0, 10, 0, 20]
    rows = [(episode, turn) for episode, count in enumerate(turns) for turn in range(count)]
    settings = {"lanes": 2, "width": 1, "steps": 60, "repeat": 1, "seed": 0}
    order = [rows[index] for index in LaneOrder(turns, enters=enters, **settings)]
    for step in range(60):
        begun = {episode for episode, turn in order[2 * step : 2 * step + 2] if turn == 0}
        assert all(enters[episode] <= step for episode in begun)
    first = {episode: next(place // 2 for place, (e, _) in enumerate(order) if e == episode) for episode in range(4)}
    assert 10 <= first[1] < 20 <= first[3] < 35
    assert list(LaneOrder(turns, **settings)) == list(LaneOrder(turns, enters=[0] * 4, **settings))
    with pytest.raises(ValueError, match="no episode enters at step 0, the first does at 10"):
        LaneOrder(turns, enters=[10, 10, 30, 20], **settings)


def test_a_stale_load_enters_with_its_step(tmp_path):
    loads = [1, 1, 3, 5, 5, 1]
    episodes = [replace(episode, load=load) for episode, load in zip(EPISODES, loads, strict=True)]
    settings = {"codec": "delta", "window": 3, "own_state_share": 0.5, "seed": 0}
    lanes = Rollout(episodes, load_enters={3: 4, 5: 8}, **settings)
    assert lanes.order(2, 5, 1, 0).enters == [0, 0, 4, 8, 8, 0]
    assert Rollout(episodes, **settings).enters == [0] * 6
    folds = lanes.begin([{"episode": e, "turn": 0, "branch": 0} for e in range(6)], 0, 0)
    assert lanes.finish(folds, ["NONE"] * 6)["load"] == [1.0, 1.0, 3.0, 5.0, 5.0, 1.0]
    write_jsonl(tmp_path / "train.jsonl", episodes)
    write_jsonl(tmp_path / "dev.jsonl", episodes)
    assert load_lanes(tmp_path, 3, branches=0, load_enters={3: 4, 5: 8}, **settings).source.enters == lanes.enters
    with pytest.raises(PreflightError, match=r"that enter at step 0: 3 rows are fewer than one optimizer step takes \(4\)"):
        load_lanes(tmp_path, 4, branches=0, load_enters={3: 4, 5: 8}, **settings)


def test_the_share_of_own_states_goes_from_start_to_end():
    settings = {"codec": "delta", "window": 3, "seed": 0}
    lanes = Rollout(EPISODES, own_state_share=0.8, own_state_share_start=0.0, steps=5, **settings)
    assert [lanes.share(step) for step in range(6)] == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 0.8])
    assert Rollout(EPISODES, own_state_share=0.8, steps=5, **settings).share(0) == 0.8
    assert Rollout(EPISODES, own_state_share=0.8, own_state_share_start=0.0, steps=1, **settings).share(0) == 0.0

    def owned(start: float, end: float, step: int) -> list[bool]:
        lanes = Rollout(EPISODES, own_state_share=end, own_state_share_start=start, steps=101, **settings)
        lanes.finish(lanes.begin([{"episode": e, "turn": 0, "branch": 0} for e in range(6)], step - 1, 0), ["NONE"] * 6)
        folds = lanes.begin([{"episode": e, "turn": 1, "branch": 0} for e in range(6)], step, 0)
        assert lanes.finish(folds, ["NONE"] * 6)["own_state_share"] == [lanes.share(step)] * 6
        return [fold.own for fold in folds]

    assert owned(0.0, 1.0, 1).count(True) <= 1
    assert owned(0.0, 1.0, 100) == [True] * 6
    # The same draws: a state that is the student's own early on is so later.
    early, late = owned(0.0, 1.0, 50), owned(0.9, 0.9, 50)
    assert all(b for a, b in zip(early, late, strict=True) if a) and late.count(True) > early.count(True)


def test_a_fold_is_read_by_line_and_by_what_it_costs():
    start = IntentState()
    steps = [
        ("The city is Porto.", (Edit("ADD", slot="city", value="Porto"),), "Noted."),
        ("For 3 guests.", (Edit("ADD", slot="guests", value="3"),), "Noted."),
        ("Not Porto: the city is Lisbon.", (Edit("REPLACE", id=1, value="Lisbon"),), ""),
    ]
    episode = build(table_task(), "three", *steps)
    outputs = ["SET city: Porto", "SET city: Rome", "SET city: Porto\nSET pool: yes\nhm", "NONE"]
    for graded, outcomes in ((True, ["exact", "passed", "failed", "passed"]), (False, ["exact", "wrong", "wrong", "wrong"])):
        lanes = Rollout([episode], codec="delta", window=3, own_state_share=0.0, seed=0, graded=graded)
        [fold] = lanes.begin([{"episode": 0, "turn": 0, "branch": 0}], 0, 0)
        assert fold.state == start
        readings = lanes.readings([fold] * 4, outputs)
        assert [reading.outcome for reading in readings] == outcomes
        assert [reading.operations for reading in readings] == [("ADD",), ("ADD",), ("ADD", "ADD", "REJECTED"), ("NONE",)]
    whole = Rollout([episode], codec="full", window=3, own_state_share=0.0, seed=0)
    assert whole.readings(whole.begin([{"episode": 0, "turn": 0, "branch": 0}], 0, 0), ["NONE"]) == [Reading("wrong")]


def test_branches_are_not_graded():
    episodes = tiny_episodes(2, turns=3, branches=1)
    lanes = Rollout(episodes, codec="delta", window=3, own_state_share=1.0, seed=0, branches=1, graded=True)
    [_, branch] = lanes.begin([{"episode": 0, "turn": 0, "branch": b} for b in (0, 1)], 0, 0)
    assert lanes.readings([branch], ["SET city: Atlantis"])[0].outcome == "wrong"


def test_rows_are_folds():
    rows = fold_rows(EPISODES, 0)
    assert rows[4:6] == [{"episode": 1, "turn": 0, "branch": 0}, {"episode": 1, "turn": 1, "branch": 0}]
    assert len(rows) == 24
    assert fold_rows(EPISODES, 2)[13:15] == [{"episode": 1, "turn": 0, "branch": 1}, {"episode": 1, "turn": 0, "branch": 2}]


def test_a_step_holds_each_lane_with_its_branches():
    rows = fold_rows(EPISODES, 2)
    order = list(LaneOrder([4] * 6, lanes=2, width=3, steps=5, repeat=1, seed=0))
    for start in range(0, len(order), 3):
        lane = [rows[index] for index in order[start : start + 3]]
        assert [row["branch"] for row in lane] == [0, 1, 2]
        assert len({(row["episode"], row["turn"]) for row in lane}) == 1


def test_branches_start_where_their_lane_does_and_move_it_nowhere():
    episodes = tiny_episodes(2, turns=3, branches=1)
    lanes = Rollout(episodes, codec="delta", window=3, own_state_share=1.0, seed=0, branches=1)
    folds = lanes.begin([{"episode": 0, "turn": 0, "branch": b} for b in (0, 1)], 0, 0)
    lanes.finish(folds, ["ADD mood: gloomy", "ADD mood: cheerful"])
    main, other = lanes.begin([{"episode": 0, "turn": 1, "branch": b} for b in (0, 1)], 1, 0)
    assert main.state == other.state
    assert [item.value for item in other.state.items] == ["gloomy"]
    assert main.prompt()[1]["content"].splitlines()[:-1] == other.prompt()[1]["content"].splitlines()[:-1]
    assert other.episode.turns[-1].user == episodes[0].turns[1].branches[0].user
    with pytest.raises(ValueError, match="branches: 2 asked for, a turn has 1"):
        Rollout(episodes, codec="delta", window=3, own_state_share=1.0, seed=0, branches=2)


def test_right_outputs_lead_along_the_oracle_states():
    lanes = rollout(1.0)
    for turn in range(4):
        folds = lanes.begin([{"episode": e, "turn": turn, "branch": 0} for e in range(6)], step=turn, rank=0)
        assert [fold.own for fold in folds] == [turn > 0] * 6
        seen = lanes.finish(folds, [fold.completion() for fold in folds])
        assert seen["exact"] == [1.0] * 6
        assert seen["rejected"] == [0.0] * 6
    for lane, episode in enumerate(EPISODES):
        assert canonical(lanes.reached[lane].state) == canonical(episode.final_state)


def test_from_a_wrong_own_state_the_right_edits_repair_what_is_in_sight():
    lanes = rollout(1.0)
    first = lanes.begin([{"episode": 0, "turn": 0, "branch": 0}], step=0, rank=0)
    seen = lanes.finish(first, ["ADD mood: gloomy\nnonsense"])
    assert seen["exact"] == [0.0]
    assert seen["rejected"] == [1.0]
    (second,) = lanes.begin([{"episode": 0, "turn": 1, "branch": 0}], step=1, rank=0)
    assert second.own
    assert [item.text for item in second.state.items] == ["mood: gloomy"]
    missed = {edit.slot for edit in (*EPISODES[0].turns[0].edits, *EPISODES[0].turns[1].edits)}
    assert {edit.slot for edit in second.right if edit.op == "ADD"} == missed
    assert "mood: gloomy" in second.prompt()[1]["content"]
    assert encode_edits(second.right, second.state) in second.privileged_prompt()[1]["content"]
    assert encode_edits(second.right, second.state) not in second.prompt()[1]["content"]


def test_the_share_of_own_states_is_kept_and_repeats():
    def draws(seed: int) -> list[bool]:
        lanes = Rollout(EPISODES, codec="delta", window=3, own_state_share=0.3, seed=seed)
        own = []
        for step in range(200):
            lanes.finish(lanes.begin([{"episode": 0, "turn": 0, "branch": 0}], 2 * step, 0), ["NONE"])
            own.append(lanes.begin([{"episode": 0, "turn": 1, "branch": 0}], 2 * step + 1, 0)[0].own)
        return own

    assert sum(draws(0)) == pytest.approx(60, abs=25)
    assert draws(0) == draws(0) != draws(1)


def test_without_an_own_state_a_lane_goes_on_from_the_oracle():
    lanes = rollout(1.0)
    lanes.finish(lanes.begin([{"episode": 1, "turn": 0, "branch": 0}], 0, 0), ["NONE"])
    (fold,) = lanes.begin([{"episode": 0, "turn": 2, "branch": 0}], 1, 0)
    assert not fold.own
    assert fold.state == oracle_before(EPISODES[0], 2)
    assert lanes.from_oracle(fold) == fold


def test_lanes_are_saved_and_put_back():
    lanes, again = rollout(1.0), rollout(1.0)
    lanes.finish(lanes.begin([{"episode": 0, "turn": 0, "branch": 0}], 0, 0), ["ADD mood: gloomy"])
    again.restore(json.loads(json.dumps(lanes.state())))
    row = [{"episode": 0, "turn": 1, "branch": 0}]
    assert again.begin(row, 1, 0) == lanes.begin(row, 1, 0)


def test_the_full_codec_reads_whole_states():
    (fold,) = [fold for fold in oracle_folds(EPISODES[:1], "full", 3) if fold.turn == 1]
    state, rejected = fold.read(fold.completion())
    assert rejected == 0
    assert fold.exact(state)
    assert not fold.exact(IntentState())


# Whole dialogues


def dialogues(own_state_share: float, branches: int = 0) -> Dialogues:
    episodes = tiny_episodes(6, turns=4, branches=branches)
    return Dialogues(episodes, codec="delta", window=None, own_state_share=own_state_share, seed=0, branches=branches)


def gone_through(source, rows, step=0, rank=0):
    """The waves of a step in which the student is always right."""
    waves = []
    wave = source.begin(rows, step, rank)
    while wave:
        waves.append(wave)
        source.finish(wave, [fold.completion() for fold in wave])
        wave = source.more()
    return waves


def test_a_step_holds_whole_dialogues():
    source = dialogues(0.0, branches=1)
    rows = source.rows()
    order = list(source.order(2, 3, 2, seed=0))
    assert len(order) == 2 * 3 * 2
    assert order[:2] == order[2:4]
    assert sorted({*order[0:2], *order[4:6], *order[8:10]}) == list(range(6))
    [wave] = gone_through(source, [rows[n] for n in order[:2]])
    assert [(fold.lane, fold.turn, fold.branch) for fold in wave] == list(itertools.product(range(2), range(4), range(2)))
    assert source.together(wave) == [0] * 8 + [1] * 8
    assert [fold.episode.id for fold in wave if not fold.branch] == [source.episodes[n].id for n in order[:2] for _ in range(4)]


def test_own_states_come_from_the_turn_before_wave_by_wave():
    source = dialogues(1.0)
    waves = gone_through(source, [{"episode": 0}, {"episode": 1}])
    assert [[(fold.lane, fold.turn, fold.own) for fold in wave] for wave in waves] == [
        [(lane, turn, turn > 0) for lane in range(2)] for turn in range(4)
    ]
    assert canonical(waves[3][1].state) == canonical(EPISODES[1].turns[2].state)
    # What the student writes is what the next turn finds.
    source.begin([{"episode": 0}, {"episode": 1}], 0, 0)
    source.finish(waves[0], ["ADD mood: gloomy", "NONE"])
    gloomy, none = source.more()
    assert [item.value for item in gloomy.state.items] == ["gloomy"]
    assert none.state == IntentState()
    assert gloomy.prompt()[1]["content"].startswith(f"User: {EPISODES[0].turns[0].user}\n")
    assert source.state() == {}


def test_with_shares_between_the_waves_are_few_and_drawn_alike():
    source = dialogues(0.5)
    rows = [{"episode": n} for n in range(6)]
    drawn = [
        [(fold.lane, fold.turn, fold.own) for wave in gone_through(source, rows, step) for fold in wave] for step in (0, 1, 0)
    ]
    assert drawn[0] == drawn[2] != drawn[1]
    assert {(lane, turn) for lane, turn, _ in drawn[0]} == set(itertools.product(range(6), range(4)))
    own = [own for _, turn, own in drawn[0] + drawn[1] if turn]
    assert 0.25 < sum(own) / len(own) < 0.75
    assert not any(own for _, turn, own in drawn[0] if not turn)
    assert gone_through(source, rows, 0, rank=1)[0] != gone_through(source, rows, 0, rank=0)[0]
