"""Thinking distillation: a tracker, a checker or an agent alone learns to think its way to the answer.

    accelerate launch --config_file accelerate_configs/cpu.yaml train/thinking.py --config configs/train/thinking/demo.yaml

The thoughts were mined by data_gen/mine_rationales.py, each with a right answer behind it. Of an agent's rows `clean_share` are
clean requests, which guard its score on them. Leaves `<out>/adapter` (PEFT) and `<out>/metrics.json`. Killed and started again
it goes on from its last checkpoint and ends with the same adapter.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intentfold.codec.thinking import answer_codec, style_of
from intentfold.config import check_same_run, parse
from intentfold.example import Example, trl_row
from intentfold.prompts.stamp import StampError, check_stamp
from intentfold.prompts.templates import window_of
from intentfold.training.arguments import FREE, TrainArguments


@dataclass(frozen=True, kw_only=True)
class Arguments(TrainArguments):
    """What to train on.

    Args:
        thoughts: dataset folder, as data_gen/mine_rationales.py writes it
        role: who learns to think; checked against the examples
        split: split to train on
        steps: optimizer steps, 0 for one pass over the rows
        clean_share: of an agent, share of the rows that are clean requests, drawn from those of the dataset; others have none
    """

    thoughts: Path
    role: Literal["agent", "tracker", "checker"] = "agent"
    split: str = "train"
    steps: int = 0
    clean_share: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.clean_share < 1.0:
            raise ValueError(f"clean_share must be in [0, 1), got {self.clean_share}")
        if self.role != "agent" and self.clean_share != Arguments.clean_share:
            raise ValueError(f"clean_share: only an agent has clean requests, got {self.clean_share} for a {self.role}")
        if self.steps < 0:
            raise ValueError(f"steps must not be negative, got {self.steps}")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if args.dry_run:
        from intentfold.training.plan.dry_run import of_thinking, text

        print(text(of_thinking(args)))
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

    examples = load_examples(args.thoughts, args.split)
    template = preflight.check_one_template(examples, args.role)
    codec = examples[0].provenance.codec
    style = style_of(codec)
    if style is None:
        raise preflight.PreflightError(f"{args.thoughts}: examples in codec {codec} hold no thoughts: train/sft.py is for those")
    if args.init_adapter is not None:
        window = window_of(template, codec)
        try:
            check_stamp(args.init_adapter, codec, window)
        except StampError:  # a cold start may have learned the answers alone
            check_stamp(args.init_adapter, answer_codec(codec), window)
    if args.role == "agent":
        examples = mixed(examples, args.clean_share, random.Random(args.seed))
    rows = [training_row(one, args.chat_template_kwargs) for one in examples]
    clean = sum(one.provenance.mining == "clean" for one in examples)
    facts = {"role": args.role, "data": dataset_hash(args.thoughts), "template": template, "clean_rows": clean}
    fine_tune(args, rows, f"{args.thoughts}, split {args.split}", args.steps, facts, style)


def mixed(examples: Sequence[Example], clean_share: float, rng: random.Random) -> list[Example]:
    """All drifting examples, and so many of the clean ones that they make up the share.

    Raises `ValueError` where there are too few clean ones.
    """
    clean = [place for place, one in enumerate(examples) if one.provenance.mining == "clean"]
    wanted = round((len(examples) - len(clean)) * clean_share / (1.0 - clean_share))
    if wanted > len(clean):
        raise ValueError(
            f"clean_share: {clean_share} beside {len(examples) - len(clean)} drifting examples takes {wanted} clean ones, "
            f"the dataset has {len(clean)}"
        )
    left_out = set(clean) - set(rng.sample(clean, wanted))
    return [one for place, one in enumerate(examples) if place not in left_out]


def training_row(one: Example, chat_template_kwargs: dict[str, bool]) -> dict[str, Any]:
    """TRL's row: the prompt, then thought and answer as the template keeps them."""
    row, where = trl_row(one), one.provenance
    name = f"{where.episode}:{where.turn} ({where.mining})"
    return {
        "id": name,
        "prompt": row["prompt"],
        "completion": row["completion"],
        "chat_template_kwargs": chat_template_kwargs,
    }


if __name__ == "__main__":
    main()
