"""scripts/gpu_check.sh: what can be held without a GPU and without a registry. The check itself runs with --cpu, by hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.tiny import ROOT, script


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "scripts" / "gpu_check.sh"), *arguments]
    return subprocess.run(command, env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True, check=False)


def test_it_says_what_it_takes(tmp_path):
    done = run("--gpu")
    assert (done.returncode, done.stderr) == (2, "expected nothing, --pack or --cpu, got --gpu\n")
    done = run("--cpu", "--pack", str(tmp_path / "none"))
    assert done.returncode == 1
    assert "none: no pack here: scripts/gpu_check.sh --pack makes it" in done.stderr


def test_it_packs_the_versions_that_the_tests_run_with():
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    pinned = {re.sub("[-_.]+", "-", name).lower(): version for name, version in pinned.items()}
    packed = dict(wheel.split("==") for wheel in script("scripts/gpu_check.py").WHEELS)
    assert {name: pinned[name] for name in packed} == packed
