"""The demo's distillation once more, with real vLLM servers as its teacher and as what samples: is the score the same?

    python scripts/served_demo.py      (after make install-vllm)

The demo up to its distillation → its teacher as a folder of weights → two servers: held against the weights in the process, then
the same distillation by them → both students on the same held-out cases. Killed and started again, it goes on where it was.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.stages import Stages

ROOT = Path(__file__).parent.parent
BASE, TEACHER = "models/smollm2-135m-instruct", "runs/scale/models/teacher"
LAYERS = 30  # all of them


@dataclass(frozen=True)
class Arguments:
    """What to run.

    Args:
        out: folder of the run
        teacher_port: of the server that scores
        rollout_port: of the server that samples
    """

    out: Path = Path("runs/served_demo")
    teacher_port: int = 8011
    rollout_port: int = 8012


def main(argv: list[str] | None = None) -> None:
    args, stages = parse(Arguments, argv, __doc__), Stages(ROOT)
    stages.run("traces", "data_gen/build_traces", "demo")
    stages.run("examples", "data_gen/mine_examples", "demo")
    stages.run("sft", "train/sft", "demo")
    stages.run("opd", "train/opd", "demo")
    merge = (f"--base={BASE}", f"--layers={LAYERS}", f"--out={TEACHER}", "--adapter=runs/demo/sft/adapter")
    stages.start("teacher", "scripts/cut_model.py", *merge)
    # Not one server for both: what scores must go without adapters (scripts/serve_vllm.sh).
    scores = ("teacher server", TEACHER, args.teacher_port, args.out / "teacher.log", "--served-model-name", "teacher")
    samples = ("rollout server", BASE, args.rollout_port, args.out / "rollouts.log", "--served-model-name", "base")
    with stages.serving(*scores) as teacher, stages.serving(*samples, "--enable-lora", "--max-lora-rank", "32") as sampler:
        parity = (f"--teacher={TEACHER}", f"--endpoint={teacher}", "--rows=16", f"--out={args.out}")
        stages.start("parity", "scripts/vllm_parity.py", *parity)
        servers = {"servers": {"endpoints": [teacher]}, "rollout_servers": {"model": "base", "endpoints": [sampler]}}
        where = (f"--{name}={json.dumps(server)}" for name, server in servers.items())
        stages.run("opd, served", "train/opd", "demo_served", f"--out={args.out}/opd", *where)
    arms = {"sft": "runs/demo/sft", "opd": "runs/demo/opd", "opd_served": f"{args.out}/opd"}
    adapters = json.dumps({arm: {"base": BASE, "adapter": f"{run}/adapter"} for arm, run in arms.items()})
    stages.run("closed loop", "eval/closed_loop", "demo_served", f"--out={args.out}/closed_loop", f"--arms={adapters}")
    print(f"{stages.cost()} Report: {args.out}/closed_loop/report.html")


if __name__ == "__main__":
    main()
