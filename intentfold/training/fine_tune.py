"""The run that supervised fine-tuning and thinking distillation share: proofs, the trainer, the legs of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datasets import Dataset
from trl import SFTConfig

from intentfold.codec.thinking import Style
from intentfold.config import record_run
from intentfold.training import preflight, runs
from intentfold.training.arguments import TrainArguments
from intentfold.training.sft import CompletionTrainer
from intentfold.training.weighting import EVEN, Weighting


def fine_tune(
    args: TrainArguments,
    rows: list[dict[str, Any]],
    what: str,
    steps: int,
    facts: Mapping[str, Any],
    style: Style | None = None,
    weighting: Weighting = EVEN,
) -> None:
    """Proofs first, then `steps` optimizer steps (0 for one pass over the rows).

    `rows` are TRL's conversational prompt/completion rows with an `id` and `chat_template_kwargs`, in a `style` where their
    completions begin with thoughts; `what` says where they are from, `facts` go into metrics.json. `weighting` says what the
    tokens count of rows that have `operations`. Raises `PreflightError` before the first step.
    """
    preflight.check_size(len(rows), args.rows_per_step, what)
    steps = steps or len(rows) // args.rows_per_step
    model, tokenizer = runs.adapted_model(args)
    preflight.check_template(tokenizer, args.chat_template_kwargs)
    if style is not None:
        preflight.check_thinking(tokenizer, args.chat_template_kwargs, style)
    preflight.check_adapter(model)
    record_run(args.out, args)
    # max_length stays None: TRL would cut long rows in silence; preflight refuses them.
    config = SFTConfig(**runs.trainer_settings(args, steps), max_length=None, completion_only_loss=True, packing=False)
    trainer = CompletionTrainer(
        weighting=weighting,
        model=model,
        args=config,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=runs.callbacks(args),
    )
    preflight.check_rows(rows, trainer.train_dataset, tokenizer, preflight.stop_ids(model, tokenizer), args.max_length)
    print(f"{len(rows)} rows, {steps} optimizer steps of {args.rows_per_step}")
    probes = [preflight.prompt_ids(tokenizer, row["prompt"], args.chat_template_kwargs) for row in rows[:4]]
    runs.train(trainer, args.out, {**facts, "rows": len(rows)}, probes)
