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

from intentfold.config import check_same_run, parse, record_run
from intentfold.prompts.stamp import check_stamp
from intentfold.prompts.templates import Role, template_hash
from intentfold.training.arguments import FREE, OF_LANES, RolloutArguments, TeacherArguments

CODECS: dict[Role, str] = {"checker": "verdict", "learner": "asset"}  # the tracker's is an argument


@dataclass(frozen=True, kw_only=True)
class Arguments(RolloutArguments, TeacherArguments):
    """How to learn; on what, say `RolloutArguments`, and from whom `TeacherArguments`.

    Args:
        steps: optimizer steps; in each of a tracker's, `rows_per_step` / (1 + `branches`) dialogues go one turn forward
        beta: 1 is the reverse KL, 0 the forward KL, between them the generalised Jensen-Shannon divergence
        until_error: take into the loss the sampled tokens up to the first that is not the right answer's, and no more
        max_completion: at most so many tokens are sampled
        gate_folds: rows (a tracker's are folds) of split dev on which teacher and student are scored before the first step
    """

    steps: int
    beta: float = 1.0
    until_error: bool = False
    max_completion: int = 96
    gate_folds: int = 48

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.beta <= 1.0:
            raise ValueError(f"beta must be in [0, 1], got {self.beta}")
        for name in ("steps", "max_completion", "gate_folds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.max_length <= self.max_completion:
            raise ValueError(f"max_length must be above max_completion ({self.max_completion}), got {self.max_length}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if args.dry_run:
        from intentfold.training.plan.dry_run import of_opd, text

        print(text(of_opd(args)))
        return
    check_same_run(args.out, args, free=(*FREE, "servers", "rollout_servers"))
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
    from intentfold.training.vllm_rollouts import make_rollouts
    from intentfold.training.weighting import Weighting

    codec = CODECS.get(args.role, args.codec)
    for adapter in filter(None, (args.init_adapter, args.teacher_adapter)):
        check_stamp(adapter, codec, args.window or None)
    folder = args.traces if args.role == "tracker" else args.data
    assert folder is not None  # Arguments refuses it
    if args.role == "tracker":
        lanes = {name: getattr(args, name) for name in (*OF_LANES, "steps", "seed")}
        graded = not {"passed", "failed"}.isdisjoint(args.outcome_weights)
        rows = load_lanes(folder, args.rows_per_step, window=args.window or None, graded=graded, **lanes)
    else:
        rows = load_example_rows(folder, args.rows_per_step, args.role)
    model, tokenizer = runs.adapted_model(args)
    preflight.check_template(tokenizer, args.chat_template_kwargs)
    preflight.check_adapter(model)
    max_prompt = args.max_length - args.max_completion
    asked = ((one.name, one.prompt()) for one in rows.asked)
    preflight.check_prompt_lengths(tokenizer, asked, args.chat_template_kwargs, max_prompt)
    preflight.check_trunks(tokenizer, () if args.window else rows.asked[:256], args.chat_template_kwargs)
    shown = random.Random(args.seed).sample(rows.asked, args.worked_examples)
    gate = random.Random(args.seed).sample(rows.gate, min(args.gate_folds, len(rows.gate)))
    teacher, teacher_model = make_teacher(args, model, tokenizer, shown, gate[:4])
    record_run(args.out, args)
    settings = runs.trainer_settings(args, args.steps) | {"chat_template_kwargs": args.chat_template_kwargs}
    config = DistillationConfig(**settings, beta=args.beta, temperature=1.0, max_completion_length=args.max_completion)
    vllm = make_rollouts(args, model, tokenizer, preflight.stop_ids(model, tokenizer), config.process_index)
    trainer = OnPolicyTrainer(
        rollout=rows.source,
        teacher=teacher,
        gate=gate,
        max_prompt=max_prompt,
        until_error=args.until_error,
        weighting=Weighting(args.operation_weights, args.outcome_weights),
        vllm=vllm,
        model=model,
        teacher_model=teacher_model,
        args=config,
        processing_class=tokenizer,
        callbacks=runs.callbacks(args),
    )
    print(f"{len(rows.asked)} rows, {args.steps} optimizer steps of {args.rows_per_step}")
    facts = {"role": args.role, "data": dataset_hash(folder), "template": template_hash(codec, args.window or None)}
    probes = [preflight.prompt_ids(tokenizer, one.prompt(), args.chat_template_kwargs) for one in rows.asked[:4]]
    runs.train(trainer, args.out, facts, probes)


if __name__ == "__main__":
    main()
