"""Traces with a small model behind a real server in every role, end to end: build, judge, and say what was accepted.

    python scripts/served_traces.py [--model FOLDER] [--port N]

Starts scripts/serve_vllm.sh (`make install-vllm`), waits for it, runs data_gen/build_traces.py and data_gen/audit_traces.py with
their smollm2_served configs, and stops the server. What was answered is journaled: run again, and it goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "runs" / "served_small"


def wait_for(url: str, server: subprocess.Popen[bytes], seconds: float) -> None:
    """Until the server lists its models. Raises `SystemExit` where it ends before, or takes longer."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise SystemExit(f"the server ended with code {server.returncode}; see {OUT / 'server.log'}")
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise SystemExit(f"the server did not answer within {seconds:.0f} s; see {OUT / 'server.log'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="models/smollm2-135m-instruct", help="a folder of weights")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--wait", type=float, default=900.0, help="seconds to wait for the server")
    args = parser.parse_args()
    url = f"http://localhost:{args.port}/v1"
    OUT.mkdir(parents=True, exist_ok=True)
    serve = ["scripts/serve_vllm.sh", args.model, str(args.port), "--served-model-name", "smollm2"]
    with (OUT / "server.log").open("ab") as log:
        command = [*serve, "--max-model-len", "4096", "--max-num-seqs", "8"]
        server = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        wait_for(url, server, args.wait)
        for script in ("build_traces", "audit_traces"):
            flags = [f"data_gen/{script}.py", "--config", f"configs/data_gen/{script}/smollm2_served.yaml"]
            roles = ("cast.decomposer", "cast.proposer", "cast.simulator") if script == "build_traces" else ("judge",)
            flags += [flag for role in roles for flag in (f"--{role}.base_url", url)]
            subprocess.run([sys.executable, *flags], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    finally:
        server.terminate()
        server.wait()
    made = json.loads((OUT / "traces" / "report.json").read_text(encoding="utf-8"))["construction"]
    print(f"accepted: {made['accepted']}; {made['counts']}; usage: {made['usage']}")


if __name__ == "__main__":
    main()
