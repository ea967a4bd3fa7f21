"""The data scripts on small jobs: what they leave, that a kill changes no byte, and what bad input is told."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from intentfold.example import Example
from intentfold.mining.card import dataset_hash
from intentfold.records import read_jsonl, write_jsonl
from intentfold.trace import Episode, Rollout

ROOT = Path(__file__).parent.parent.parent
FAMILIES = '{"tools": 100, "sql": 40, "text": 60}'


def run(script: str, *flags: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "data_gen" / script, *map(str, flags)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment())


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.jsonl"))}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces") / "out"
    built = run("build_traces.py", "--out", folder, "--families", FAMILIES, "--seed", 3, "--workers", 1)
    assert built.returncode == 0, built.stderr
    return folder


def test_traces_are_split_by_origin_and_recorded(traces: Path) -> None:
    train, dev, test = (read_jsonl(traces / f"{split}.jsonl", Episode) for split in ("train", "dev", "test"))
    assert len(train) > 4 * len(test) > 0
    assert dev
    assert not {e.task.origin for e in train} & {e.task.origin for e in dev + test}
    assert {e.wording for e in train} == {"train"}
    assert {e.wording for e in test} == {"test"}
    assert {"config.yaml", "versions.json", "report.json"} <= {path.name for path in traces.iterdir()}


def test_a_killed_build_ends_with_the_same_bytes(traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "data_gen/build_traces.py", "--out", out, "--families", FAMILIES, "--seed", "3", "--workers", "2"]
    killed = 0
    for _ in range(3):
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        before = len(list(out.glob("shards/*.jsonl")))
        while process.poll() is None and len(list(out.glob("shards/*.jsonl"))) <= before and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed >= 1
    done = run("build_traces.py", "--out", out, "--families", FAMILIES, "--seed", 3, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert digests(out) == digests(traces)


def test_another_seed_in_the_same_folder_is_refused(traces: Path) -> None:
    again = run("build_traces.py", "--out", traces, "--families", FAMILIES, "--seed", 4)
    assert again.returncode != 0
    assert "seed was 3, is 4" in again.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--families", '{"tolls": 3}'], "unknown ['tolls']"),
        (["--families", '{"tools": 2.5}'], "families"),
        (["--families", FAMILIES, "--loads", "[2]"], "loads"),
        (["--benchmarks", '{"bfcl": 3}'], "need `data`"),
        (["--families", FAMILIES, "--pool", "mine"], "pool must be one of"),
        ([], "nothing to build"),
        (["--families", '{"tools": -5}'], "numbers of tasks must be at least 1"),
        (["--leak_budget", "1.5"], "leak_budget in [0, 1], got {}, 0, 0, 1.5"),
        (["--families", FAMILIES, "--held_out_families", '["toolz"]'], "['toolz'] are not built"),
        (["--families", FAMILIES, "--loads", "[]"], "loads must be some of 1, 3, 5"),
        (["--benchmarks", '{"nope": 3}', "--data", "."], "unknown ['nope']"),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, flags: list[str], said: str) -> None:
    result = run("build_traces.py", "--out", tmp_path / "out", *flags)
    assert result.returncode == 2, result.stderr
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


def test_examples_and_their_card(traces: Path, tmp_path: Path) -> None:
    out = tmp_path / "examples"
    mined = run("mine_examples.py", "--traces", traces, "--out", out, "--corrupted_share", 0.3)
    assert mined.returncode == 0, mined.stderr
    train = read_jsonl(out / "train.jsonl", Example)
    assert {example.provenance.mining for example in train} == {"oracle", "corrupted"}
    card = (out / "README.md").read_text(encoding="utf-8")
    assert dataset_hash(out) in card
    assert "apache-2.0" in card
    from datasets import load_dataset

    loaded = load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert loaded["train"].num_rows == len(train)


def test_failures_are_mined_beside_the_oracle(traces: Path, tmp_path: Path) -> None:
    episodes = read_jsonl(traces / "train.jsonl", Episode)[:5]
    rollouts = [Rollout(e.id, "base", "delta", ("NONE",) * len(e.turns), False, True) for e in episodes]
    write_jsonl(tmp_path / "rollouts.jsonl", rollouts)
    mined = run("mine_examples.py", "--traces", traces, "--out", tmp_path / "mixed", "--failures", tmp_path / "rollouts.jsonl")
    assert mined.returncode == 0, mined.stderr
    kinds = [example.provenance.mining for example in read_jsonl(tmp_path / "mixed" / "train.jsonl", Example)]
    assert kinds.count("failure") == sum(len(e.turns) for e in episodes)


def test_a_malformed_trace_is_set_aside_with_its_reason(traces: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    lines = (traces / "train.jsonl").read_text(encoding="utf-8").splitlines()
    broken = "\n".join([*lines[:3], '{"version": 1}', "not json", *lines[3:5], lines[0]]) + "\n"
    (bad / "train.jsonl").write_bytes(broken.encode() + b'{"id": "\xff\xfe"}\n')
    mined = run("mine_examples.py", "--traces", bad, "--out", tmp_path / "out", "--splits", "[train]")
    assert mined.returncode == 0, mined.stderr
    assert "4 bad lines" in mined.stdout
    quarantine = (tmp_path / "out" / "train.quarantine.jsonl").read_text(encoding="utf-8")
    assert '"line":4' in quarantine
    assert '"line":5' in quarantine
    assert "stands on line 1 already" in quarantine
    assert "xff" in quarantine
    assert "field id" in quarantine


def test_empty_traces_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("", encoding="utf-8")
    mined = run("mine_examples.py", "--traces", tmp_path, "--out", tmp_path / "out", "--splits", "[train]")
    assert mined.returncode != 0
    assert "no examples to write" in mined.stderr
