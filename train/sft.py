"""Supervised fine-tuning of a tracker, checker or learner: the cold start of distillation.

    accelerate launch --config_file accelerate_configs/cpu.yaml train/sft.py --config configs/train/sft/demo.yaml

Leaves `<out>/adapter` (PEFT) and `<out>/metrics.json`. Killed and started again it goes on from its last checkpoint
and ends with the same adapter.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.config import check_same_run, parse
from intentfold.prompts.stamp import check_stamp
from intentfold.prompts.templates import Role, window_of
from intentfold.training.arguments import FREE, WeightedArguments


@dataclass(frozen=True, kw_only=True)
class Arguments(WeightedArguments):
    """What to train on.

    Args:
        data: dataset folder, as data_gen/mine_examples.py and data_gen/mine_checker.py write it
        role: what the examples teach; checked against their codec
        split: split to train on
        steps: optimizer steps, 0 for one pass over the rows
        privileged_share: share of the rows that hold the right answer in the prompt, so that the frozen adapter can
            be the privileged teacher of on-policy distillation
    """

    data: Path
    role: Role = "tracker"
    split: str = "train"
    steps: int = 0
    privileged_share: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.privileged_share <= 0.5:
            raise ValueError(f"privileged_share must be in [0, 0.5], got {self.privileged_share}")
        if self.steps < 0:
            raise ValueError(f"steps must not be negative, got {self.steps}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if args.dry_run:
        from intentfold.training.plan.dry_run import of_sft, text

        print(text(of_sft(args)))
        return
    check_same_run(args.out, args, free=FREE)
    if (args.out / "metrics.json").exists():
        print(f"{args.out} is complete")
        return
    train(args)


def train(args: Arguments) -> None:
    from intentfold.mining.card import dataset_hash
    from intentfold.training import preflight
    from intentfold.training.data import load_examples
    from intentfold.training.fine_tune import fine_tune
    from intentfold.training.weighting import Weighting

    examples = load_examples(args.data, args.split)
    template = preflight.check_one_template(examples, args.role)
    codec = examples[0].provenance.codec
    if args.init_adapter is not None:
        check_stamp(args.init_adapter, codec, window_of(template, codec))
    if args.operation_weights:
        preflight.check_operations(examples)
    rows = training_rows(args, examples)
    facts = {"role": args.role, "data": dataset_hash(args.data), "template": template}
    fine_tune(args, rows, f"{args.data}, split {args.split}", args.steps, facts, weighting=Weighting(args.operation_weights))


def training_rows(args: Arguments, examples: list[Any]) -> list[dict[str, Any]]:
    """TRL's rows: every example once, and some once more with the privileged prompt."""
    from intentfold.example import trl_row
    from intentfold.training.data import with_privileged

    rows = []
    # The privileged row stands beside the plain one: they share most of their prompt.
    for index, privileged in with_privileged(len(examples), args.privileged_share, random.Random(args.seed)):
        row = trl_row(examples[index])
        where = examples[index].provenance
        prompt = row["privileged_prompt"] if privileged else row["prompt"]
        name = f"{where.episode}:{where.turn}{' (privileged)' if privileged else ''}"
        rows.append(
            {"id": name, "prompt": prompt, "completion": row["completion"], "chat_template_kwargs": args.chat_template_kwargs}
        )
        if args.operation_weights:
            rows[-1]["operations"] = list(where.operations)
    return rows


if __name__ == "__main__":
    main()
