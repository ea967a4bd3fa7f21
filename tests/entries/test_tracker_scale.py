"""Tracker scale with scripted trackers of known quality: the verdicts come out right."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from intentfold.graders import Grade, grade
from intentfold.metrics.cases import Bench
from intentfold.records import write_jsonl
from intentfold.runtime.journal import Journal
from tests.episodes import house
from tests.pages import check_page
from tests.served import chat_server
from tests.tiny import script

main = script("eval/tracker_scale.py").main
LAPSE = {"kind": "lapsing", "rate": 0.01}


def numbered_house(number: int):
    """Turns that name their house: no two episodes share a prompt."""
    story = house(f"house-{number}")
    return replace(story, turns=tuple(replace(turn, user=f"{turn.user} (house {number})") for turn in story.turns))


def write_config(folder: Path, cases: int, **changes: object) -> Path:
    write_jsonl(folder / "episodes.jsonl", map(numbered_house, range(cases)))
    config = {
        "episodes": str(folder / "episodes.jsonl"),
        "out": str(folder / "run"),
        "reference": "reference",
        "trackers": {
            "reference": {**LAPSE, "seed": 1},
            "other_seed": {**LAPSE, "seed": 2},
            "under_trained": {"kind": "lapsing", "rate": 0.4, "seed": 3},
            "oracle": {"kind": "oracle"},
        },
        "margin": 0.1,
        **changes,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def rows(folder: Path) -> dict[str, dict]:
    return {row["tracker"]: row for row in json.loads((folder / "run" / "results.json").read_text())}


def test_the_verdicts_where_the_truth_is_known(tmp_path) -> None:
    enough, few = tmp_path / "enough", tmp_path / "few"
    enough.mkdir()
    few.mkdir()
    sizes = {"other_seed": 0.1, "reference": 122.0}
    prices = {"reference": {"input": 1.0, "output": 10.0}}
    main(["--config", str(write_config(enough, 200, sizes=sizes, prices=prices, pairs={"up": ["oracle", "under_trained"]}))])
    main(["--config", str(write_config(few, 10))])
    found, early = rows(enough), rows(few)
    assert found["other_seed"]["verdict"] == "equivalent"
    assert found["other_seed"]["mean_score"] < 1.0
    assert early["other_seed"]["verdict"] == "inconclusive"
    # Ten cases know that they are few.
    assert early["other_seed"]["needed_n"] > 10
    assert early["other_seed"]["mde"] > 0.1
    assert early["other_seed"]["power"] < 0.5
    assert found["other_seed"]["mde"] < found["other_seed"]["margin"] == 0.1
    assert found["under_trained"]["verdict"] == "inferior"
    assert found["under_trained"]["mcnemar_p"] < 0.001
    assert found["under_trained"]["state"]["exact_state"] < found["other_seed"]["state"]["exact_state"] < 1.0
    assert found["oracle"]["mean_score"] == 1.0
    assert found["oracle"]["verdict"] in ("superior", "equivalent")
    assert found["reference"]["difference"] == 0.0
    assert {row["protocol"] for row in found.values()} == {"unified re-run"}
    # 1,200 folds; tokens of canned texts are words.
    assert found["reference"]["seconds_per_turn"] > 0
    assert found["reference"]["cost"] > 0
    assert 0 < found["reference"]["latency_p50"] <= found["reference"]["latency_p95"]
    assert (found["reference"]["in_flight"], found["reference"]["busy"]) == (None, None)
    assert found["other_seed"]["cost"] is None
    assert json.loads((enough / "run" / "comparisons.json").read_text())["up"]["verdict"] == "superior"
    page = (enough / "run" / "report.html").read_text()
    assert "<th>p50</th><th>p95</th><th>server full / busy</th>" in page
    assert "reference (122B)" in page
    assert "under_trained against reference: the first is worse" in page
    assert "Worst cases" in page
    assert check_page(enough / "run" / "report.html").tags.count("svg") == 1


def test_a_run_that_is_started_again_keeps_its_numbers(tmp_path) -> None:
    config = write_config(tmp_path, 12)
    main(["--config", str(config)])
    before = (tmp_path / "run" / "results.json").read_bytes()
    # As a kill in the middle leaves it: a part of the completions, and a line cut short.
    journal = tmp_path / "run" / "completions.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    main(["--config", str(config)])
    assert (tmp_path / "run" / "results.json").read_bytes() == before
    journal.write_bytes(b"".join(lines[:40]) + lines[40][:9])
    main(["--config", str(config)])
    after = rows(tmp_path)
    timeless = [(row["mean_score"], row["difference"], row["needed_n"], row["decode_tokens"]) for row in after.values()]
    assert timeless == [(r["mean_score"], r["difference"], r["needed_n"], r["decode_tokens"]) for r in json.loads(before)]
    keys = [json.loads(line)[0] for line in journal.read_text().splitlines()]
    assert len(keys) == len(set(keys)) == len(lines)


def test_a_served_tracker_is_reported_with_its_latencies_and_the_servers_load(tmp_path) -> None:
    with chat_server(lambda body: "NONE") as (url, requests):
        trackers = {"reference": {"kind": "openai", "base_url": url, "model": "m"}, "oracle": {"kind": "oracle"}}
        main(["--config", str(write_config(tmp_path, 4, trackers=trackers, batch_size=2))])
    assert len(requests) == 24
    row = rows(tmp_path)["reference"]
    assert 0 < row["in_flight"] <= row["busy"] < 1
    assert 0 < row["latency_p50"] <= row["latency_p95"]
    assert f"{row['in_flight']:.0%} / {row['busy']:.0%}" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("unlucky", ["oracle", "reference"])
def test_a_tracker_without_a_graded_case_is_a_row_of_nothing(tmp_path, monkeypatch, unlucky) -> None:
    run = Bench.run

    def unjudged(self, name, *rest, **options):
        if name == unlucky:
            self.grades, self.grade = Journal(tmp_path / "none.jsonl"), lambda task, answer: Grade(None, False, "no judge")
        cases = run(self, name, *rest, **options)
        self.grades, self.grade = Journal(tmp_path / "others.jsonl"), grade
        return cases

    monkeypatch.setattr(Bench, "run", unjudged)
    trackers = {"reference": {"kind": "oracle"}, "oracle": {"kind": "oracle"}, "null": {"kind": "null"}}
    pairs = {"up": ["oracle", "null"], "down": ["null", "reference"]}
    main(["--config", str(write_config(tmp_path, 6, trackers=trackers, pairs=pairs))])
    lost = rows(tmp_path)[unlucky]
    assert (lost["coverage"], lost["mean_score"], lost["difference"], lost["verdict"], lost["n"]) == (0.0, None, None, None, 0)
    assert rows(tmp_path)["null"]["verdict"] == ("inferior" if unlucky == "oracle" else None)
    page = (tmp_path / "run" / "report.md").read_text()
    assert "oracle against reference: nothing to compare" in page
    assert f"graded on both sides: {'up' if unlucky == 'oracle' else 'down'}." in page


BAD = [
    ({"reference": "bogus"}, "reference: expected trackers among"),
    ({"pairs": {"p": ["oracle", "bogus"]}}, "pairs.p: expected trackers among"),
    ({"prices": {"oracle": {"input": 1.0}}}, "output"),
    ({"trackers": {"reference": {"kind": "lapsing"}}}, "rate: a model of kind lapsing needs it"),
    ({"agent": {"kind": "lapsing", "rate": 0.1}}, "agent: a lapsing tracker answers nothing else"),
    ({"margin": 0.0}, "margin between 0 and 1"),
    ({"margin": float("nan")}, "margin between 0 and 1"),
    ({"margin": float("inf")}, "margin between 0 and 1"),
    ({"trackers": {"reference": {"kind": "oracle"}, "clean": {"kind": "oracle"}}}, "trackers: ['clean'] already stand"),
    ({"trackers": {"reference": {"kind": "oracle"}, "a/b": {"kind": "oracle"}}}, "trackers: a name is made of letters"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_arguments_end_before_any_work(tmp_path, capsys, changes, message) -> None:
    with pytest.raises(SystemExit):
        main(["--config", str(write_config(tmp_path, 2, **changes))])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_real_weights_cut_and_sampled(tmp_path) -> None:
    pytest.importorskip("torch")
    from intentfold.models import save_cut
    from tests.tiny import tiny_model

    whole = str(tiny_model(tmp_path / "whole", layers=4))
    cut = str(save_cut(Path(whole), tmp_path / "cut", 2))
    trackers = {
        "whole": {"base": whole},
        "cut": {"base": cut},
        "seed1": {"base": whole, "temperature": 1.0, "seed": 1},
        "seed2": {"base": whole, "temperature": 1.0, "seed": 2},
    }
    pairs = {"seeds": ["seed1", "seed2"]}
    main(["--config", str(write_config(tmp_path, 2, trackers=trackers, reference="whole", max_tokens=4, pairs=pairs))])
    found = rows(tmp_path)
    assert set(found) == set(trackers)
    assert all(row["verdict"] == "inconclusive" and row["cpu_seconds_per_turn"] > 0 for row in found.values())
    wrote = {name: (tmp_path / "run" / f"folds.{name}.jsonl").read_text() for name in trackers}
    # The cut of untrained weights may write what the whole ones do; the samples may not.
    assert len({wrote["whole"], wrote["seed1"], wrote["seed2"]}) == 3
