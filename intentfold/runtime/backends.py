"""Backends by description, as the scripts' configs give them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from intentfold.codec.thinking import Style, with_thought
from intentfold.prompts.stamp import check_stamp
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.runtime.roles import Backend
from intentfold.runtime.scripted import lapsing_backend, null_backend, oracle_backend
from intentfold.runtime.thinking import ThinkingBackend
from intentfold.trace import Episode

if TYPE_CHECKING:
    from intentfold.runtime.embeddings import Embedder
    from intentfold.runtime.in_process import InProcessBackend

Kind = Literal["in_process", "openai", "oracle", "lapsing", "null"]
_FIELDS: dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "in_process": (("base",), ("adapter", "temperature", "seed", "thinking")),
    "openai": (("base_url", "model"), ("api_key_variable", "temperature", "seed", "thinking")),
    "oracle": ((), ()),
    "lapsing": (("rate",), ("seed",)),
    "null": ((), ()),
}


@dataclass(frozen=True)
class Model:
    """Who plays a role: for `in_process` the folders `base` and perhaps `adapter`, for `openai` `base_url` and `model`.

    `oracle` (writes the oracle's edits), `lapsing` (the oracle that loses each edit at a `rate`) and `null` (writes
    none) are trackers without a model. A `temperature` above 0 samples, reproducibly for a `seed`. With `thinking` the
    model thinks before it answers, as its chat template keeps it (think) or in words (plain).
    """

    kind: Kind = "in_process"
    base: str | None = None
    adapter: str | None = None
    base_url: str | None = None
    model: str | None = None
    api_key_variable: str | None = None
    rate: float | None = None
    temperature: float | None = None
    seed: int | None = None
    thinking: Style | None = None

    def __post_init__(self) -> None:
        if self.kind not in _FIELDS:  # an unquoted `null` in YAML is no string
            raise ValueError(f"kind must be one of {sorted(_FIELDS)} (in quotes in YAML), got {self.kind!r}")
        needed, optional = _FIELDS[self.kind]
        for name in ("base", "adapter", "base_url", "model", "api_key_variable", "rate", "temperature", "seed", "thinking"):
            if getattr(self, name) is None and name in needed:
                raise ValueError(f"{name}: a model of kind {self.kind} needs it")
            if getattr(self, name) is not None and name not in (*needed, *optional):
                raise ValueError(f"{name}: a model of kind {self.kind} has none, got {getattr(self, name)!r}")
        if self.rate is not None and not 0.0 <= self.rate <= 1.0:
            raise ValueError(f"rate must be in [0, 1], got {self.rate}")
        if self.temperature is not None and self.temperature < 0:
            raise ValueError(f"temperature must be at least 0, got {self.temperature}")

    def in_epoch(self, epoch: int) -> Model:
        """The model in an epoch, counted from 1: what samples has another seed in each, what does not stays as it is."""
        if self.kind != "lapsing" and not self.temperature:
            return replace(self, seed=None)
        return replace(self, seed=(self.seed or 0) + epoch - 1)

    def missing(self, codec: str | None = None, window: int | None = WINDOW) -> str:
        """What must be there before any work and is not, empty where nothing is missing.

        `codec` is what it is to write, where that is known, and `window` what a tracker is shown: raises `StampError` where its
        adapter was trained otherwise.
        """
        for folder, file in ((self.base, "config.json"), (self.adapter, "adapter_config.json")):
            if folder is not None and not (Path(folder) / file).is_file():
                return f"{folder} must be a folder with {file}"
        if self.adapter is not None and codec is not None:
            check_stamp(Path(self.adapter), with_thought(codec, self.thinking), window)
        if self.api_key_variable is not None and not os.environ.get(self.api_key_variable):
            return f"the environment variable {self.api_key_variable} is not set"
        return ""


def check_answering(roles: Mapping[str, Model | None]) -> None:
    """Raise `ValueError` for a scripted tracker in another role: it writes edits, whatever it is asked."""
    for role, model in roles.items():
        if model is not None and model.kind not in ("in_process", "openai"):
            raise ValueError(f"{role}: a {model.kind} tracker answers nothing else, expected in_process or openai")


class Backends:
    """Makes backends; in-process ones of the same base share its weights, so use one at a time."""

    def __init__(
        self, *, batch_size: int, dtype: Literal["float32", "bfloat16"], device: str, chat_template_kwargs: Mapping[str, Any]
    ) -> None:
        self._options: dict[str, Any] = {"batch_size": batch_size, "dtype": dtype, "device": device}
        self._chat_template_kwargs = chat_template_kwargs
        self._loaded: dict[str, Any] = {}

    def make(
        self, model: Model, episodes: Sequence[Episode] = (), codec: Codec = "delta", window: int | None = WINDOW
    ) -> Backend:
        """The backend; the oracle and the lapsing one know `episodes` alone.

        Raises `ValueError` for a model that is to think by its template, where the template is told not to.
        """
        if model.thinking == "think" and self._chat_template_kwargs.get("enable_thinking") is False:
            raise ValueError("thinking: think needs chat_template_kwargs.enable_thinking true, got false")
        if model.thinking is not None:
            return ThinkingBackend(self.make(replace(model, thinking=None)), model.thinking)
        if model.kind == "oracle":
            return oracle_backend(episodes, codec, window)
        if model.kind == "lapsing":
            return lapsing_backend(episodes, model.rate or 0.0, model.seed or 0, codec, window)
        if model.kind == "null":
            return null_backend()
        if model.kind == "openai":
            from intentfold.runtime.openai_api import OpenAIBackend

            return OpenAIBackend(
                model.base_url or "",
                model.model or "",
                api_key_variable=model.api_key_variable,
                concurrency=self._options["batch_size"],
                chat_template_kwargs=self._chat_template_kwargs,
                temperature=model.temperature or 0.0,
                seed=model.seed,
            )
        return self._local(model)

    def embedder(self, model: Model) -> Embedder:
        """Vectors by the endpoint's `/v1/embeddings`, or from the hidden states of the local model."""
        if model.kind == "openai":
            from intentfold.runtime.embeddings import OpenAIEmbedder

            return OpenAIEmbedder(model.base_url or "", model.model or "", api_key_variable=model.api_key_variable)
        if model.kind != "in_process":
            raise ValueError(f"kind: expected openai or in_process for embeddings, got {model.kind}")
        return self._local(model)

    def _local(self, model: Model) -> InProcessBackend:
        from intentfold.runtime.in_process import InProcessBackend

        base = model.base or ""
        if base not in self._loaded:
            self._loaded.clear()
            self._loaded[base] = InProcessBackend(base, chat_template_kwargs=self._chat_template_kwargs, **self._options)
        self._loaded[base].use(model.adapter)
        self._loaded[base].sample(model.temperature or 0.0, model.seed or 0)
        return self._loaded[base]
