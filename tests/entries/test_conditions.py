"""The harnesses as a script: every condition on the same cases, and that a flaky judge or a kill changes no number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from intentfold.graders import Grade, grade
from intentfold.metrics.cases import Bench
from intentfold.records import write_jsonl
from intentfold.runtime.episodes import control_view
from intentfold.runtime.journal import Journal
from intentfold.runtime.scripted import ExecutorAgent
from tests.episodes import house, small_house
from tests.pages import check_page
from tests.tiny import script

main = script("eval/conditions.py").main


def write_config(folder: Path, **changes: object) -> Path:
    write_jsonl(folder / "episodes.jsonl", [*(house(f"house-{n}") for n in range(4)), *(small_house(f"s-{n}") for n in range(2))])
    config = {
        "episodes": str(folder / "episodes.jsonl"),
        "out": str(folder / "run"),
        "trackers": {"delta": {"kind": "oracle"}, "full": {"kind": "oracle"}},
        "codecs": {"full": "full"},
        "budget": {"words": 20, "keep": 2, "summary_words": 12},
        "comparisons": {"gain": ["delta", "drift"], "codecs": ["delta", "full"], "gate": ["delta-no_gate", "delta"]},
        **changes,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def test_every_condition_on_the_same_cases(tmp_path) -> None:
    config = write_config(tmp_path)
    main(["--config", str(config)])
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    rows = {(row["arm"], row["condition"], row["metric"]): row for row in found}
    assert {row["protocol"] for row in found} == {"general-test"}
    # The two small houses fit the budget as they are.
    for condition, share in (("recap", 1.0), ("summarize", 2 / 3), ("compact", 2 / 3)):
        assert rows["-", condition, "mean_score"]["n"] == 6
        assert rows["-", condition, "compressed"]["mean"] == pytest.approx(share)
        # Of the four houses each has one superseded value; a kept history holds it beside its replacement.
        assert rows["-", condition, "superseded_kept"]["n"] == 4
    assert rows["-", "drift", "superseded_kept"]["mean"] == 1.0
    for arm in ("delta", "full"):
        for ablation in ("tracker", "no_invalidation", "no_format_tracker", "no_gate", "state_only"):
            assert rows[arm, ablation, "mean_score"]["mean"] == 1.0
    # The full codec writes the state, the delta codec the changes.
    assert rows["full", "tracker", "decode_tokens"]["mean"] > rows["delta", "tracker", "decode_tokens"]["mean"]
    comparisons = json.loads((tmp_path / "run" / "comparisons.json").read_text())
    assert comparisons["gain"]["mean"] == pytest.approx(2 / 3)
    assert comparisons["codecs"]["mean"] == 0.0
    assert "extractive" in (tmp_path / "run" / "report.md").read_text()
    check_page(tmp_path / "run" / "report.html")
    before = {name: (tmp_path / "run" / name).read_bytes() for name in ("results.json", "report.html", "cases.jsonl")}
    main(["--config", str(config)])
    assert before == {name: (tmp_path / "run" / name).read_bytes() for name in before}


BAD = [
    *(
        ({"trackers": {name: {"kind": "oracle"}}, "codecs": {}, "comparisons": {}}, f"trackers: [{name!r}] already stand")
        for name in ("drift", "recap", "no_gate", "tracker")
    ),
    (
        {"trackers": {"a": {"kind": "oracle"}, "a-no_gate": {"kind": "oracle"}}, "codecs": {}, "comparisons": {}},
        "trackers: ['a-no_gate'] already stand",
    ),
    ({"trackers": {"a/b": {"kind": "oracle"}}, "codecs": {}, "comparisons": {}}, "trackers: a name is made of letters"),
    ({"comparisons": {"gain": ["delta", "bogus"]}}, "comparisons.gain: expected two of"),
    ({"codecs": {"other": "full"}}, "codecs: expected some of the trackers"),
    ({"agent": {"base": "x"}, "summariser": {"kind": "oracle"}}, "summariser: a oracle tracker answers nothing else"),
    ({"summariser": {"base": "x"}}, "reads no summary that a model wrote"),
    ({"budget": {"words": 0}}, "words"),
    ({"ablations": ["no_brakes"]}, "no_brakes"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_arguments_end_before_any_work(tmp_path, capsys, changes, message) -> None:
    with pytest.raises(SystemExit):
        main(["--config", str(write_config(tmp_path, **changes))])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_judge_that_fails_leaves_its_cases_ungraded_and_the_rest_as_they_were(tmp_path) -> None:
    episodes = [house(f"h{n}") for n in range(20)]
    views = [control_view(episode, "clean", executor=True) for episode in episodes]
    calls = []

    def flaky(task, answer):
        calls.append(task.id)
        return Grade(None, False, "judge failed") if task.id == "h7" and len(calls) < 25 else grade(task, answer)

    def run() -> dict:
        bench = Bench(episodes, ExecutorAgent(), Journal(tmp_path / "grades.jsonl"), "general-test", flaky)
        bench.run("clean", "-", "clean", views)
        return {row.metric: row for row in bench.rows if row.condition == "clean"}

    first = run()
    assert (first["coverage"].mean, first["mean_score"].n, first["mean_score"].mean) == (0.95, 19, 1.0)
    assert first["car"].mean == 0.95
    assert (first["car_bounds"].low, first["car_bounds"].high) == (0.95, 1.0)
    # Started again, only what has no grade is asked for.
    run()
    assert calls[20:] == ["h7"]


def test_the_report_is_written_anew_from_the_logs(tmp_path, capsys) -> None:
    main(["--config", str(write_config(tmp_path, trackers={"delta": {"kind": "null"}}, codecs={}, comparisons={}))])
    page = tmp_path / "run" / "report.html"
    before = page.read_bytes()
    assert b"Worst cases" in before
    page.unlink()
    report = script("eval/report.py").main
    report(["--run", str(tmp_path / "run")])
    assert page.read_bytes() == before
    with pytest.raises(SystemExit, match=r"with about\.json"):
        report(["--run", str(tmp_path)])
