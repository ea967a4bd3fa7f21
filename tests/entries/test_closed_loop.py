"""The closed loop as a script: what it leaves, and that a kill loses nothing and repeats nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from intentfold.metrics.report import METRICS
from intentfold.prompts.stamp import Stamp, StampError, write_stamp
from intentfold.prompts.templates import template_hash
from intentfold.prompts.tracker import WINDOW
from intentfold.records import write_jsonl
from tests.episodes import house, small_house
from tests.tiny import script

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "eval" / "closed_loop.py"


@pytest.fixture(scope="module")
def main():
    spec = importlib.util.spec_from_file_location("closed_loop_under_test", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.main


def write_config(folder: Path, **changes: object) -> Path:
    write_jsonl(
        folder / "episodes.jsonl", [*(house(f"house-{n}") for n in range(4)), *(small_house(f"small-{n}") for n in range(2))]
    )
    config = {
        "episodes": str(folder / "episodes.jsonl"),
        "out": str(folder / "run"),
        "arms": {"oracle": {"kind": "oracle"}, "nothing": {"kind": "null"}},
        "comparisons": {"gain": ["oracle", "nothing"]},
        **changes,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def rows(folder: Path) -> dict[tuple[str, str, str], dict]:
    found = json.loads((folder / "run" / "results.json").read_text())
    assert all(
        set(row) == {"arm", "condition", "metric", "mean", "low", "high", "n", "agent", "protocol", "judge"} for row in found
    )
    return {(row["arm"], row["condition"], row["metric"]): row for row in found}


def test_scripted_trackers_and_controls(main, tmp_path) -> None:
    main(["--config", str(write_config(tmp_path))])
    found = rows(tmp_path)
    means = {key: row["mean"] for key, row in found.items()}
    metrics = {metric.split(", ")[0] for arm, _, metric in found if arm != "-"}
    assert metrics - {"gain"} == set(METRICS)
    for condition in ("clean", "no_drift", "oracle_state"):
        assert means["-", condition, "car"] == 1.0
    assert means["-", "drift", "car"] == pytest.approx(1 / 3)
    assert means["-", "drift", "idg"] == pytest.approx(2 / 3)
    assert means["oracle", "tracker", "car"] == 1.0
    assert means["oracle", "tracker", "gap_closed"] == 1.0
    assert means["oracle", "tracker", "exact_edits"] == 1.0
    assert means["nothing", "tracker", "mean_score"] == 0.0
    assert means["oracle", "tracker", "gain"] == 1.0
    assert means["oracle", "tracker", "gain, exact_state"] == 1.0
    assert {row["agent"] for row in found.values()} == {"executor"}
    comparisons = json.loads((tmp_path / "run" / "comparisons.json").read_text())
    assert comparisons["gain"]["verdict"] == "superior"
    assert "state executor: no model" in (tmp_path / "run" / "report.md").read_text()
    assert len((tmp_path / "run" / "cases.jsonl").read_text().splitlines()) == 6 * 6


def test_a_bad_line_is_set_aside_and_counted(main, tmp_path) -> None:
    config = write_config(tmp_path)
    with (tmp_path / "episodes.jsonl").open("a") as file:
        file.write('{"version": 1}\n')
    main(["--config", str(config)])
    assert "1 bad lines set aside" in (tmp_path / "run" / "report.md").read_text()
    assert json.loads((tmp_path / "run" / "quarantine.jsonl").read_text())["line"] == 7


BAD = [
    ({"comparisons": {"gain": ["oracle", "opd"]}}, "comparisons.gain: expected two of the arms"),
    ({"arms": {"a": {"kind": "bogus"}}}, "bogus"),
    ({"arms": {"drift": {"kind": "oracle"}}, "comparisons": {}}, "arms: ['drift'] already stand for something else"),
    ({"arms": {"a/b": {"kind": "oracle"}}, "comparisons": {}}, "arms: a name is made of letters, digits and . + -, got ['a/b']"),
    ({"comparisons": {"oracle": ["oracle", "nothing"]}}, "comparisons: ['oracle'] already stand for something else"),
    ({"comparisons": {"car": ["oracle", "nothing"]}}, "comparisons: ['car'] already stand for something else"),
    ({"agent": {"kind": "null"}}, "agent: a null tracker answers nothing else, expected in_process or openai"),
    ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
    ({"dtype": "float64"}, "dtype"),
    ({"max_tokens": 2.5}, "max_tokens"),
    ({"windows": 1}, "windows"),
    ({"arms": {"a": {"base": "no/such/folder"}}, "comparisons": {}}, "arms.a: no/such/folder must be a folder with config.json"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_arguments_end_before_any_work(main, tmp_path, capsys, changes, message) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--config", str(write_config(tmp_path, **changes))])
    assert message in capsys.readouterr().err + str(end.value)
    assert not (tmp_path / "run").exists()


def test_a_killed_run_goes_on_and_ends_the_same(tmp_path) -> None:
    pytest.importorskip("torch")
    from tests.tiny import tiny_model

    base = str(tiny_model(tmp_path / "base"))
    outcomes = {}
    for name, killed in (("whole", False), ("killed", True)):
        folder = tmp_path / name
        folder.mkdir()
        # One row a batch, so that what a row is computed beside cannot change with where the run starts.
        config = write_config(folder, arms={"tiny": {"base": base}}, comparisons={}, batch_size=1, max_tokens=48)
        command = [sys.executable, str(SCRIPT), "--config", str(config)]
        journal = folder / "run" / "completions.jsonl"
        if killed:
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 240
            while not (journal.is_file() and journal.stat().st_size):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert not (folder / "run" / "results.json").exists()
            assert journal.stat().st_size
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        keys = [json.loads(line)[0] for line in journal.read_text().splitlines()]
        assert len(keys) == len(set(keys))
        outcomes[name] = ((folder / "run" / "results.json").read_bytes(), sorted(keys))
    assert outcomes["whole"] == outcomes["killed"]


@pytest.mark.parametrize("path", ["eval/closed_loop.py", "eval/conditions.py"])
@pytest.mark.parametrize(("trained", "window", "what"), [(WINDOW, 0, "the whole history"), (None, 3, "a window")])
def test_a_tracker_trained_on_another_view_is_refused_before_any_work(tmp_path, path, trained, window, what) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    for folder, name in ((tmp_path, "config.json"), (adapter, "adapter_config.json")):
        (folder / name).write_text("{}")
    write_stamp(adapter, Stamp("tracker", template_hash("delta", trained)))
    models = json.dumps({"small": {"base": str(tmp_path), "adapter": str(adapter)}})
    flags = [f"--episodes={tmp_path}/none.jsonl", f"--out={tmp_path}/out", f"--window={window}"]
    flags.append(f"--{'arms' if 'closed' in path else 'trackers'}={models}")
    with pytest.raises(StampError, match=f"asked as a tracker with codec delta, {what}"):
        script(path).main(flags)
    assert not (tmp_path / "out").exists()
