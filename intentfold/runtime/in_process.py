"""A local model as a backend: transformers, with LoRA adapters switched on one shared base. Torch is imported late."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from intentfold.dialogue import to_messages
from intentfold.records import content_hash
from intentfold.runtime.batching import batches, cheapest
from intentfold.runtime.decoding import continuations, greedy, has_linear_attention
from intentfold.runtime.roles import Completion, Prompt

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "bfloat16"]
# Shown the logits (B, V) of what is written first, and the places in the batch that they belong to.
Look = Callable[["torch.Tensor", Sequence[int]], None]


class InProcessBackend:
    """Batched decoding on a model folder; `use` switches between the base and its adapters, `sample` between greedy and sampled.

    Prompts go in batches of `batch_size` of like length, padded on the left, those that begin alike side by side; what they
    begin with is computed once, and rows that have stopped leave the batch.
    `chat_template_kwargs` (such as `enable_thinking: false`) go to the chat template, as in training.
    """

    def __init__(
        self,
        base: str | Path,
        adapter: str | Path | None = None,
        *,
        batch_size: int = 32,
        dtype: Dtype = "float32",
        device: str = "cpu",
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.base = str(base)
        self.batch_size = batch_size
        self.chat_template_kwargs = dict(chat_template_kwargs or {})
        self.tokenizer = AutoTokenizer.from_pretrained(self.base)
        model = AutoModelForCausalLM.from_pretrained(self.base, dtype=getattr(torch, dtype))
        self.model: Any = model.to(device).eval()
        self._stop = _stop_ids(self.model, self.tokenizer)
        self._dtype = dtype
        self._adapters: dict[str, str] = {}
        self.adapter: str | None = None
        self.sample(0.0, 0)
        self.use(adapter)

    def sample(self, temperature: float, seed: int) -> None:
        """Sample at this temperature from now on (0 is greedy): the same prompt and seed give the same text in any batch."""
        self.temperature, self.seed = temperature, seed

    def use(self, adapter: str | Path | None) -> None:
        """Answer with this adapter folder from now on, or with the base alone."""
        from peft import PeftModel

        self.adapter = None if adapter is None else str(adapter)
        if self.adapter is None:
            if self._adapters:
                self.model.base_model.disable_adapter_layers()
            return
        name = self._adapters.get(self.adapter)
        if name is None:
            name = f"adapter_{len(self._adapters)}"
            if not self._adapters:
                self.model = PeftModel.from_pretrained(self.model, self.adapter, adapter_name=name).eval()
            else:
                self.model.load_adapter(self.adapter, adapter_name=name)
            self._adapters[self.adapter] = name
        self.model.base_model.enable_adapter_layers()
        self.model.set_adapter(name, inference_mode=True)

    @property
    def name(self) -> str:
        """Base, adapter, precision and sampling, with a fingerprint of the files: other weights are another backend."""
        parts = [f"{folder}@{_fingerprint(Path(folder))}" for folder in (self.base, self.adapter) if folder is not None]
        sampled = (f"temperature {self.temperature}", f"seed {self.seed}") if self.temperature else ()
        return "+".join((*parts, self._dtype, *sampled))

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """One completion a prompt, in order; special tokens are left out of the text."""
        return self._complete(prompts, max_tokens, ())

    def complete_scored(self, prompts: Sequence[Prompt], max_tokens: int, options: Sequence[str]) -> list[Completion]:
        """As `complete`, and with the log-probability of the first token of each option as the first thing written.

        It is read from the logits that the writing begins with: no second run. Raises `ValueError` where two options begin
        with the same token.
        """
        firsts = [self.tokenizer(option, add_special_tokens=False)["input_ids"][0] for option in options]
        if len(set(firsts)) < len(firsts):
            raise ValueError(f"options must begin with different tokens, got {list(options)} with {firsts}")
        return self._complete(prompts, max_tokens, firsts)

    def _complete(self, prompts: Sequence[Prompt], max_tokens: int, firsts: Sequence[int]) -> list[Completion]:
        rows = [self.prompt_ids(prompt) for prompt in prompts]
        completions: dict[int, Completion] = {}
        # The cache of linear attention layers can neither be cut into rows nor go on after padding.
        generate = self._generate_plainly if has_linear_attention(self.model) else self._generate
        for batch in batches(rows, self.batch_size):
            scores: dict[int, list[float]] = {}

            def look(logits_BV: torch.Tensor, places: Sequence[int], scores: dict[int, list[float]] = scores) -> None:
                if firsts:
                    scores.update(zip(places, logits_BV.float().log_softmax(-1)[:, list(firsts)].tolist(), strict=True))

            begin = time.perf_counter()
            outputs = generate([rows[position] for position in batch], max_tokens, look)
            span = begin, time.perf_counter()
            for place, (position, ids) in enumerate(zip(batch, outputs, strict=True)):
                stopped = bool(ids) and ids[-1] in self._stop
                text = self.tokenizer.decode(ids[:-1] if stopped else ids, skip_special_tokens=True)
                logprobs = tuple(scores.get(place, ()))
                completions[position] = Completion(text, len(rows[position]), len(ids), stopped, logprobs, span)
        return [completions[position] for position in range(len(rows))]

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """The prompt through the tokenizer's own chat template, up to where the model writes on."""
        return list(
            self.tokenizer.apply_chat_template(
                to_messages(prompt), add_generation_prompt=True, tokenize=True, return_dict=False, **self.chat_template_kwargs
            )
        )

    def mean_logprobs(self, texts: Sequence[str]) -> list[float]:
        """The mean log-likelihood, in nats a token, of each plain text: every token after its first, no chat template."""
        import torch

        found = []
        with torch.inference_mode():
            for text in texts:
                ids_1T = torch.tensor([self.tokenizer(text)["input_ids"]], device=self.model.device)
                if ids_1T.shape[1] < 2:
                    raise ValueError(f"a text needs at least two tokens, got {text!r}")
                logprobs_1TV = self.model(input_ids=ids_1T).logits[:, :-1].float().log_softmax(-1)
                found.append(float(logprobs_1TV.gather(-1, ids_1T[:, 1:, None]).mean()))
        return found

    def embed(self, text: str) -> tuple[list[float], int]:
        """The mean of the last hidden states over the tokens of a plain text, and how many they are."""
        import torch

        ids_1T = torch.tensor([self.tokenizer(text)["input_ids"]], device=self.model.device)
        if not ids_1T.shape[1]:
            raise ValueError(f"a text needs at least one token, got {text!r}")
        with torch.inference_mode():
            hidden_1TD = self.model(input_ids=ids_1T, output_hidden_states=True, logits_to_keep=1).hidden_states[-1]
        return hidden_1TD[0].float().mean(0).tolist(), ids_1T.shape[1]

    def _generate(self, rows: Sequence[list[int]], max_tokens: int, look: Look) -> list[list[int]]:
        """Continuations of token rows, stop token included where one was written."""
        import torch

        chance = [torch.Generator().manual_seed(int(content_hash(f"{self.seed} {row}"), 16) >> 1) for row in rows]

        def drawn(logits_BV: torch.Tensor, places: Sequence[int]) -> torch.Tensor:
            noise_BV = torch.stack([torch.rand(logits_BV.shape[-1], generator=chance[place]) for place in places])
            # The largest of logits and Gumbel noise is a sample of the softmax.
            return (logits_BV.float() / self.temperature - (-noise_BV.to(logits_BV.device).log()).log()).argmax(-1)

        begun = False

        def choose(logits_BV: torch.Tensor, places: Sequence[int]) -> torch.Tensor:
            nonlocal begun
            if not begun:
                look(logits_BV, places)
                begun = True
            return drawn(logits_BV, places) if self.temperature else greedy(logits_BV, places)

        return continuations(self.model, rows, cheapest(rows), max_tokens, self._stop, choose)

    def _generate_plainly(self, rows: Sequence[list[int]], max_tokens: int, look: Look) -> list[list[int]]:
        """Like `_generate`, by the library's own loop: no shared prefix, and every row runs as long as the longest."""
        import torch

        if self.temperature:
            raise ValueError(f"{self.base}: a model with linear attention is not sampled in process; serve it")
        longest = max(map(len, rows))
        device = self.model.device
        output = self.model.generate(
            input_ids=torch.tensor([[0] * (longest - len(row)) + row for row in rows], device=device),
            attention_mask=torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device),
            max_new_tokens=max_tokens,
            do_sample=False,
            eos_token_id=sorted(self._stop),
            pad_token_id=min(self._stop),
            output_logits=True,
            return_dict_in_generate=True,
        )
        look(output.logits[0], range(len(rows)))
        written = output.sequences[:, longest:].tolist()
        ends = [next((n + 1 for n, id in enumerate(ids) if id in self._stop), len(ids)) for ids in written]
        return [ids[:end] for ids, end in zip(written, ends, strict=True)]


def _stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    configured = model.generation_config.eos_token_id
    ids = configured if isinstance(configured, list) else [configured]
    found = frozenset(id for id in (*ids, tokenizer.eos_token_id) if id is not None)
    if not found:
        raise ValueError(f"{model.name_or_path}: neither the generation config nor the tokenizer names a stop token")
    return found


def _fingerprint(folder: Path) -> str:
    """Names, sizes and times of the files that decide what a model folder answers."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".json", ".jinja", ".bin"))
    return content_hash("\n".join(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files))
