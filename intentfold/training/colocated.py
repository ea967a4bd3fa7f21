"""vLLM beside the trainer: each rank's own engine, on its own device, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from intentfold.runtime.roles import BackendError
from intentfold.runtime.sampling import Said, check_said
from intentfold.training.export import RANKS

GPU_MEMORY = 0.3  # the trainer has the rest


class ColocatedSampler:
    """An engine of this rank alone. `rank_of_lora` is the trained adapter's rank."""

    shared = False

    def __init__(self, args: Any, rank_of_lora: int, stop: Sequence[int]) -> None:
        try:
            from vllm import LLM
        except ImportError as error:
            raise BackendError(
                f"rollouts without rollout_servers run vLLM beside the trainer, where it is not installed ({error}): "
                "install it there, or name servers"
            ) from error
        self.max_tokens, self.stop = args.max_completion, list(stop)
        self._adapters: dict[str, tuple[int, str]] = {}
        with _own_device():
            self._engine = LLM(
                model=str(args.base),
                dtype=args.dtype,
                max_model_len=args.max_length,
                gpu_memory_utilization=args.rollouts.gpu_memory or GPU_MEMORY,
                enforce_eager=not torch.cuda.is_available(),
                enable_lora=True,
                max_loras=1,
                max_cpu_loras=2,
                max_lora_rank=next(rank for rank in RANKS if rank >= rank_of_lora),
                generation_config="vllm",
                seed=args.seed,
            )

    def load(self, name: str, folder: Path) -> None:
        self._adapters[name] = (len(self._adapters) + 1, str(folder.absolute()))

    def use(self, name: str) -> None:
        from vllm.lora.request import LoRARequest

        self._lora = LoRARequest(name, *self._adapters[name])

    def unload(self, name: str) -> None:
        # The adapter itself goes when the engine needs its room; its number is never given again.
        self._engine.llm_engine.remove_lora(self._adapters[name][0])

    def sample(self, prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Said]:
        from vllm import SamplingParams

        settings = {"temperature": 1.0, "max_tokens": self.max_tokens, "stop_token_ids": self.stop, "logprobs": 0}
        asked = [SamplingParams(**settings, seed=seed, detokenize=False) for seed in seeds]
        ids = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
        found = []
        for answer in self._engine.generate(ids, asked, lora_request=self._lora, use_tqdm=False) if ids else ():
            (said,) = answer.outputs
            logprobs = [place[id].logprob for id, place in zip(said.token_ids, said.logprobs, strict=True)]
            try:
                check_said(said.token_ids, logprobs, self.max_tokens, self.stop)
            except ValueError as error:
                raise BackendError(f"vLLM beside the trainer: {error}") from None
            found.append(Said(list(said.token_ids), logprobs, "vLLM beside the trainer"))
        return found


@contextmanager
def _own_device() -> Iterator[None]:
    """The device of this rank is the only one that a process started inside sees, and the ranks are none of its business."""
    hidden = {
        name: os.environ.pop(name) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE") if name in os.environ
    }
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if torch.cuda.is_available():
        devices = visible.split(",") if visible else [str(n) for n in range(torch.cuda.device_count())]
        os.environ["CUDA_VISIBLE_DEVICES"] = devices[torch.cuda.current_device()]
    try:
        yield
    finally:
        os.environ.update(hidden)
        if visible is None:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = visible
