"""A decoded token in process: keys and values kept where they are, against the library's cache and attention.

    python scripts/bench_decoding.py --rows 32 --context 1000

One thread, alternating; the smallest of `repeats`. Prints CPU-seconds a step (one token of every row) and the ratio.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.config import parse


@dataclass(frozen=True)
class Arguments:
    """What to decode.

    Args:
        model: folder of the weights
        rows: rows decoded at once
        context: tokens that every row has behind it
        steps: tokens decoded in each repeat
        repeats: times that each of the two is measured
    """

    model: Path = Path("models/smollm2-135m-instruct")
    rows: int = 32
    context: int = 1000
    steps: int = 8
    repeats: int = 3


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    import torch
    from transformers import DynamicCache

    from intentfold.models import load
    from intentfold.runtime.cache import RoomyCache, keys_uncopied

    torch.set_num_threads(1)
    model, _ = load(args.model)
    least = {"library": float("inf"), "uncopied": float("inf")}
    for _ in range(args.repeats):
        least["library"] = min(least["library"], step(model, DynamicCache(config=model.config), nullcontext(), args))
        least["uncopied"] = min(least["uncopied"], step(model, RoomyCache(model.config), keys_uncopied(model), args))
    print(", ".join(f"{name}: {seconds:.3f} CPU-s a step" for name, seconds in least.items()))
    print(f"ratio: {least['library'] / least['uncopied']:.2f}")


def step(model: Any, cache: Any, within: Any, args: Arguments) -> float:
    """CPU-seconds a token of all rows takes behind a context of noise, which costs what words do."""
    import torch

    config = model.config
    shape = (args.rows, config.num_key_value_heads, args.context, config.head_dim)
    for layer in range(config.num_hidden_layers):
        cache.update(torch.randn(shape), torch.randn(shape), layer)
    ids_B1 = torch.full((args.rows, 1), 5)
    begun = 0.0
    with torch.inference_mode(), within:
        for n in range(args.steps + 1):
            if n == 1:  # the first makes room
                begun = time.process_time()
            mask_BT = torch.ones(args.rows, args.context + n + 1, dtype=torch.long)
            mask_BT[:, 0] = 0  # padding: there is a mask to heed
            position_B1 = torch.full_like(ids_B1, args.context + n)
            model(
                input_ids=ids_B1, attention_mask=mask_BT, position_ids=position_B1, past_key_values=cache, use_cache=True,
                logits_to_keep=1,
            )  # fmt: skip
    return (time.process_time() - begun) / args.steps


if __name__ == "__main__":
    main()
