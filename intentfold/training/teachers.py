"""Teachers behind one interface (design D4): a privileged self-teacher, a local model, a served model.

A teacher sees a row through a prompt of its own (`TeacherPrompt`) and judges the tokens that the student generated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.distributed.tensor import DTensor
from trl.kernels.chunked_divergence import ChunkedDivergenceFunction
from trl.trainer.utils import pad, use_adapter

from intentfold.models import load
from intentfold.training.arguments import Sees
from intentfold.training.divergence import head_divergence, outcome
from intentfold.training.preflight import check_vocabulary, prompt_ids
from intentfold.training.row_source import Asked
from intentfold.training.served import ServedTeacher, served_by
from intentfold.training.served_preflight import check_served

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
        ours, theirs = head_of(student, hidden_NH), head_of(teacher, teacher_hidden_NH)
        rows = min(_rows(ours[0]), _rows(theirs[0]))
        our_head = first_rows(ours[0], rows), first_rows(ours[1], rows)
        their_head = first_rows(theirs[0], rows), first_rows(theirs[1], rows)
        heads = (hidden_NH, *our_head, teacher_hidden_NH, *their_head)
        both = head_divergence if hidden_NH.device.type == "cpu" else ChunkedDivergenceFunction.apply
        each_N, entropy_N = both(*heads, trainer.beta, trainer.temperature)
        return outcome(each_N, entropy_N, scale, weights_N)

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


def head_of(model: Any, hidden_NH: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Weight and bias of the output head; whole, in the hidden states' type, where FSDP2 has sharded them (as TRL does it)."""
    head = model.get_output_embeddings()
    if not isinstance(head.weight, DTensor):
        return head.weight, head.bias
    return head.weight.full_tensor().to(hidden_NH.dtype), None if head.bias is None else head.bias.full_tensor()


def make_teacher(
    args: Any, model: Any, tokenizer: Any, examples: Sequence[Asked], probes: Sequence[Asked]
) -> tuple[LocalTeacher | ServedTeacher, Any]:
    """The teacher that train/opd.py's arguments name, and the second model where it has one.

    `examples` are worked rows shown before its question. The adapter teacher is loaded beside the student's. A served
    one is proved on `probes`, every time that a run starts or goes on.
    """
    prompt = TeacherPrompt(tokenizer, args.chat_template_kwargs, args.teacher_sees, examples)
    if args.teacher == "served":
        scorer, k = served_by(args), args.served.top_k
        proved = {"k": k, "tolerance": args.served.tolerance, "max_length": args.max_length, "weights": args.teacher_model}
        watch = check_served(scorer, tokenizer, [(prompt.ids(row), answer_ids(tokenizer, row)) for row in probes], **proved)
        return ServedTeacher(prompt, scorer, k=k, loss=args.served.loss, clip=args.served.clip, watch=watch), None
    if args.teacher == "base":
        return LocalTeacher(prompt), None
    if args.teacher == "adapter":
        model.load_adapter(str(args.teacher_adapter or args.init_adapter), adapter_name=TEACHER, is_trainable=False)
        model.set_adapter("default")
        return LocalTeacher(prompt, adapter=TEACHER), None
    larger, its_tokenizer = load(args.teacher_model, dtype=args.dtype, attention=args.attention)
    check_vocabulary(tokenizer, its_tokenizer)
    return LocalTeacher(prompt, model=larger), larger


def answer_ids(tokenizer: Any, asked: Asked) -> list[int]:
    """The right answer as ids, the stop token last."""
    return [*tokenizer(asked.completion(), add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]


def first_rows(head: Any, rows: int) -> Any:
    """An output head (or its bias, or None) without what it has beyond `rows`.

    Heads are padded to round numbers; where the tokenizers agree (`check_vocabulary`), no text has those rows.
    """
    return head if head is None or _rows(head) == rows else head[:rows]


def _rows(head: Any) -> int:
    """How many rows a head has when it is whole; under ZeRO-3 it is empty until it is gathered."""
    return int(getattr(head, "ds_shape", head.shape)[0])


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
