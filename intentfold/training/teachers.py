"""Teachers behind one interface (design D4): a privileged self-teacher, a local model, a served model.

A teacher sees a row through a prompt of its own (`TeacherPrompt`) and judges the tokens that the student generated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch.distributed.tensor import DTensor
from trl.kernels.chunked_divergence import ChunkedDivergenceFunction
from trl.trainer.utils import pad, use_adapter

from intentfold.models import load
from intentfold.training.divergence import head_divergence
from intentfold.training.preflight import check_vocabulary, prompt_ids
from intentfold.training.row_source import Asked

Sees = Literal["plain", "privileged"]
TEACHER = "teacher"  # name of the frozen adapter of a self-teacher


@dataclass(frozen=True)
class TeacherPrompt:
    """What a teacher is asked: the student's prompt or the privileged one, after worked examples where given.

    `examples` are rows shown as finished exchanges before the question, in the same form as the question.
    """

    tokenizer: Any
    template_kwargs: Mapping[str, Any]
    sees: Sees
    examples: Sequence[Asked] = ()

    def ids(self, asked: Asked) -> list[int]:
        """The teacher's prompt as ids."""
        question = self._ask(asked)
        shown: list[dict[str, str]] = []
        for example in self.examples:
            shown += [*self._ask(example)[1:], {"role": "assistant", "content": example.completion()}]
        return prompt_ids(self.tokenizer, [question[0], *shown, *question[1:]], self.template_kwargs)

    def _ask(self, asked: Asked) -> list[dict[str, str]]:
        return asked.privileged_prompt() if self.sees == "privileged" else asked.prompt()


class Teacher(Protocol):
    """What the student is drawn to. `columns` is asked once per optimizer step and rank, `divergence` per forward pass."""

    prompt: TeacherPrompt

    def columns(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        """Tensors with a row a sample, which ride along to `divergence`."""
        ...

    def divergence(
        self, trainer: Any, student: Any, hidden_NH: torch.Tensor, inputs: dict[str, Any], scale: Any, weights_N: Any = None
    ) -> Any:
        """(loss, sum of the student's entropies, N, each): divergence times weight, summed over the N tokens, over `scale`.

        `hidden_NH` are the student's last hidden states at the generated tokens, row after row. Without `weights_N` all weigh
        1. `each` are the (N,) divergences themselves, without gradient.
        """
        ...

    def says(self, trainer: Any, student: Any, inputs: dict[str, Any]) -> torch.Tensor:
        """(N,) the teacher's likeliest token at each place of the completions."""
        ...


class LocalTeacher:
    """A teacher in the process: an adapter on the student's own base (`adapter`; None for the bare base), or `model`.

    The self-teacher has no weights of its own but the adapter's.
    """

    def __init__(self, prompt: TeacherPrompt, *, adapter: str | None = None, model: Any = None) -> None:
        self.prompt, self.adapter, self.model = prompt, adapter, model

    def columns(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        ids, mask = left_padded(prompts, self.prompt.tokenizer.pad_token_id)
        return {"teacher_prompt_ids": ids, "teacher_prompt_mask": mask}

    def divergence(
        self, trainer: Any, student: Any, hidden_NH: torch.Tensor, inputs: dict[str, Any], scale: Any, weights_N: Any = None
    ) -> Any:
        teacher, teacher_hidden_NH = self._hidden(trainer, student, inputs)
        heads = (hidden_NH, *_head(student, hidden_NH), teacher_hidden_NH, *_head(teacher, teacher_hidden_NH))
        both = head_divergence if hidden_NH.device.type == "cpu" else ChunkedDivergenceFunction.apply
        each_N, entropy_N = both(*heads, trainer.beta, trainer.temperature)
        return _outcome(each_N, entropy_N, scale, weights_N)

    def says(self, trainer: Any, student: Any, inputs: dict[str, Any]) -> torch.Tensor:
        teacher, hidden_NH = self._hidden(trainer, student, inputs)
        with torch.no_grad():
            return teacher.get_output_embeddings()(hidden_NH).argmax(-1)

    @torch.no_grad()
    def _hidden(self, trainer: Any, student: Any, inputs: dict[str, Any]) -> tuple[Any, torch.Tensor]:
        asked = {**inputs, "prompt_ids": inputs["teacher_prompt_ids"], "prompt_mask": inputs["teacher_prompt_mask"]}
        if self.model is None:
            with self._active(student):
                return student, trainer.completion_hidden(student, asked)
        wrapped = trainer.teacher_model
        teacher = trainer.accelerator.unwrap_model(wrapped)
        return teacher, trainer._forward_redirection(wrapped, teacher, trainer.completion_hidden, teacher, asked)

    def _active(self, student: Any) -> AbstractContextManager[None]:
        return nullcontext() if self.adapter == student.active_adapter else use_adapter(student, self.adapter)


def _outcome(each_N: torch.Tensor, entropy_N: torch.Tensor, scale: Any, weights_N: Any) -> Any:
    """What `Teacher.divergence` returns; over the number of tokens where there is no `scale`."""
    count = torch.tensor(len(each_N), device=each_N.device)
    total = (each_N if weights_N is None else each_N * weights_N).sum()
    return total / (count.clamp(min=1) if scale is None else scale), entropy_N.sum(), count, each_N.detach()


def _head(model: Any, hidden_NH: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Weight and bias of the output head; whole, in the hidden states' type, where FSDP2 has sharded them (as TRL does it)."""
    head = model.get_output_embeddings()
    if not isinstance(head.weight, DTensor):
        return head.weight, head.bias
    return head.weight.full_tensor().to(hidden_NH.dtype), None if head.bias is None else head.bias.full_tensor()


def make_teacher(args: Any, model: Any, tokenizer: Any, examples: Sequence[Asked]) -> tuple[LocalTeacher, Any]:
    """The teacher that train/opd.py's arguments name, and the second model where it has one.

    `examples` are worked rows shown before its question. The adapter teacher is loaded beside the student's.
    """
    prompt = TeacherPrompt(tokenizer, args.chat_template_kwargs, args.teacher_sees, examples)
    if args.teacher == "base":
        return LocalTeacher(prompt), None
    if args.teacher == "adapter":
        model.load_adapter(str(args.teacher_adapter or args.init_adapter), adapter_name=TEACHER, is_trainable=False)
        model.set_adapter("default")
        return LocalTeacher(prompt, adapter=TEACHER), None
    larger, its_tokenizer = load(args.teacher_model, dtype=args.dtype, attention=args.attention)
    check_vocabulary(tokenizer, its_tokenizer)
    return LocalTeacher(prompt, model=larger), larger


# Ids of prompts and of completions, and k, to the k likeliest (id, log-probability) at each completion token.
TopLogprobs = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]], int], list[list[list[tuple[int, float]]]]]


class ServedTeacher:
    """A teacher behind an endpoint that gives the k likeliest tokens at each place: asked once per optimizer step.

    The divergence is that between the two distributions over k tokens and "any other", which bounds the one over
    the vocabulary from below (data-processing inequality).
    """

    def __init__(self, prompt: TeacherPrompt, ask: TopLogprobs, k: int) -> None:
        self.prompt, self.ask, self.k = prompt, ask, k

    def columns(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        width = max(map(len, completions))
        ids_BCK = torch.zeros(len(completions), width, self.k, dtype=torch.long)
        logprobs_BCK = torch.zeros(len(completions), width, self.k)
        for row, (places, completion) in enumerate(zip(self.ask(prompts, completions, self.k), completions, strict=True)):
            if [len(place) for place in places] != [self.k] * len(completion):
                raise ValueError(f"the teacher must give {self.k} tokens at each of the {len(completion)} places of a completion")
            ids_BCK[row, : len(places)] = torch.tensor([[id for id, _ in place] for place in places])
            logprobs_BCK[row, : len(places)] = torch.tensor([[logprob for _, logprob in place] for place in places])
        return {"teacher_ids": ids_BCK, "teacher_logprobs": logprobs_BCK}

    def divergence(
        self, trainer: Any, student: Any, hidden_NH: torch.Tensor, inputs: dict[str, Any], scale: Any, weights_N: Any = None
    ) -> Any:
        keep = inputs["completion_mask"].bool()
        logprobs_NV = (student.get_output_embeddings()(hidden_NH).float() / trainer.temperature).log_softmax(-1)
        ours_NK = logprobs_NV.gather(-1, inputs["teacher_ids"][keep])
        each_N = coarse_divergence(ours_NK, inputs["teacher_logprobs"][keep], trainer.beta)
        entropy_N = -(logprobs_NV.detach().exp() * logprobs_NV.detach()).sum(-1)
        return _outcome(each_N, entropy_N, scale, weights_N)

    def says(self, trainer: Any, student: Any, inputs: dict[str, Any]) -> torch.Tensor:
        return inputs["teacher_ids"][inputs["completion_mask"].bool()][:, 0]


def coarse_divergence(ours_NK: torch.Tensor, theirs_NK: torch.Tensor, beta: float) -> torch.Tensor:
    """(N,) generalised Jensen-Shannon divergence over K tokens and "any other", as TRL defines `beta`.

    1 is KL(student || teacher), 0 is KL(teacher || student), between them the mixture is
    (1 - beta) student + beta teacher (Agarwal et al. 2024, On-Policy Distillation of Language Models, section 2).
    """
    ours, theirs = _with_rest(ours_NK), _with_rest(theirs_NK)
    if beta == 1.0:
        return (ours.exp() * (ours - theirs)).sum(-1)
    if beta == 0.0:
        return (theirs.exp() * (theirs - ours)).sum(-1)
    middle = torch.logaddexp(ours + torch.log1p(torch.tensor(-beta)), theirs + torch.log(torch.tensor(beta)))
    return (beta * theirs.exp() * (theirs - middle) + (1 - beta) * ours.exp() * (ours - middle)).sum(-1)


def _with_rest(logprobs_NK: torch.Tensor) -> torch.Tensor:
    rest = 1.0 - logprobs_NK.float().exp().sum(-1, keepdim=True)
    return torch.cat([logprobs_NK.float(), rest.clamp(min=1e-6).log()], dim=-1)


def left_padded(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask, (rows, longest), padded on the left."""
    tensors = [torch.tensor(list(row)) for row in rows]
    masks = [torch.ones_like(tensor) for tensor in tensors]
    return pad(tensors, padding_value=pad_id, padding_side="left"), pad(masks, padding_value=0, padding_side="left")


def right_padded(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and mask, (rows, longest), padded on the right."""
    tensors = [torch.tensor(list(row)) for row in rows]
    masks = [torch.ones_like(tensor) for tensor in tensors]
    return pad(tensors, padding_value=pad_id, padding_side="right"), pad(masks, padding_value=0, padding_side="right")
