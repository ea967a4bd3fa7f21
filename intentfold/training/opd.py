"""On-policy distillation on TRL's DistillationTrainer, on the student's own tokens and its own states (design D3).

What is overridden: where samples come from (`_prepare_inputs`: a `RowSource` instead of a column of prompts) and whom the
divergence is taken to (`_compute_loss`: a teacher with a prompt of its own). The divergence is TRL's. On a CPU
what rows begin with alike is computed once, in sampling as in both forward passes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from torch.utils.data import Sampler
from trl import DistillationTrainer
from trl.models.utils import unwrap_model_for_generation

from intentfold.records import canonical_json, write_text
from intentfold.runtime.decoding import continuations, has_linear_attention, sampled
from intentfold.training.packing import Row, families, pack, packed_hidden
from intentfold.training.preflight import PreflightError, check_teacher, prompt_ids
from intentfold.training.row_source import Asked, RowSource
from intentfold.training.teachers import TEACHER, LocalTeacher, Teacher, TeacherPrompt, left_padded, right_padded


class OnPolicyTrainer(DistillationTrainer):
    """DistillationTrainer whose rows come from `rollout`: dialogues on the student's own states, or mined examples.

    `gate` are rows with known right answers on which teacher and student are scored before the first step.
    `max_prompt` bounds a prompt's tokens: where the student's own state has outgrown it, the row goes back to the
    oracle state, and that is counted (`overlong`). `until_error` takes into the loss the tokens up to the first that is not
    the right answer's: what comes after it is text that should not be, and a teacher that knows better can only write on.
    """

    def __init__(
        self,
        *,
        rollout: RowSource[Any],
        teacher: Teacher,
        gate: Sequence[Asked],
        max_prompt: int,
        until_error: bool = False,
        **kwargs: Any,
    ) -> None:
        self.rollout, self.teacher, self.gate, self.max_prompt = rollout, teacher, gate, max_prompt
        self.until_error = until_error
        self._gated = False
        self._buffered_inputs: Any = None
        super().__init__(train_dataset=Dataset.from_list(rollout.rows()), **kwargs)

    def _get_train_sampler(self, dataset: Any = None) -> Sampler[int]:
        args = self.args
        rows = args.per_device_train_batch_size * args.gradient_accumulation_steps * self.accelerator.num_processes
        return self.rollout.order(rows, args.max_steps, args.gradient_accumulation_steps, args.seed)

    # Sampling

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """TRL's buffer of one optimizer step, in micro-batches of like length without columns of padding alone."""
        passes = self.args.gradient_accumulation_steps
        if not self._gated and self.state.global_step == 0:
            self.check_teacher()
        if self._step % passes == 0 or self._buffered_inputs is None:
            batch = self._generate_and_score_completions(generation_batch)
            order = torch.tensor(by_length(batch), device=batch["prompt_ids"].device)
            self._buffered_inputs = [trimmed(batch, rows) for rows in order.chunk(passes)]
        return self._buffered_inputs[self._step % passes]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        folds = self.rollout.begin(inputs, self.state.global_step, self.accelerator.process_index)
        prompts = [self._ids(fold.prompt()) for fold in folds]
        overlong = [len(prompt) > self.max_prompt for prompt in prompts]
        if any(overlong):
            folds = [self.rollout.from_oracle(fold) if long else fold for fold, long in zip(folds, overlong, strict=True)]
            prompts = [self._ids(fold.prompt()) for fold in folds]
        completions = self._sample(prompts)
        outputs = [self._tokenizer.decode(ids, skip_special_tokens=True) for ids in completions]
        seen = self.rollout.finish(folds, outputs)
        seen["overlong"] = [float(long) for long in overlong]
        seen["unstopped"] = [float(ids[-1] not in self.eos_token_ids) for ids in completions]
        seen["tokens"] = [float(len(ids)) for ids in completions]
        for name, values in seen.items():
            everywhere = gather_object(values)
            self._metrics["train"][f"rollout/{name}"].append(sum(everywhere) / len(everywhere))
        if self.until_error:
            right = [self._answer(fold) for fold in folds]
            completions = [ids[: on_track(ids, wanted)] for ids, wanted in zip(completions, right, strict=True)]
        batch = self._batch(folds, prompts, completions)
        batch["together"] = torch.tensor(self.rollout.together(folds), device=self.accelerator.device)
        batch["num_items_in_batch"] = self.accelerator.gather(batch["completion_mask"].sum()).sum()
        return batch

    def _sample(self, prompts: list[list[int]]) -> list[list[int]]:
        """A completion of the student's a prompt, drawn at temperature 1, stop token included where one was drawn."""
        with self.accelerator.autocast():
            model = self.accelerator.unwrap_model(self.model_wrapped)
            if self.accelerator.device.type != "cpu" or has_linear_attention(model):
                return list(self._generate_single_turn(prompts, None, {}))
            alike = families([Row(ids, len(ids)) for ids in prompts])
            model.eval()
            # Under ZeRO-3 the weights are gathered first: ranks that stop at different lengths would wait for one another.
            again = {"gradient_checkpointing_kwargs": self.args.gradient_checkpointing_kwargs}
            with unwrap_model_for_generation(self.model_wrapped, self.accelerator, **again) as whole:
                said = continuations(whole, prompts, alike, self.args.max_completion_length, self.eos_token_ids, sampled)
            model.train()
            return said

    def _batch(self, folds: Sequence[Asked], prompts: list[list[int]], completions: list[list[int]]) -> dict[str, Any]:
        pad_id = self._tokenizer.pad_token_id
        prompt_ids_BP, prompt_mask_BP = left_padded(prompts, pad_id)
        completion_ids_BC, completion_mask_BC = right_padded(completions, pad_id)
        columns = self.teacher.columns([self.teacher.prompt.ids(fold) for fold in folds], completions)
        batch = {
            "prompt_ids": prompt_ids_BP,
            "prompt_mask": prompt_mask_BP,
            "completion_ids": completion_ids_BC,
            "completion_mask": completion_mask_BC,
            **columns,
        }
        return {name: tensor.to(self.accelerator.device) for name, tensor in batch.items()}

    def _ids(self, messages: list[dict[str, str]]) -> list[int]:
        return prompt_ids(self._tokenizer, messages, self.chat_template_kwargs)

    def _answer(self, asked: Asked) -> list[int]:
        """The right answer as ids, the stop token last."""
        return [*self._tokenizer(asked.completion(), add_special_tokens=False)["input_ids"], self.eos_token_ids[0]]

    # Loss

    def _compute_loss(self, unwrapped_student: Any, inputs: dict[str, Any], num_items_in_batch: Any) -> Any:
        # `_forward_redirection` steps around the student's own forward, and with it around accelerate's autocast.
        with self.accelerator.autocast():
            hidden_NH = self.completion_hidden(unwrapped_student, inputs)
            loss, entropy, count = self.teacher.divergence(self, unwrapped_student, hidden_NH, inputs, num_items_in_batch)
        return loss, entropy.detach(), count

    def completion_hidden(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        """(N, H) last hidden states from which the N completion tokens of the batch are predicted, row after row."""
        if self.accelerator.device.type == "cpu":
            return packed_hidden(_body(model), pack(_rows(inputs), alike=not has_linear_attention(model)))
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        hidden_BCH = self._get_last_hidden_state(model, ids, mask, inputs["completion_ids"].size(1))
        return hidden_BCH[inputs["completion_mask"].bool()]

    # Proofs before the first step

    @torch.no_grad()
    def check_teacher(self) -> None:
        """Score teacher and student on whole right answers, stop token included, and the student against itself."""
        self._gated = True
        student, wrapped = self.accelerator.unwrap_model(self.model_wrapped), self.model_wrapped
        said: dict[str, list[list[int]]] = {"teacher": [], "student": []}
        right: list[list[int]] = []
        gap = 0.0
        for start in range(0, len(self.gate), self.args.per_device_train_batch_size):
            folds = self.gate[start : start + self.args.per_device_train_batch_size]
            prompts = [self._ids(fold.prompt()) for fold in folds]
            answers = [self._answer(fold) for fold in folds]
            batch = self._batch(folds, prompts, answers)
            itself = LocalTeacher(
                TeacherPrompt(self._tokenizer, self.chat_template_kwargs, "plain"), adapter=student.active_adapter
            )
            mirror = {**batch, **{k: v.to(self.accelerator.device) for k, v in itself.columns(prompts, answers).items()}}
            with self.accelerator.autocast():
                for name, who, asked in (("teacher", self.teacher, batch), ("student", itself, mirror)):
                    tokens = self._forward_redirection(wrapped, student, who.says, self, student, asked)
                    said[name] += [row.tolist() for row in tokens.split([len(answer) for answer in answers])]
                if not start:  # positions are off in one micro-batch as in all
                    gap = self._forward_redirection(wrapped, student, self._gap, student, itself, mirror)
            right += answers
        if abs(gap) > 1e-3:
            raise PreflightError(f"the divergence of the student from itself must be 0, got {gap:.4g}: positions are off")
        scores = check_teacher(said["teacher"], said["student"], right)
        self.log({f"gate/{name}": value for name, value in scores.items()})

    def _gap(self, student: Any, itself: LocalTeacher, batch: dict[str, Any]) -> float:
        loss, _, _ = itself.divergence(self, student, self.completion_hidden(student, batch), batch, None)
        return float(loss)

    # Legs

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        folder = Path(str(self.args.output_dir)) / f"checkpoint-{self.state.global_step}"
        if self.is_world_process_zero():
            # The frozen adapter is not part of the run's state, and beside it Trainer would not load the trained one.
            shutil.rmtree(folder / TEACHER, ignore_errors=True)
        write_text(folder / self._rollout_file(), canonical_json(self.rollout.state()))
        self.accelerator.wait_for_everyone()

    def train(self, resume_from_checkpoint: str | None = None, **kwargs: Any) -> Any:
        # Not in `_load_from_checkpoint`, which Trainer does not call under DeepSpeed.
        if resume_from_checkpoint is not None:
            saved = (Path(resume_from_checkpoint) / self._rollout_file()).read_text(encoding="utf-8")
            self.rollout.restore(json.loads(saved))
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def _rollout_file(self) -> str:
        return f"rollout-{self.accelerator.process_index}.json"


def on_track(said: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens of `said` are as in `right`, and the first that is not."""
    same = next((n for n, (a, b) in enumerate(zip(said, right, strict=False)) if a != b), min(len(said), len(right)))
    return min(same + 1, len(said))


def _body(model: Any) -> Any:
    """The model without its head, with its adapter where it has one."""
    return (model.get_base_model() if hasattr(model, "get_base_model") else model).base_model


def _rows(inputs: dict[str, Any]) -> list[Row]:
    """The rows of a padded batch."""
    columns = (inputs[f"{part}_{what}"].tolist() for part in ("prompt", "completion") for what in ("ids", "mask"))
    rows = []
    for prompt, prompt_mask, completion, completion_mask in zip(*columns, strict=True):
        asked = [id for id, kept in zip(prompt, prompt_mask, strict=True) if kept]
        said = [id for id, kept in zip(completion, completion_mask, strict=True) if kept]
        rows.append(Row([*asked, *said], len(asked)))
    return rows


def by_length(batch: dict[str, Any]) -> list[int]:
    """Places of the batch's rows, the short before the long; rows that stand `together` share most of their prompt and stay."""
    groups = batch["together"].tolist()
    longest: dict[int, int] = {}
    for group, length in zip(groups, (batch["prompt_mask"].sum(1) + batch["completion_mask"].sum(1)).tolist(), strict=True):
        longest[group] = max(longest.get(group, 0), length)
    return sorted(range(len(groups)), key=lambda place: (longest[groups[place]], groups[place]))


def trimmed(batch: dict[str, Any], rows: torch.Tensor) -> dict[str, Any]:
    """Some rows of a batch, without the columns that are padding in all of them."""
    part = {name: value[rows] if value.ndim else value for name, value in batch.items()}
    for prefix in ("prompt", "teacher_prompt"):
        if f"{prefix}_mask" in part:
            first = int(part[f"{prefix}_mask"].any(0).int().argmax())
            for name in (f"{prefix}_ids", f"{prefix}_mask"):
                part[name] = part[name][:, first:]
    width = int(part["completion_mask"].sum(1).max())
    for name in ("completion_ids", "completion_mask", "teacher_ids", "teacher_logprobs"):
        if name in part:
            part[name] = part[name][:, :width]
    return part
