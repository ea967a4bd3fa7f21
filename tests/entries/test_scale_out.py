"""One build in parts and on a Ray cluster that loses a worker: the bytes are those of a build by one process."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from intentfold.construct.build import Plan, Source
from intentfold.records import canonical_json, to_json, write_text
from tests.entries.test_data_gen import ROOT, digests, environment, run
from tests.tiny import script

FAMILIES = '{"tools": 100, "sql": 40, "text": 60}'
WHAT = ("--families", FAMILIES, "--seed", 3)
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: it is the extra `ray`")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "out"
    built = run("build_traces.py", "--out", folder, *WHAT, "--workers", 1)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    for part in (1, 2, 3):
        built = run("build_traces.py", "--out", folder / str(part), "--part", f"{part}/3", *WHAT, "--workers", 1)
        assert built.returncode == 0, built.stderr
        assert not list((folder / str(part)).glob("*.jsonl")), "a part alone is no dataset"
    return [folder / str(part) for part in (1, 2, 3)]


def merged(parts: list[Path], out: Path) -> subprocess.CompletedProcess[str]:
    return run("merge_traces.py", "--parts", json.dumps(list(map(str, parts))), "--out", out)


def test_parts_merged_in_any_order_are_the_whole(whole: Path, parts: list[Path], tmp_path: Path) -> None:
    done = merged([parts[2], parts[0], parts[1]], tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert digests(tmp_path / "out") == digests(whole)
    assert (tmp_path / "out" / "report.json").read_bytes() == (whole / "report.json").read_bytes()


def test_a_part_that_is_missing_or_another_build_is_named(parts: list[Path], tmp_path: Path) -> None:
    lacking = merged(parts[:2], tmp_path / "lacking")
    assert lacking.returncode != 0
    assert "2 of 8 shards are missing (2, 5)" in lacking.stderr
    other = tmp_path / "other"
    other.mkdir()
    (other / "plan.json").write_text((parts[2] / "plan.json").read_text().replace('"seed":3', '"seed":4'))
    foreign = merged([*parts[:2], other], tmp_path / "foreign")
    assert foreign.returncode != 0
    assert f"{other}/plan.json says" in foreign.stderr


@pytest.mark.parametrize(
    ("name", "text"), [("versions.json", None), ("versions.json", "{}"), ("versions.json", "[1]"), ("plan.json", "{")]
)
def test_a_part_whose_record_is_damaged_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    damaged = tmp_path / "damaged"
    write_text(damaged / "plan.json", canonical_json(to_json(Plan((Source("tools", 4),), (1,), 0))))
    write_text(damaged / "versions.json", '{"revision": "r"}')
    if text is None:
        (damaged / name).unlink()
    else:
        write_text(damaged / name, text)
    with pytest.raises(SystemExit, match=re.escape(f"{damaged / name}: ")):
        script("data_gen/merge_traces.py").main(["--parts", json.dumps([str(damaged)]), "--out", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("part", ["0/3", "4/3", "1", "x/2"])
def test_a_part_is_i_of_n(tmp_path: Path, part: str) -> None:
    refused = run("build_traces.py", "--out", tmp_path / "out", "--part", part, *WHAT)
    assert refused.returncode == 2
    assert f"part must be I/N with 1 <= I <= N, got {part}" in refused.stderr.replace("'", "")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with (tmp_path / "cluster.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.ray_cluster"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT,
            env={**environment(), "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"},
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        yield process
        process.stdin.close()
        process.wait(timeout=120)
        process.stdout.close()


@needs_ray
def test_a_cluster_that_loses_a_worker_builds_the_same_bytes(whole: Path, cluster: subprocess.Popen[str], tmp_path: Path) -> None:
    assert cluster.stdin is not None and cluster.stdout is not None
    address = next((line.split()[1] for line in cluster.stdout if line.startswith("address ")), None)
    assert address is not None, (tmp_path / "cluster.log").read_text()
    out = tmp_path / "out"
    command = [sys.executable, "data_gen/build_traces.py", "--out", out, "--ray", address, *WHAT]
    with (tmp_path / "build.log").open("w") as log:
        build = subprocess.Popen(list(map(str, command)), cwd=ROOT, env=environment(), stdout=log, stderr=log)
        deadline = time.monotonic() + 300
        while build.poll() is None and not list(out.glob("shards/0000?.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.05)
        before = len(list(out.glob("shards/0000?.jsonl")))
        cluster.stdin.write("kill\n")
        cluster.stdin.flush()
        assert "killed" in next(line for line in cluster.stdout)
        said = (tmp_path / "build.log").read_text
        assert build.wait(timeout=400) == 0, said()
    assert 1 <= before < 8, "the worker was killed within the build"
    assert digests(out) == digests(whole), said()
