"""A run of several scripts, one after the other, each with a shipped config; what they cost in CPU time."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LAUNCH = ("-m", "accelerate.commands.launch", "--config_file", "accelerate_configs/cpu.yaml")


class ServerError(RuntimeError):
    """A server that a stage needs does not serve."""


class Stages:
    """Runs stages in the checkout `root`, each a process of its own; `spent` holds their CPU seconds by name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.spent: dict[str, float] = {}

    def run(self, name: str, script: str, config: str, *flags: str) -> None:
        """`<script>.py` with configs/<script>/<config>.yaml and flags that win over it; train/ through the launcher.

        Raises `CalledProcessError` where it fails.
        """
        launch = LAUNCH if script.startswith("train/") else ()
        self.start(name, *launch, f"{script}.py", "--config", f"configs/{script}/{config}.yaml", *flags)

    def start(self, name: str, *command: str) -> None:
        """Python with any other command line. Raises `CalledProcessError` where it fails."""
        print(f"\n== {name}: {' '.join(command)}", flush=True)
        before, started = _cpu_seconds(), time.monotonic()
        subprocess.run([sys.executable, *command], check=True, cwd=self.root, env=_environment())
        self.spent[name] = _cpu_seconds() - before
        print(f"== {name}: {self.spent[name] / 60:.1f} CPU-minutes, {(time.monotonic() - started) / 60:.1f} minutes", flush=True)

    @contextmanager
    def serving(self, name: str, model: str, port: int, log: Path, *flags: str, wait: float = 900.0) -> Iterator[str]:
        """The address of scripts/serve_vllm.sh with the weights in `model`, once it answers; stopped at the end.

        Raises `ServerError` where the port is taken, where the server ends before it answers, or does not within `wait` seconds.
        """
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                raise ServerError(f"port {port} is taken: stop what listens there, or name another port")
        log.parent.mkdir(parents=True, exist_ok=True)
        command = ["scripts/serve_vllm.sh", model, str(port), *flags]
        print(f"\n== {name}: {' '.join(command)}; its log is {log}", flush=True)
        with log.open("ab") as lines:
            server = subprocess.Popen(command, cwd=self.root, stdout=lines, stderr=lines)
        url = f"http://127.0.0.1:{port}/v1"
        try:
            _wait_for(url, server, log, wait)
            yield url
        finally:
            before = _cpu_seconds()
            server.terminate()
            server.wait()
            self.spent[name] = _cpu_seconds() - before

    def cost(self) -> str:
        """One line: CPU-minutes of the stages, their sum, and the most memory that one took."""
        costs = ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in self.spent.items())
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        return f"CPU-minutes: {costs}; together {sum(self.spent.values()) / 60:.1f}. Peak memory of a stage: {peak:.1f} GiB."


def steps_for_the_cpu_time_of(run: Path, of: Path) -> int:
    """How many optimizer steps of the finished run `of` cost the CPU time that the finished `run` took.

    A budget in steps: a run by steps ends the same after a kill, one by the clock does not.
    """
    budget, known = (json.loads((folder / "metrics.json").read_text(encoding="utf-8")) for folder in (run, of))
    return max(1, round(budget["cpu_seconds"] * known["steps"] / known["cpu_seconds"]))


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise ServerError(f"the server ended with code {server.returncode}, see {log}")
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise ServerError(f"the server did not answer within {seconds:.0f} s, see {log}")


def _environment() -> dict[str, str]:
    """Offline; threads sleep while they wait (spinning on a shared machine costs many times its use); freed memory is kept.

    The last is a training step's: given back to the system and taken anew, its large tensors cost an eighth of the step in
    page faults.
    """
    kept = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
    return {**os.environ, **kept, "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE", "TOKENIZERS_PARALLELISM": "false"}


def _cpu_seconds() -> float:
    """CPU time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
