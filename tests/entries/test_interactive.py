"""The interactive track from source tasks to results: scripted, and with served roles that fail and come back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from intentfold.prompts import rubric_judge, simulator
from intentfold.records import read_jsonl, write_jsonl
from intentfold.trace import Episode
from tests.served import chat_server
from tests.services import episodes, record, written
from tests.tiny import script

KEYS = {"arm", "condition", "metric", "mean", "low", "high", "n", "agent", "protocol", "judge"}


def results(out: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows = json.loads((out / "results.json").read_text())
    assert all(set(row) == KEYS for row in rows)
    return {(row["arm"], row["condition"], row["metric"]): row for row in rows}


def test_from_source_tasks_to_results_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path / "data", *(record(str(n)) for n in range(3)))
    pool = ["--pool", "interactive_test", "--pool_tasks", "3", "--data", str(data), "--workers", "1", "--loads", "[1, 3, 5]"]
    built = tmp_path / "pool"
    script("data_gen/build_traces.py").main(["--out", str(built), "--benchmarks", '{"vitabench": 5}', *pool])
    found = read_jsonl(built / "test.jsonl", Episode)
    assert [episode.load for episode in found] == [1, 3, 5]
    assert not any(stale.verified for episode in found for stale in episode.stale)
    assert not (built / "train.jsonl").read_text()
    out = tmp_path / "out"
    more = [
        "--trackers",
        '{"oracle": {"kind": "oracle"}, "none": {"kind": "null"}}',
        "--comparisons",
        '{"gain": ["oracle", "none"]}',
    ]
    script("eval/interactive.py").main(["--episodes", str(built / "test.jsonl"), "--out", str(out), *more])
    rows = results(out)
    means = {(arm, condition): row["mean"] for (arm, condition, metric), row in rows.items() if metric == "mean_score"}
    exact = [("-", "clean"), ("-", "oracle_state"), ("oracle", "tracker"), ("none", "tracker")]
    assert [means[one] for one in exact] == [1.0, 1.0, 1.0, 0.0]
    assert means["-", "drift"] < 1.0 and ("-", "drift_restated, diagnostic") in means
    row = rows["-", "drift", "mean_score"]
    assert (row["agent"], row["judge"]) == ("scripted agent (no model)", "scripted: the benchmark's own orders")
    assert json.loads((out / "comparisons.json").read_text())["gain"]["mean"] == 1.0
    assert "a diagnostic, no result" in (out / "report.html").read_text()
    assert len((out / "runs.jsonl").read_text().splitlines()) == 3 * 6
    assert "mean_score" in capsys.readouterr().out


class Roles:
    """One server in every role; `broken` is a role that is refused for now."""

    def __init__(self) -> None:
        self.asked, self.broken = Counter[str](), ""

    def __call__(self, body: dict[str, Any]) -> str | int:
        system = body["messages"][0]["content"]
        role = {rubric_judge.SYSTEM: "judge", simulator.SYSTEM: "simulator"}.get(system, "agent")
        if role == self.broken:
            return 400
        self.asked[role] += 1
        last = body["messages"][-1]["content"]
        if role == "simulator":
            return last.rpartition("Say: ")[2]
        if role == "judge":
            return "MET" if body["model"] == "judge" else "?"
        return "no action" if "expected a JSON object" not in last and body["seed"] == 1 else '{"reply": "Yes."}'


def test_served_roles_are_counted_lost_and_resumed(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "episodes.jsonl", episodes(tmp_path, 2))
    play = script("eval/interactive.py").main
    roles, out = Roles(), tmp_path / "out"
    with chat_server(roles) as (url, _):
        models = {
            "agent": {"kind": "openai", "base_url": url, "model": "agent", "temperature": 0.7, "seed": 1},
            "simulator": {"kind": "openai", "base_url": url, "model": "user"},
            "judge": {"kind": "openai", "base_url": url, "model": "judge"},
        }
        said = [part for role, model in models.items() for part in (f"--{role}", json.dumps(model))]
        args = ["--episodes", str(tmp_path / "episodes.jsonl"), "--out", str(out), "--runs", "2", *said]
        roles.broken = "judge"
        play(args)
        rows = results(out)
        assert rows["-", "drift", "mean_score"]["n"] == 0 and rows["-", "drift", "coverage"]["mean"] == 0.0
        assert rows["-", "drift", "ungraded, judge"]["mean"] == 1.0, "a judge that fails is nobody's grade, and counted"
        assert rows["-", "drift", "car"]["mean"] == 0.0
        asked = roles.asked.copy()
        roles.broken = ""
        play(args)
        assert (roles.asked["agent"], roles.asked["simulator"]) == (asked["agent"], asked["simulator"]), "all from the journal"
        rows = results(out)
        assert rows["-", "drift", "mean_score"]["mean"] == 1.0 and ("-", "drift", "ungraded, judge") not in rows
        assert rows["-", "drift", "avg@2"]["mean"] == 1.0
        assert rows["-", "clean", "malformed"]["mean"] == 0.5, "of two seeds one wrote no action first"
        assert rows["-", "clean", "rounds"]["mean"] == 1.5
        whole = roles.asked.copy()
        play(args)
        assert roles.asked == whole and results(out) == rows

        roles.broken, other = "simulator", tmp_path / "other"
        play([*args[:2], "--out", str(other), *args[4:]])
        assert results(other)["-", "drift", "ungraded, simulator"]["mean"] == 1.0


def test_an_agent_that_plays_its_own_judge_is_refused_unless_told(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "episodes.jsonl", episodes(tmp_path, 1))
    play = script("eval/interactive.py").main
    with chat_server(Roles()) as (url, _):
        same = {"kind": "openai", "base_url": url, "model": "judge"}
        args = ["--episodes", str(tmp_path / "episodes.jsonl"), "--judge", json.dumps(same)]
        args += ["--agent", json.dumps({**same, "temperature": 0.5, "seed": 3})]
        with pytest.raises(ValueError, match="judge: must not be the tested agent itself"):
            play([*args, "--out", str(tmp_path / "a")])
        play([*args, "--out", str(tmp_path / "b"), "--allow_shared", "true"])
        assert results(tmp_path / "b")["-", "clean", "mean_score"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (["--runs", "2"], "runs: 2 runs of an agent that does not sample are one"),
        (["--comparisons", '{"x": ["drift", "nobody"]}'], "comparisons.x: expected two of"),
        (["--limits.steps", "0"], "limits.steps must be at least 1"),
        (["--judge", '{"kind": "oracle"}'], "judge: a oracle tracker answers nothing else"),
        (["--agent", '{"kind": "in_process", "base": "x"}', "--trackers", '{"o": {"kind": "oracle"}}'], "trackers.o: a oracle"),
    ],
)
def test_what_makes_no_sense_is_refused(change: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        script("eval/interactive.py").main(["--episodes", "x", "--out", "y", *change])
    assert ended.value.code == 2 and fault in capsys.readouterr().err
