"""Adapters for serving: what a server would refuse or silently ignore is refused here, and the effect is proved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file

from intentfold.models import Attention, Dtype, add_adapter, load
from intentfold.prompts.stamp import FILE as STAMP
from intentfold.records import write_text

# vLLM takes one of these as --max-lora-rank, and no adapter above the last.
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)


class ExportError(ValueError):
    """An adapter that a server would refuse or silently ignore, or that has no effect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Largest differences of logits: reloaded adapter against the trained model, and against the bare base."""

    from_trained: float
    from_base: float


def check_servable(adapter: Path, modules: Mapping[str, tuple[int, int]]) -> int:
    """Raise `ExportError` for what vLLM would refuse or ignore; returns the rank.

    `modules` are the base's linear layers: name to (out, in).
    """
    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    rank = config["r"]
    refused = {
        "peft_type": config.get("peft_type") != "LORA",
        "modules_to_save": bool(config.get("modules_to_save")),
        "use_dora": bool(config.get("use_dora")),
        "use_rslora": bool(config.get("use_rslora")),
        "bias": config.get("bias", "none") != "none",
        "rank_pattern": bool(config.get("rank_pattern")),
        "alpha_pattern": bool(config.get("alpha_pattern")),
        "trainable_token_indices": bool(config.get("trainable_token_indices")),
        "r": rank > RANKS[-1],
    }
    for name, is_refused in refused.items():
        if is_refused:
            raise ExportError(f"{adapter}: {name} = {config.get(name)!r} is something that a vLLM server refuses or ignores")
    with safe_open(adapter / "adapter_model.safetensors", "pt") as tensors:
        shapes = {key: tuple(tensors.get_slice(key).get_shape()) for key in tensors.keys()}  # noqa: SIM118
    if not shapes:
        raise ExportError(f"{adapter}: the adapter holds no tensors")
    for key, shape in shapes.items():
        module = key.removeprefix("base_model.model.").rsplit(".lora_", 1)[0]
        if "lm_head" in module or "embed_tokens" in module:
            raise ExportError(f"{adapter}: {key} adapts the vocabulary's layers, which the losses do not train")
        if module not in modules:
            raise ExportError(f"{adapter}: {key} matches no layer of the base")
        out, into = modules[module]
        if shape != ((rank, into) if ".lora_A." in key else (out, rank)):
            raise ExportError(f"{adapter}: {key} has shape {shape}, which does not fit the base's layer ({out}, {into})")
    return int(rank)


def linear_layers(model: Any) -> dict[str, tuple[int, int]]:
    """Linear layers of a bare base: name to (out, in)."""
    return {name: (m.out_features, m.in_features) for name, m in model.named_modules() if isinstance(m, torch.nn.Linear)}


@torch.no_grad()
def prove(base: Path, adapter: Path, probes: Path, dtype: Dtype, attention: Attention, tolerance: float) -> Effect:
    """The adapter, reloaded on a clean base, must give the trained model's logits, and others than the base gives.

    `probes` is what training left: prompts, and the trained model's next-token logits after each. `dtype` and `attention`
    are those of training: in bfloat16 another attention kernel alone moves a logit by half a unit.
    Raises `ExportError` with the differences where they are not as they should be.
    """
    saved = load_file(probes)
    count = sum(name.startswith("prompt") for name in saved)
    prompts = [saved[f"prompt{place}"][None] for place in range(count)]
    model, _ = load(base, dtype=dtype, attention=attention)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
        before = [model(prompt).logits[0, -1].float() for prompt in prompts]
        model = add_adapter(model, adapter).eval()
        after = [model(prompt).logits[0, -1].float() for prompt in prompts]
    from_trained = max(float((logits - saved[f"logits{place}"]).abs().max()) for place, logits in enumerate(after))
    from_base = max(float((ours - theirs).abs().max()) for ours, theirs in zip(after, before, strict=True))
    if from_trained > tolerance:
        raise ExportError(f"{adapter}: the reloaded adapter is off the trained model's logits by {from_trained:.3g}")
    if from_base <= tolerance:
        raise ExportError(f"{adapter}: the adapter changes the base's logits by {from_base:.3g} at most: it has no effect")
    return Effect(from_trained, from_base)


def copy_adapter(source: Path, target: Path) -> None:
    """The two files that make a PEFT adapter, under a base name without machine paths, and its stamp."""
    target.mkdir(parents=True, exist_ok=True)
    if not (source / STAMP).is_file():
        raise ExportError(f"{source}: no {STAMP} beside the weights: nothing says what the adapter was trained to read")
    for name in ("adapter_model.safetensors", STAMP):
        shutil.copyfile(source / name, target / name)
    config = json.loads((source / "adapter_config.json").read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = Path(config["base_model_name_or_path"]).name
    if isinstance(config["target_modules"], list):
        config["target_modules"].sort()
    write_text(target / "adapter_config.json", json.dumps(config, indent=2, sort_keys=True) + "\n")


def model_card(
    *,
    name: str,
    base: str,
    rank: int,
    facts: Mapping[str, Any],
    metrics: Mapping[str, Any],
    effect: Effect,
    template_kwargs: Mapping[str, Any],
) -> str:
    """README.md of an adapter: what it is, what it was made from (`facts`: data, template), how to serve it."""
    max_rank = next(allowed for allowed in RANKS if allowed >= rank)
    kwargs = f" --default-chat-template-kwargs '{json.dumps(dict(template_kwargs))}'" if template_kwargs else ""
    table = "\n".join(f"| {key} | {value} |" for key, value in sorted(metrics.items())) or "| (none given) | |"
    return f"""---
base_model: {base}
library_name: peft
pipeline_tag: text-generation
tags: [lora, intentfold, intent-tracking]
---

# {name}

A LoRA adapter (rank {rank}) that makes {base} a tracker: it folds a user turn into the active intent state, one edit a line.

| made from | |
|---|---|
| base | {base} |
| training data (hash) | {facts["data"]} |
| prompt template (hash) | {facts["template"]} |

Reloaded on a clean base its logits differ from the trained model's by {effect.from_trained:.2g} at most, and from
the base's by {effect.from_base:.3g}.

| metric | value |
|---|---|
{table}

Serve it:

```
vllm serve {base} --enable-lora --max-lora-rank {max_rank} --lora-modules {name}=.{kwargs}
```
"""
