"""What computing shared beginnings once saves in training: one step's rows packed, and one row per example.

    python scripts/bench_packing.py --data runs/demo/examples

Forward and backward of a fresh adapter over the same rows, in turn, in one process; prints tokens and CPU-seconds a step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.config import parse
from intentfold.models import Attention


@dataclass(frozen=True)
class Arguments:
    """What to measure.

    Args:
        base: folder of the base model
        data: dataset folder, as data_gen/mine_examples.py writes it
        rows: rows in a step
        steps: steps to take the median of
        attention: attention implementation
    """

    base: Path = Path("models/smollm2-135m-instruct")
    data: Path = Path("runs/demo/examples")
    rows: int = 16
    steps: int = 3
    attention: Attention = "sdpa"


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    measure(args)


def measure(args: Arguments) -> None:
    import statistics

    from peft import LoraConfig, get_peft_model

    from intentfold import models
    from intentfold.example import trl_row
    from intentfold.training.data import load_examples
    from intentfold.training.packing import Row, pack, side_by_side
    from intentfold.training.preflight import prompt_ids

    model, tokenizer = models.load(args.base, dtype="float32", attention=args.attention)
    layers = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    model = get_peft_model(model, LoraConfig(r=32, lora_alpha=64, target_modules=layers))
    rows = []
    for example in load_examples(args.data, "train")[: args.rows * args.steps]:
        prompt = prompt_ids(tokenizer, trl_row(example)["prompt"], {})
        said = tokenizer(example.completion, add_special_tokens=False)["input_ids"]
        rows.append(Row([*prompt, *said, tokenizer.eos_token_id], len(prompt)))
    seconds: dict[str, list[float]] = {"packed": [], "one row each": []}
    tokens = dict.fromkeys(seconds, 0)
    for start in range(0, len(rows) - args.rows + 1, args.rows):
        step = rows[start : start + args.rows]
        half = len(step) // 2  # two micro-batches, as a plain run of so many rows takes them
        batches = {"packed": [pack(step, model)], "one row each": [side_by_side(step[:half]), side_by_side(step[half:])]}
        for name, parts in batches.items():
            before = time.process_time()
            for part in parts:
                backward(model, part)
            seconds[name].append(time.process_time() - before)
            tokens[name] += sum(part.ids_BT.numel() for part in parts)
    for name, spent in seconds.items():
        cost, laid = statistics.median(spent), tokens[name] / len(spent)
        print(f"{name}: {laid:.0f} tokens, {cost:.2f} CPU-seconds a step of {args.rows} rows")
    print(f"ratio {statistics.median(seconds['one row each']) / statistics.median(seconds['packed']):.2f}")


def backward(model: Any, packed: Any) -> None:
    import torch.nn.functional as F

    from intentfold.training.packing import packed_hidden

    base = model.get_base_model()
    logits_NV = base.get_output_embeddings()(packed_hidden(base.base_model, packed)).float()
    F.cross_entropy(logits_NV, packed.labels_N, reduction="sum").backward()


if __name__ == "__main__":
    main()
