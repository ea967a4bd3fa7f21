"""Traces with a small model behind a real server in every role, end to end: build, judge, and say what was accepted.

    python scripts/served_traces.py [--model FOLDER] [--port N]

Starts scripts/serve_vllm.sh (`make install-vllm`), waits for it, runs data_gen/build_traces.py and data_gen/audit_traces.py with
their smollm2_served configs, and stops the server. What was answered is journaled: run again, and it goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from intentfold.stages import Stages

ROOT = Path(__file__).parent.parent
OUT = ROOT / "runs" / "served_small"
ROLES = {"build_traces": ("cast.decomposer", "cast.proposer", "cast.simulator"), "audit_traces": ("judge",)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="models/smollm2-135m-instruct", help="a folder of weights")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--wait", type=float, default=900.0, help="seconds to wait for the server")
    args = parser.parse_args()
    stages = Stages(ROOT)
    limits = ("--served-model-name", "smollm2", "--max-model-len", "4096", "--max-num-seqs", "8")
    with stages.serving("server", args.model, args.port, OUT / "server.log", *limits, wait=args.wait) as url:
        for script, roles in ROLES.items():
            where = [flag for role in roles for flag in (f"--{role}.base_url", url)]
            stages.run(script, f"data_gen/{script}", "smollm2_served", *where)
    made = json.loads((OUT / "traces" / "report.json").read_text(encoding="utf-8"))["construction"]
    print(f"accepted: {made['accepted']}; {made['counts']}; usage: {made['usage']}")


if __name__ == "__main__":
    main()
