"""Several ranks on one CPU from one import: forks the processes that `accelerate launch` would start, with its environment.

    python -m tests.entries.ranks plan.json

The plan is a list of runs; each is forked as its ranks, one run after another. The environment of a run is what accelerate's own
launcher makes of its command line (a shipped config and flags); only torchrun's part (rank, port) is given here. A rank leaves
`facts-<rank>.json`: what it trained as, and a digest of its adapter. With `kill_at` its first rank kills itself after that step's
checkpoint, and the others are killed as soon as it is gone.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.tiny import script

SECONDS = 900  # a run takes three seconds of CPU; how long that is, other processes decide
STOP = 2  # <|im_end|> of the tiny tokenizer


def environment(command: list[str]) -> dict[str, str]:
    """What `accelerate launch <command> script.py` gives torchrun to give to its processes."""
    import torch.distributed.run
    from accelerate.commands import launch

    given: dict[str, str] = {}

    def run(args: Any) -> None:
        given.update(os.environ, LOCAL_WORLD_SIZE=str(args.nproc_per_node))

    with patch.object(torch.distributed.run, "run", run):
        launch.launch_command(launch.launch_command_parser().parse_args([*command, "script.py"]))
    return given


def rank(run: dict[str, Any], number: int, port: int) -> None:
    """Be one rank of a run, to the end of this process."""
    os.environ.update(run.get("environment", {}))
    if run["launch"]:
        os.environ.update(environment(run["launch"]))
        os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": os.environ["LOCAL_WORLD_SIZE"]}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    from intentfold.training import opd, runs

    opd.OnPolicyTrainer.check_teacher = lambda self: None  # a tiny model is no teacher; the gate has tests of its own
    opd.sampled = likeliest  # ranks draw differently from one process; what is most likely is the same
    train = runs.train

    def watched(trainer: Any, out: Path, *more: Any) -> None:
        if "kill_at" in run and not number:
            trainer.add_callback(killer(run["kill_at"]))
        train(trainer, out, *more)
        (out / f"facts-{number}.json").write_text(json.dumps(facts(trainer)))

    runs.train = watched
    script(run["script"]).main(run["argv"])


def killer(step: int) -> Any:
    """A callback that ends this process as `kill -9` does, after the checkpoint of a step."""
    from transformers import TrainerCallback

    class Killer(TrainerCallback):
        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == step:
                os.kill(os.getpid(), signal.SIGKILL)

    return Killer()


def likeliest(logits_BV: Any, places: Any) -> Any:
    """Greedy, but a third of the tokens end their row: rows, and so ranks, stop at different lengths."""
    from intentfold.runtime.decoding import greedy

    ids_B = greedy(logits_BV, places)
    return ids_B.where(ids_B % 3 != 0, STOP)


def facts(trainer: Any) -> dict[str, Any]:
    """What a rank trained as, and its adapter as the digests of whole tensors."""
    import hashlib

    import torch.distributed as dist

    accelerator = trainer.accelerator
    state = accelerator.get_state_dict(trainer.model_wrapped) if accelerator.num_processes > 1 else trainer.model.state_dict()
    adapter = {name: tensor for name, tensor in sorted((state or {}).items()) if ".lora_" in name and ".default" in name}
    digest = hashlib.sha256(b"".join(tensor.float().numpy().tobytes() for tensor in adapter.values())).hexdigest()
    wrapped = trainer.model_wrapped
    return {
        "world": dist.get_world_size() if dist.is_initialized() else 1,
        "engine": type(wrapped).__name__,
        "stage": wrapped.zero_optimization_stage() if hasattr(wrapped, "zero_optimization_stage") else None,
        "tensors": len(adapter),
        "adapter": digest,
        "held": sum(parameter.numel() for parameter in wrapped.parameters()),
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(run: dict[str, Any]) -> list[int]:
    """Fork the ranks of a run; returns their process ids."""
    port, started = free_port(), []
    for number in range(run["ranks"]):
        child = os.fork()
        if not child:
            code = 0
            faulthandler.dump_traceback_later(SECONDS - 5)
            try:
                rank(run, number, port)
            except BaseException:
                code = 1
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        started.append(child)
    return started


def finish(run: dict[str, Any], started: list[int], seconds: float) -> str:
    """Wait for the ranks: `done`, `failed`, `killed` (one of them by SIGKILL) or `hung`. Nothing of a run outlives this."""
    deadline, left, outcome = time.monotonic() + seconds, set(started), "done"
    while left:
        for child in list(left):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                left.discard(child)
                if status and outcome == "done":
                    outcome = "killed" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else "failed"
        if outcome == "done" and time.monotonic() > deadline:
            outcome = "hung"
        if outcome != "done":
            for child in left:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            left = set()
        time.sleep(0.01)
    return outcome


def main(plan: Path) -> None:
    import datasets  # noqa: F401
    import deepspeed.comm  # noqa: F401
    import trl  # noqa: F401

    import intentfold.training.opd
    import intentfold.training.runs
    import intentfold.training.sft  # noqa: F401

    # Else compiled first; gloo does the same. (`deepspeed.comm.torch` as an attribute is torch itself.)
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # type: ignore[attr-defined]
    outcomes = {}
    for run in json.loads(plan.read_text()):
        began = time.monotonic()
        outcomes[run["name"]] = finish(run, start(run), SECONDS)
        print(f"{run['name']}: {outcomes[run['name']]} after {time.monotonic() - began:.1f} s", flush=True)
    (plan.parent / "outcomes.json").write_text(json.dumps(outcomes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
