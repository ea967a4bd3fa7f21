"""On-policy distillation of a tracker, checker or learner: the student's own tokens against a teacher.

    accelerate launch --config_file accelerate_configs/cpu.yaml train/opd.py --config configs/train/opd/demo.yaml

A tracker learns on its own states, in `traces` rolled forward; the other roles on mined examples (`data`). Leaves
`<out>/adapter` (PEFT) and `<out>/metrics.json`. Killed and started again it goes on from its last checkpoint
and ends with the same adapter. Before the first step the teacher is scored on whole answers; one that is no better
than the student, or would not stop, ends the run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from intentfold.config import check_same_run, parse, record_run
from intentfold.prompts.stamp import check_stamp
from intentfold.prompts.templates import Role, template_hash
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.training.arguments import TrainArguments

CODECS: dict[Role, str] = {"checker": "verdict", "learner": "asset"}  # the tracker's is an argument


@dataclass(frozen=True, kw_only=True)
class Arguments(TrainArguments):
    """Whom to learn from, and on what.

    Args:
        steps: optimizer steps; in each of a tracker's, `rows_per_step` / (1 + `branches`) dialogues go one turn forward
        role: what is trained
        traces: of a tracker, folder of {train,dev}.jsonl as data_gen/build_traces.py leaves it
        data: of the other roles, dataset folder as data_gen/mine_checker.py leaves it
        teacher: `adapter` is the frozen `teacher_adapter` (or `init_adapter`) on the student's base, `base` the base
            alone, `model` the model in `teacher_model`
        teacher_adapter: adapter folder of the self-teacher; `init_adapter` by default
        teacher_model: folder of a larger model with the same vocabulary
        teacher_sees: the student's prompt (`plain`) or that with the right answer in it (`privileged`)
        worked_examples: finished rows shown to the teacher before the question
        codec: of a tracker, delta (edits) or full (the whole state)
        window: of a tracker, last messages of the dialogue that the prompt shows; 0 shows the whole history
        own_state_share: of a tracker, probability that a fold starts from the student's own state, not the oracle's
        branches: of a tracker, other turns that the user might have taken, sampled beside each turn (the traces' style.branches)
        beta: 1 is the reverse KL, 0 the forward KL, between them the generalised Jensen-Shannon divergence
        until_error: take into the loss the sampled tokens up to the first that is not the right answer's, and no more
        max_completion: at most so many tokens are sampled
        gate_folds: rows (a tracker's are folds) of split dev on which teacher and student are scored before the first step
    """

    steps: int
    role: Literal["tracker", "checker", "learner"] = "tracker"
    traces: Path | None = None
    data: Path | None = None
    teacher: Literal["adapter", "base", "model"] = "adapter"
    teacher_adapter: Path | None = None
    teacher_model: Path | None = None
    teacher_sees: Literal["plain", "privileged"] = "privileged"
    worked_examples: int = 0
    codec: Codec = "delta"
    window: int = WINDOW
    own_state_share: float = 0.5
    branches: int = 0
    beta: float = 1.0
    until_error: bool = False
    max_completion: int = 96
    gate_folds: int = 48

    def __post_init__(self) -> None:
        super().__post_init__()
        needed, refused = ("traces", "data") if self.role == "tracker" else ("data", "traces")
        if getattr(self, needed) is None or getattr(self, refused) is not None:
            raise ValueError(f"role {self.role} takes {needed} (and no {refused}), got traces {self.traces}, data {self.data}")
        for name in ("codec", "window", "own_state_share", "branches"):
            if self.role != "tracker" and getattr(self, name) != getattr(Arguments, name):
                raise ValueError(f"{name}: only a tracker has one, got {getattr(self, name)} for a {self.role}")
        for name in ("own_state_share", "beta"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        for name in ("steps", "max_completion", "gate_folds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.branches < 0 or self.micro_batch % (1 + self.branches):
            raise ValueError(f"micro_batch must be a multiple of 1 + branches, got {self.micro_batch} and {self.branches}")
        if self.teacher == "adapter" and self.teacher_adapter is None and self.init_adapter is None:
            raise ValueError("teacher 'adapter' needs teacher_adapter or init_adapter")
        if (self.teacher == "model") != (self.teacher_model is not None):
            raise ValueError("teacher_model goes with teacher 'model', and with no other")
        if self.max_length <= self.max_completion:
            raise ValueError(f"max_length must be above max_completion ({self.max_completion}), got {self.max_length}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args)
    if (args.out / "metrics.json").exists():
        print(f"{args.out} is complete")
        return
    train(args)


def train(args: Arguments) -> None:
    from trl import DistillationConfig

    from intentfold.mining.card import dataset_hash
    from intentfold.training import preflight, runs
    from intentfold.training.example_rows import load_example_rows
    from intentfold.training.opd import OnPolicyTrainer
    from intentfold.training.rollouts import load_lanes
    from intentfold.training.teachers import make_teacher

    codec = CODECS.get(args.role, args.codec)
    for adapter in filter(None, (args.init_adapter, args.teacher_adapter)):
        check_stamp(adapter, codec)
    folder = args.traces if args.role == "tracker" else args.data
    assert folder is not None  # Arguments refuses it
    if args.role == "tracker":
        lanes = {name: getattr(args, name) for name in ("codec", "own_state_share", "seed", "branches")}
        rows = load_lanes(folder, args.rows_per_step, window=args.window or None, **lanes)
    else:
        rows = load_example_rows(folder, args.rows_per_step, args.role)
    model, tokenizer = runs.adapted_model(args)
    preflight.check_template(tokenizer, args.chat_template_kwargs)
    preflight.check_adapter(model)
    max_prompt = args.max_length - args.max_completion
    asked = ((one.name, one.prompt()) for one in rows.asked)
    preflight.check_prompt_lengths(tokenizer, asked, args.chat_template_kwargs, max_prompt)
    shown = random.Random(args.seed).sample(rows.asked, args.worked_examples)
    teacher, teacher_model = make_teacher(args, model, tokenizer, shown)
    record_run(args.out, args)
    settings = runs.trainer_settings(args, args.steps)
    config = DistillationConfig(
        **settings,
        beta=args.beta,
        temperature=1.0,
        max_completion_length=args.max_completion,
        chat_template_kwargs=args.chat_template_kwargs,
    )
    trainer = OnPolicyTrainer(
        rollout=rows.source,
        teacher=teacher,
        gate=random.Random(args.seed).sample(rows.gate, min(args.gate_folds, len(rows.gate))),
        max_prompt=max_prompt,
        until_error=args.until_error,
        model=model,
        teacher_model=teacher_model,
        args=config,
        processing_class=tokenizer,
        callbacks=runs.callbacks(args),
    )
    print(f"{len(rows.asked)} rows, {args.steps} optimizer steps of {args.rows_per_step}")
    facts = {"role": args.role, "data": dataset_hash(folder), "template": template_hash(codec)}
    probes = [preflight.prompt_ids(tokenizer, one.prompt(), args.chat_template_kwargs) for one in rows.asked[:4]]
    runs.train(trainer, args.out, facts, probes)


if __name__ == "__main__":
    main()
