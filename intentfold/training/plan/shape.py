"""The shape of a language model, from its config.json or from a table of known names: its matrices, and what they cost.

Every count (parameters, adapter, FLOPs) comes from the one list `Shape.matrices`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ShapeError(ValueError):
    """A config.json of a model whose matrices are not known here."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """`stored` matrices (out, into) of one name in the whole model, `used` of them on a token's way (experts: fewer)."""

    name: str
    into: int
    out: int
    stored: int
    used: int

    @property
    def size(self) -> int:
        """Weights of one."""
        return self.into * self.out


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A decoder of `layers` layers, some of them (`linear_layers`) with a gated delta rule in place of attention.

    `experts` of 0 is a dense model; else `ffn` is the width of an expert, and of the shared one. `gated`: attention has an output
    gate, which doubles its query projection. `qk_norm`: queries and keys are normalised.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    tied: bool
    linear_layers: int = 0
    linear_key_heads: int = 0
    linear_value_heads: int = 0
    linear_head_dim: int = 128
    conv: int = 4
    gated: bool = False
    qk_norm: bool = False
    experts: int = 0
    experts_used: int = 0

    @property
    def full_layers(self) -> int:
        """Layers with attention: those that have a KV cache."""
        return self.layers - self.linear_layers

    @property
    def matrices(self) -> list[Matrix]:
        """Every matrix that multiplies, and the embedding, which only looks up (`used` 0)."""
        h, full, linear, every = self.hidden, self.full_layers, self.linear_layers, self.layers
        query, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        found = [
            Matrix("embed_tokens", h, self.vocab, 1, 0),
            Matrix("lm_head", h, self.vocab, 0 if self.tied else 1, 1),
            Matrix("q_proj", h, query * (2 if self.gated else 1), full, full),
            Matrix("k_proj", h, kv, full, full),
            Matrix("v_proj", h, kv, full, full),
            Matrix("o_proj", query, h, full, full),
        ]
        if linear:
            key, value = self._linear_widths
            found += [
                Matrix("in_proj_qkv", h, 2 * key + value, linear, linear),
                Matrix("in_proj_z", h, value, linear, linear),
                Matrix("in_proj_b", h, self.linear_value_heads, linear, linear),
                Matrix("in_proj_a", h, self.linear_value_heads, linear, linear),
                Matrix("out_proj", value, h, linear, linear),
            ]
        if self.experts:
            stored, used = every * self.experts, every * self.experts_used
            # One parameter holds all experts: an adapter on linear layers does not match it.
            found += [Matrix("experts", h, 3 * self.ffn, stored, used), Matrix("router", h, self.experts, every, every)]
            found.append(Matrix("shared_expert_gate", h, 1, every, every))
        found += [
            Matrix("gate_proj", h, self.ffn, every, every),
            Matrix("up_proj", h, self.ffn, every, every),
            Matrix("down_proj", self.ffn, h, every, every),
        ]
        return found

    @property
    def _linear_widths(self) -> tuple[int, int]:
        return self.linear_key_heads * self.linear_head_dim, self.linear_value_heads * self.linear_head_dim

    @property
    def parameters(self) -> int:
        """All weights, norms and convolutions included (the vision tower of a model that also sees is not)."""
        small = (2 * self.layers + 1) * self.hidden + (2 * self.head_dim * self.full_layers if self.qk_norm else 0)
        if self.linear_layers:
            key, value = self._linear_widths
            small += self.linear_layers * ((2 * key + value) * self.conv + 2 * self.linear_value_heads + self.linear_head_dim)
        return small + sum(one.stored * one.size for one in self.matrices)

    @property
    def active(self) -> int:
        """Weights that a token is multiplied with on its way to the head, the head apart."""
        return sum(one.used * one.size for one in self.matrices if one.name != "lm_head")

    @property
    def head(self) -> int:
        """Weights that a token is multiplied with in the head."""
        return self.hidden * self.vocab

    def adapter(self, rank: int, targets: Collection[str]) -> int:
        """Weights of a LoRA adapter on the matrices named in `targets`: rank x (into + out) for each."""
        return sum(one.used * rank * (one.into + one.out) for one in self.matrices if one.name in targets)

    def mixing(self, tokens: int, context: float) -> float:
        """FLOPs of looking back (attention, delta rule), of `tokens` tokens that each see `context` tokens on average.

        Attention: two products of 2 x head_dim FLOPs a head and pair. The gated delta rule in its recurrent form: decay, recall,
        update, read: 7 FLOPs for each place of the state (Yang et al. 2024, Gated Delta Networks, equation 10); kernels that work
        in chunks do somewhat more.
        """
        attention = 4.0 * self.heads * self.head_dim * context * self.full_layers
        delta = 7.0 * self.linear_value_heads * self.linear_head_dim**2 * self.linear_layers
        return tokens * (attention + delta)

    def cache(self, tokens: int, rows: int, bytes_each: int) -> int:
        """Bytes of the KV cache of `tokens` tokens in all, and of the running states (float32) of `rows` rows."""
        kv = 2 * self.kv_heads * self.head_dim * self.full_layers * tokens * bytes_each
        return kv + rows * 4 * self.linear_value_heads * self.linear_head_dim**2 * self.linear_layers


def _qwen(name: str, layers: int, hidden: int, heads: int, kv_heads: int, ffn: int, values: int, **more: Any) -> Shape:
    return Shape(
        name=name, layers=layers, hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=256, ffn=ffn, vocab=248_320,
        tied=more.pop("tied", False), linear_layers=layers * 3 // 4, linear_key_heads=16, linear_value_heads=values,
        gated=True, qk_norm=True, **more,
    )  # fmt: skip


# SmolLM2 as its config.json has it. The Qwen3.5 rows are assumptions: 9B and 35B-A3B are the defaults of transformers' two
# configuration classes (documented as in the style of those models); 2B, 4B and 122B-A10B are as publicly described, and none of
# the checkpoints was at hand. Their sums agree with the published sizes: 1.9, 4.2, 9.0, 34.7 and 122.1 billion text parameters.
KNOWN = {
    shape.name: shape
    for shape in (
        Shape(
            name="smollm2-135m-instruct", layers=30, hidden=576, heads=9, kv_heads=3, head_dim=64, ffn=1536,
            vocab=49_152, tied=True,
        ),
        _qwen("Qwen3.5-2B", 24, 2048, 8, 2, 6144, 16, tied=True),
        _qwen("Qwen3.5-4B", 32, 2560, 16, 4, 9216, 32, tied=True),
        _qwen("Qwen3.5-9B", 32, 4096, 16, 4, 12_288, 32),
        _qwen("Qwen3.5-35B-A3B", 40, 2048, 16, 2, 512, 32, experts=256, experts_used=8),
        _qwen("Qwen3.5-122B-A10B", 48, 3072, 32, 2, 1024, 64, experts=256, experts_used=8),
    )
}  # fmt: skip


def shape_of(model: Path) -> Shape:
    """The shape of the model in a folder, or of a known name (the folder's last part) where no folder is there.

    Raises `ShapeError` for a kind of model, or a name, that is not known here.
    """
    file = model / "config.json"
    if file.is_file():
        return read(json.loads(file.read_text(encoding="utf-8")), model.name)
    if model.name not in KNOWN:
        raise ShapeError(f"{model}: no config.json there, and the name is none of {sorted(KNOWN)}")
    return KNOWN[model.name]


def read(config: Mapping[str, Any], name: str) -> Shape:
    """The shape that a config.json describes (of a model that also sees, its language model's)."""
    config = config.get("text_config", config)
    kind = config.get("model_type")
    if kind not in ("llama", "qwen3", "qwen3_5_text", "qwen3_5_moe_text"):
        raise ShapeError(f"{name}: model_type: expected llama, qwen3, qwen3_5 or qwen3_5_moe, got {kind!r}")
    hybrid, sparse = kind.startswith("qwen3_5"), kind == "qwen3_5_moe_text"
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    kinds = config.get("layer_types") or [
        "linear_attention" if hybrid and (n + 1) % config.get("full_attention_interval", 4) else "full_attention"
        for n in range(layers)
    ]
    linear: dict[str, int] = {}
    if hybrid:
        if config["linear_key_head_dim"] != config["linear_value_head_dim"]:
            raise ShapeError(f"{name}: linear_key_head_dim and linear_value_head_dim differ, expected equal")
        linear = {
            "linear_layers": kinds.count("linear_attention"),
            "linear_key_heads": config["linear_num_key_heads"],
            "linear_value_heads": config["linear_num_value_heads"],
            "linear_head_dim": config["linear_value_head_dim"],
            "conv": config["linear_conv_kernel_dim"],
        }
    return Shape(
        name=name,
        layers=layers,
        hidden=config["hidden_size"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads", heads),
        head_dim=config.get("head_dim") or config["hidden_size"] // heads,
        ffn=config["moe_intermediate_size" if sparse else "intermediate_size"],
        vocab=config["vocab_size"],
        tied=config.get("tie_word_embeddings", False),
        gated=hybrid,
        qk_norm=hybrid or kind == "qwen3",
        experts=config["num_experts"] if sparse else 0,
        experts_used=config["num_experts_per_tok"] if sparse else 0,
        **linear,
    )
