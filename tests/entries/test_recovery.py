"""The recovery scripts on small jobs: what they leave, that a kill changes no number, and what bad input is told."""

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

from intentfold.example import Example
from intentfold.records import read_jsonl, write_jsonl
from intentfold.runtime.backends import Backends
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.scripted import CannedBackend
from intentfold.trace import Episode
from intentfold.trajectory import read_trajectories
from tests.pages import check_page
from tests.trajectories import journey, mug

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "eval" / "intention_recovery.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def main():
    spec = importlib.util.spec_from_file_location("intention_recovery_under_test", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.main


def run(script: str, *flags: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / script, *map(str, flags)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT)


COUNTS = '{"train": 12, "dev": 2, "test": 8}'


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trajectories") / "out"
    done = run("data_gen/build_trajectories.py", "--out", folder, "--trajectories", COUNTS, "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert '"paper": {' in done.stdout
    return folder


def test_trajectories_are_split_by_origin_and_reported(built: Path) -> None:
    parts = {split: read_trajectories(built / f"{split}.jsonl") for split in ("train", "dev", "test")}
    report = json.loads((built / "report.json").read_text())
    assert {"shop, test", "trip, test"} < set(report["mix"])
    assert sum(map(len, parts.values())) + sum(report["left"].values()) == 2 * 22
    train, test = ({t.origin for t in parts[split]} for split in ("train", "test"))
    assert train
    assert not train & test
    assert {t.wording for t in parts["test"]} == {"test"}
    assert [e.id for e in read_jsonl(built / "episodes" / "test.jsonl", Episode)] == [t.id for t in parts["test"]]


def test_the_same_arguments_build_the_same_bytes(built: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert run("data_gen/build_trajectories.py", "--out", again, "--trajectories", COUNTS, "--seed", 3).returncode == 0
    for name in ("train.jsonl", "test.jsonl", "episodes/train.jsonl"):
        assert (again / name).read_bytes() == (built / name).read_bytes()
    refused = run("data_gen/build_trajectories.py", "--out", again, "--trajectories", COUNTS, "--seed", 4)
    assert "seed was 3, is 4" in refused.stderr


def test_trackers_train_on_them(built: Path, tmp_path: Path) -> None:
    done = run("data_gen/mine_examples.py", "--traces", built / "episodes", "--out", tmp_path / "examples")
    assert done.returncode == 0, done.stderr
    examples = read_jsonl(tmp_path / "examples" / "train.jsonl", Example)
    assert {e.provenance.family for e in examples} == {"shop", "trip"}
    assert any("REPRIORITIZE" in e.completion for e in examples)


def write_config(folder: Path, **changes: object) -> Path:
    write_jsonl(folder / "trajectories.jsonl", [*(mug(f"shop-{n}") for n in range(4)), *(journey(f"trip-{n}") for n in range(3))])
    config = {
        "trajectories": str(folder / "trajectories.jsonl"),
        "out": str(folder / "run"),
        "arms": {"oracle": {"kind": "oracle"}, "none": {"kind": "null"}},
        "comparisons": {"range": ["oracle", "none"]},
        **changes,
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def rows(folder: Path) -> dict[tuple[str, str, str], dict]:
    found = json.loads((folder / "run" / "results.json").read_text())
    assert all(set(row) == {"arm", "domain", "condition", "metric", "mean", "low", "high", "n", "agent"} for row in found)
    return {(row["arm"], row["domain"], row["metric"]): row for row in found}


def test_the_oracle_recovers_all_and_nothing_recovers_nothing(main, tmp_path, capsys) -> None:
    main(["--config", str(write_config(tmp_path))])
    means = {key: row["mean"] for key, row in rows(tmp_path).items()}
    for domain in ("shop", "trip"):
        for metric in ("intention_recovery", "precision", "priority_accuracy", "hard_success", "intention_coverage"):
            assert means["oracle", domain, metric] == 1.0
        assert means["oracle", domain, "action_score"] == pytest.approx(means["oracle", domain, "reference_score"])
        assert means["none", domain, "intention_recovery"] == 0.0
        assert means["none", domain, "precision"] is None
    assert means["oracle", "shop", "obsolete_retention"] == 0.0
    assert means["none", "trip", "hard_success"] == 0.0  # the cheapest stay is no entire home
    assert means["oracle", "shop", "range, intention_recovery"] == 1.0
    assert {row["agent"] for row in rows(tmp_path).values()} == {"scripted actor"}
    assert "| shop | intention_recovery | 0.000" in capsys.readouterr().out
    check_page(tmp_path / "run" / "report.html")
    assert "actor: scripted, no model" in (tmp_path / "run" / "report.html").read_text()
    assert len((tmp_path / "run" / "turns.jsonl").read_text().splitlines()) == 2 * (4 * 5 + 3 * 2)


class FlakyJudge:
    """Knows the right pairs of equal lines; the endpoint is down for some questions, and some answers are nonsense."""

    name = "flaky"

    def complete(self, prompts, max_tokens):
        found = {}
        for number, prompt in enumerate(prompts):
            predicted, gold = (part.split("\n") for part in prompt[-1].content.removeprefix("Predicted:\n").split("\nGold:\n"))
            said = {line.partition(" ")[2]: line.partition(" ")[0] for line in gold}
            pairs = [f"{p.partition(' ')[0]}-{said[p.partition(' ')[2]]}" for p in predicted if p.partition(" ")[2] in said]
            if number % 7 != 3:
                found[number] = Completion("hm" if number % 7 == 5 else "\n".join(pairs) or "NONE", 1, 1, True)
        raise BackendError("down", found)


def test_a_judge_that_fails_leaves_those_turns_ungraded_and_the_rest_unchanged(main, tmp_path, monkeypatch) -> None:
    (tmp_path / "rule").mkdir()
    main(["--config", str(write_config(tmp_path / "rule"))])
    make = Backends.make
    monkeypatch.setattr(
        Backends, "make", lambda self, model, *rest: FlakyJudge() if model.model == "j" else make(self, model, *rest)
    )
    judge = {"kind": "openai", "base_url": "http://judge", "model": "j"}
    (tmp_path / "judged").mkdir()
    main(["--config", str(write_config(tmp_path / "judged", judge=judge))])
    ruled, judged = rows(tmp_path / "rule"), rows(tmp_path / "judged")
    key = ("oracle", "shop", "intention_coverage")
    assert judged[key]["mean"] < ruled[key]["mean"] == 1.0
    for fault in ("api", "evaluator"):
        assert any(judged["oracle", domain, f"intention faults, {fault}"]["mean"] > 0 for domain in ("shop", "trip"))
    for metric in ("intention_recovery", "precision", "priority_accuracy"):
        assert judged["oracle", "shop", metric]["mean"] == 1.0
    assert judged["oracle", "shop", "hard_success"] == ruled["oracle", "shop", "hard_success"]
    # Nothing predicted is not asked about: no judge can fail on it.
    assert judged["none", "shop", "intention_recovery"] == ruled["none", "shop", "intention_recovery"]


def test_a_tracker_is_not_its_own_judge(main, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Backends, "make", lambda *_: CannedBackend({}, name="same", otherwise="NONE"))
    model = {"kind": "openai", "base_url": "http://one", "model": "m"}
    with pytest.raises(ValueError, match="must not be the tested agent itself"):
        main(["--config", str(write_config(tmp_path, judge=model))])


BAD = [
    ({"comparisons": {"gain": ["oracle", "opd"]}}, "comparisons.gain: expected two of the arms"),
    ({"judge": {"kind": "oracle"}}, "judge: a oracle tracker answers nothing else"),
    ({"max_tokens": 2.5}, "max_tokens"),
    ({"comparisons": {"oracle": ["oracle", "nothing"]}}, "comparisons: ['oracle'] already stand for something else"),
    ({"arms": {"a/b": {"kind": "oracle"}}, "comparisons": {}}, "arms: a name is made of letters"),
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
        config = write_config(folder, arms={"tiny": {"base": base}}, comparisons={}, batch_size=1, max_tokens=32)
        command = [sys.executable, str(SCRIPT), "--config", str(config)]
        journal = folder / "run" / "completions.jsonl"
        if killed:
            process = subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 300
            while not (journal.is_file() and journal.stat().st_size):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert not (folder / "run" / "results.json").exists()
        subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        keys = [json.loads(line)[0] for line in journal.read_text().splitlines()]
        assert len(keys) == len(set(keys))
        outcomes[name] = ((folder / "run" / "results.json").read_bytes(), sorted(keys))
    assert outcomes["whole"] == outcomes["killed"]
