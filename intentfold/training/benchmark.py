"""Dialogues of random words, and trainers that distil on them side by side: IntentFold's, and TRL's two.

An optimizer step is one dialogue and every turn of it a row: system, all turns up to it, the state, then what is written.
The first step writes given words, so that the gradients of all trainers can be compared; the others write the student's own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import Sampler, SequentialSampler
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import DistillationConfig, DistillationTrainer
from trl.experimental.gkd import GKDConfig, GKDTrainer

from intentfold.runtime.sampling import Said
from intentfold.training.opd import OnPolicyTrainer
from intentfold.training.teachers import LocalTeacher, TeacherPrompt
from intentfold.training.weighting import Reading

Arm = Literal[
    "intentfold", "intentfold_own_states", "trl_distillation", "trl_distillation_checkpointing", "trl_gkd", "trl_gkd_plain"
]
SPECIAL = ("<pad>", "<end>", "<unknown>")
TEMPLATE = "{% for message in messages %}{{ message['content'] + ' ' }}{% endfor %}"


@dataclass(frozen=True)
class Shape:
    """What is distilled: tokens of a dialogue's parts, and (hidden size, layers) of both random models."""

    turns: int
    steps: int
    student: tuple[int, int]
    teacher: tuple[int, int]
    vocabulary: int
    system: int
    turn: int
    state: int
    written: int
    seed: int


class Dialogues:
    """One dialogue for the first step and one for each of `steps` timed ones: `prompts[dialogue][turn]`, as words.

    `given` is what the first step writes, as ids by prompt.
    """

    def __init__(self, shape: Shape) -> None:
        rng = random.Random(shape.seed)
        self.shape = shape
        self.prompts: list[list[str]] = []
        for _ in range(shape.steps + 1):
            said = self._words(rng, shape.system)
            self.prompts.append([])
            for _ in range(shape.turns):
                said += self._words(rng, shape.turn)
                self.prompts[-1].append(" ".join([*said, *self._words(rng, shape.state)]))
        ids = range(len(SPECIAL), shape.vocabulary)
        self.given = {prompt: rng.choices(ids, k=shape.written) for prompt in self.prompts[0]}

    def _words(self, rng: random.Random, count: int) -> list[str]:
        return [f"w{id}" for id in rng.choices(range(len(SPECIAL), self.shape.vocabulary), k=count)]

    def after(self, prompt: str, written: str) -> str:
        """The prompt with the state that the student wrote the turn before."""
        words = prompt.split()
        cut = len(words) - self.shape.state
        return " ".join([*words[:cut], *[*written.split(), *words[cut:]][: self.shape.state]])


@dataclass(frozen=True)
class Turned:
    """A turn of a dialogue as something to ask (`row_source.Asked`)."""

    words: str
    dialogue: int
    turn: int
    name: str = ""

    def prompt(self) -> list[dict[str, str]]:
        return [{"role": "user", "content": self.words}]

    privileged_prompt = prompt

    def completion(self) -> str:
        return ""


class Talks:
    """The dialogues as a `RowSource`, a step a dialogue: its turns at once, or each on the state that the turn before wrote."""

    whole_dialogues = True

    def __init__(self, dialogues: Dialogues, own_states: bool) -> None:
        self.dialogues, self.own_states = dialogues, own_states
        self._next: list[Turned] = []

    def rows(self) -> list[dict[str, int]]:
        return [{"dialogue": place} for place in range(len(self.dialogues.prompts))]

    def order(self, rows: int, steps: int, repeat: int, seed: int) -> Sampler[int]:
        return SequentialSampler(self.rows())

    def begin(self, rows: Sequence[dict[str, Any]], step: int, rank: int) -> list[Turned]:
        place = rows[0]["dialogue"]
        turns = [Turned(words, place, turn) for turn, words in enumerate(self.dialogues.prompts[place])]
        return turns[:1] if self.own_states and place else turns

    def more(self) -> list[Turned]:
        asked, self._next = self._next, []
        return asked

    def together(self, asked: Sequence[Turned]) -> list[int]:
        return [0] * len(asked)

    def from_oracle(self, asked: Turned) -> Turned:
        return asked

    def readings(self, asked: Sequence[Turned], outputs: Sequence[str]) -> list[Reading]:
        return [Reading("wrong")] * len(asked)  # words by chance: nothing is right, and all weigh the same

    def finish(self, asked: Sequence[Turned], outputs: Sequence[str]) -> dict[str, list[float]]:
        last = asked[-1]
        prompts = self.dialogues.prompts[last.dialogue]
        if last.turn + 1 < len(prompts):
            words = self.dialogues.after(prompts[last.turn + 1], outputs[-1])
            self._next = [Turned(words, last.dialogue, last.turn + 1)]
        return {}

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


@dataclass
class Marks(TrainerCallback):
    """CPU time at the end of every step, and the first step's gradient as one vector."""

    ends: list[float] = field(default_factory=list)
    gradient: Any = None

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 0:
            parts = [p.grad.flatten().numpy() for _, p in sorted(kwargs["model"].named_parameters())]
            self.gradient = np.concatenate(parts)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.ends.append(time.process_time())


def random_model(shape: Shape, size: tuple[int, int], seed: int) -> LlamaForCausalLM:
    """A Llama with weights drawn from `seed`."""
    hidden, layers = size
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=max(1, hidden // 64),
        num_key_value_heads=max(1, hidden // 64),
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
    )
    return LlamaForCausalLM(config)


def word_tokenizer(vocabulary: int) -> PreTrainedTokenizerFast:
    """A word a token, and a chat template that adds nothing."""
    words = {word: place for place, word in enumerate([*SPECIAL, *(f"w{id}" for id in range(len(SPECIAL), vocabulary))])}
    backend = Tokenizer(models.WordLevel(words, unk_token=SPECIAL[2]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    pad, end, unknown = SPECIAL
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=pad, eos_token=end, unk_token=unknown)
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def make_trainer(arm: Arm, dialogues: Dialogues, out: str) -> Any:
    """The arm's trainer over the dialogues; the same models, learning rate, divergence (reverse KL) and rows for all."""
    shape = dialogues.shape
    tokenizer = word_tokenizer(shape.vocabulary)
    shared = {
        "model": random_model(shape, shape.student, shape.seed),
        "teacher_model": random_model(shape, shape.teacher, shape.seed + 1).eval(),
        "processing_class": tokenizer,
    }
    settings = {
        "output_dir": out,
        "max_steps": shape.steps + 1,
        "learning_rate": 1e-4,
        "max_grad_norm": 0.0,  # the gradient as it is
        "beta": 1.0,
        "temperature": 1.0,
        "gradient_checkpointing": arm in ("trl_distillation_checkpointing", "trl_gkd"),
        "gradient_accumulation_steps": 1,
        "save_strategy": "no",
        "logging_steps": 1000,
        "report_to": [],
        "disable_tqdm": True,
        "use_cpu": True,
        "bf16": False,
        "seed": shape.seed,
    }
    turns = [prompt for dialogue in dialogues.prompts for prompt in dialogue]
    if arm in ("intentfold", "intentfold_own_states"):
        config = DistillationConfig(**settings, per_device_train_batch_size=1, max_completion_length=shape.written)
        teacher = LocalTeacher(TeacherPrompt(tokenizer, {}, "plain"), model=shared["teacher_model"])
        talks = Talks(dialogues, arm == "intentfold_own_states")
        trainer = _Given(rollout=talks, teacher=teacher, gate=(), max_prompt=8192, args=config, **shared)
        trainer._gated = True  # random models: no teacher is better
    elif arm in ("trl_distillation", "trl_distillation_checkpointing"):
        rows = Dataset.from_list([{"prompt": [{"role": "user", "content": words}]} for words in turns])
        config = DistillationConfig(
            **settings, per_device_train_batch_size=shape.turns, max_completion_length=shape.written, shuffle_dataset=False
        )
        trainer = _GivenDistillation(args=config, train_dataset=rows, **shared)
    else:
        end = {"role": "assistant", "content": SPECIAL[1]}
        rows = Dataset.from_list([{"messages": [{"role": "user", "content": words}, end]} for words in turns])
        config = GKDConfig(
            **settings, per_device_train_batch_size=shape.turns, max_new_tokens=shape.written, max_length=8192, lmbda=1.0
        )
        trainer = _GivenGKD(args=config, train_dataset=rows, **shared)
    trainer.given = {tuple(tokenizer(prompt)["input_ids"]): ids for prompt, ids in dialogues.given.items()}
    return trainer


class _Given(OnPolicyTrainer):
    given: dict[tuple[int, ...], list[int]]

    def _writer(self) -> Any:
        write = super()._writer()
        return lambda prompts, groups: (
            write(prompts, groups) if self.state.global_step else [Said(self.given[tuple(ids)]) for ids in prompts]
        )


class _GivenDistillation(DistillationTrainer):
    given: dict[tuple[int, ...], list[int]]

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        if self.state.global_step:
            return super()._generate_single_turn(prompt_ids, *args, **kwargs)
        return [self.given[tuple(ids)] for ids in prompt_ids]


class _GivenGKD(GKDTrainer):
    given: dict[tuple[int, ...], list[int]]

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        return SequentialSampler(self.train_dataset)

    def generate_on_policy_outputs(self, model: Any, inputs: Any, generation_config: Any) -> Any:
        if self.state.global_step:
            return GKDTrainer.generate_on_policy_outputs(model, inputs, generation_config)
        kept = inputs["prompt_attention_mask"].bool()
        said = torch.tensor([self.given[tuple(ids[its].tolist())] for ids, its in zip(inputs["prompts"], kept, strict=True)])
        ids = torch.cat([inputs["prompts"], said], dim=1)
        labels = torch.cat([torch.full_like(inputs["prompts"], -100), said], dim=1)
        return ids, torch.cat([inputs["prompt_attention_mask"], torch.ones_like(said)], dim=1), labels
