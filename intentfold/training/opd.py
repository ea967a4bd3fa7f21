"""On-policy distillation on TRL's DistillationTrainer, on the student's own tokens and its own states (design D3).

What is overridden: where samples come from (`_prepare_inputs`: a `RowSource` instead of a column of prompts) and whom the
divergence is taken to (`_compute_loss`: a teacher with a prompt of its own). The divergence is TRL's. On a CPU
its gradient is taken along (`divergence.py`), and what rows begin with alike is computed once, in sampling as in both forward
passes; of whole dialogues on any device.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

import torch
from accelerate.utils import DistributedType, gather_object
from datasets import Dataset
from torch.utils.data import Sampler
from trl import DistillationTrainer
from trl.models.utils import unwrap_model_for_generation

from intentfold.records import canonical_json, write_text
from intentfold.runtime.decoding import continuations, has_linear_attention, sampled
from intentfold.runtime.roles import BackendError
from intentfold.runtime.sampling import Said
from intentfold.training.arguments import RowOutcome
from intentfold.training.divergence import token_logprobs
from intentfold.training.legs import agreed, goes_on, last_checkpoint, saving
from intentfold.training.packing import Row, families, pack, packed_hidden
from intentfold.training.preflight import PreflightError, check_teacher, prompt_ids
from intentfold.training.row_source import Asked, RowSource
from intentfold.training.segments import segmentable
from intentfold.training.teachers import (
    TEACHER,
    LocalTeacher,
    Teacher,
    TeacherPrompt,
    answer_ids,
    head_of,
    left_padded,
    right_padded,
)
from intentfold.training.tree_decoding import TreeDecoder, body
from intentfold.training.vllm_rollouts import VllmRollouts
from intentfold.training.weighting import EVEN, OPERATIONS, Weighting, mean_one

# Columns of a batch that have a place for each token of the completions.
PLACED = ("completion_ids", "completion_mask", "operations", "weights", "teacher_ids", "teacher_logprobs", "sampled_logprobs")


class OnPolicyTrainer(DistillationTrainer):
    """DistillationTrainer whose rows come from `rollout`: dialogues on the student's own states, or mined examples.

    `gate` are rows with known right answers on which teacher and student are scored before the first step.
    `max_prompt` bounds a prompt's tokens: where the student's own state has outgrown it, the row goes back to the
    oracle state, and that is counted (`overlong`). `until_error` takes into the loss the tokens up to the first that is not
    the right answer's: what comes after it is text that should not be, and a teacher that knows better can only write on.
    `weighting` says what the tokens count: the loss is their weighted mean. `vllm` samples for the trainer, where given. The logs
    hold the plain mean divergence of the tokens in the loss by what their line folds to (`kl/add`, …) and their number
    (`tokens/add`, …).
    """

    def __init__(
        self,
        *,
        rollout: RowSource[Any],
        teacher: Teacher,
        gate: Sequence[Asked],
        max_prompt: int,
        until_error: bool = False,
        weighting: Weighting = EVEN,
        vllm: VllmRollouts | None = None,
        **kwargs: Any,
    ) -> None:
        self.rollout, self.teacher, self.gate, self.max_prompt = rollout, teacher, gate, max_prompt
        self.until_error, self.weighting, self.vllm = until_error, weighting, vllm
        self._by_operation = torch.zeros(2, len(OPERATIONS), dtype=torch.float64)  # divergence and tokens since the last log
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
            before = self._before_step()
            try:
                self._buffered_inputs = self._sampled_step(generation_batch, passes)
            except BackendError as error:
                raise BackendError(f"step {self.state.global_step + 1}: {error}. {self._leave_checkpoint(*before)}") from error
        return self._buffered_inputs[self._step % passes]

    def _sampled_step(self, generation_batch: Any, passes: int) -> list[dict[str, Any]]:
        batch = self._generate_and_score_completions(generation_batch)
        micro_batches = [trimmed(batch, rows) for rows in in_passes(batch, passes, self.rollout.whole_dialogues)]
        for name, value in self.vllm.settle(self, micro_batches).items() if self.vllm else ():
            self._metrics["train"][name].append(value)
        return micro_batches

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        folds: list[Any] = []
        prompts: list[list[int]] = []
        written: list[Said] = []
        outputs: list[str] = []
        seen: dict[str, list[float]] = {}
        write = self._writer()
        wave = self.rollout.begin(inputs, self.state.global_step, self.accelerator.process_index)
        # A rank whose dialogues are through writes along for nothing: sharded weights are gathered by all or none.
        while any(gather_object([bool(wave)])):
            if not wave:
                write([] if self.vllm else prompts[:1], [0])
                continue
            asked, its_prompts, overlong = self._in_bounds(wave)
            said = write(its_prompts, self.rollout.together(asked))
            its_outputs = [self._tokenizer.decode(one.ids, skip_special_tokens=True) for one in said]
            happened = self.rollout.finish(asked, its_outputs)
            happened["overlong"] = [float(long) for long in overlong]
            for name, values in happened.items():
                seen.setdefault(name, []).extend(values)
            folds, prompts, written = [*folds, *asked], [*prompts, *its_prompts], [*written, *said]
            outputs += its_outputs
            wave = self.rollout.more()
        seen["unstopped"] = [float(one.ids[-1] not in self.eos_token_ids) for one in written]
        seen["tokens"] = [float(len(one.ids)) for one in written]
        readings = self.rollout.readings(folds, outputs)
        for outcome in get_args(RowOutcome) if self.weighting.outcomes else ():
            seen[f"outcome_{outcome}"] = [float(reading.outcome == outcome) for reading in readings]
        for name, values in seen.items():
            everywhere = gather_object(values)
            self._metrics["train"][f"rollout/{name}"].append(sum(everywhere) / len(everywhere))
        groups = self.rollout.together(folds)
        weights = [self.weighting.row(reading) for reading in readings]
        kept = in_the_loss(weights, self.args.gradient_accumulation_steps, groups if self.rollout.whole_dialogues else None)
        folds, readings = [folds[n] for n in kept], [readings[n] for n in kept]
        prompts, written = [prompts[n] for n in kept], [written[n] for n in kept]
        completions = [one.ids for one in written]
        if self.until_error:
            right = [self._answer(fold) for fold in folds]
            completions = [ids[: on_track(ids, wanted)] for ids, wanted in zip(completions, right, strict=True)]
        batch = self._batch(folds, prompts, completions)
        batch["together"] = torch.tensor([groups[n] for n in kept], device=self.accelerator.device)
        for name, column_BC in self.weighting.columns(self._tokenizer, completions, readings).items():
            batch[name] = column_BC.to(self.accelerator.device)
        count = batch["num_items_in_batch"] = self.accelerator.gather(batch["completion_mask"].sum()).sum()
        for name, column in self.vllm.columns(written, completions).items() if self.vllm else ():
            batch[name] = column.to(self.accelerator.device)
        batch["weights"] = mean_one(batch["weights"], self.accelerator.gather(batch["weights"].sum()).sum(), count)
        return batch

    def _in_bounds(self, folds: list[Any]) -> tuple[list[Any], list[list[int]], list[bool]]:
        """The folds, their prompts, and which of them had to go back to the oracle state."""
        prompts = [self._ids(fold.prompt()) for fold in folds]
        overlong = [len(prompt) > self.max_prompt for prompt in prompts]
        if any(overlong):
            folds = [self.rollout.from_oracle(fold) if long else fold for fold, long in zip(folds, overlong, strict=True)]
            prompts = [self._ids(fold.prompt()) for fold in folds]
        return folds, prompts, overlong

    def _writer(self) -> Callable[[list[list[int]], Sequence[int]], list[Said]]:
        """What turns the prompts of a wave, and the groups that they stand in, into completions."""
        if vllm := self.vllm:
            vllm.sync(self)
            return lambda prompts, groups: vllm.write(self, prompts)
        model = self.accelerator.unwrap_model(self.model_wrapped)
        whole = self.accelerator.distributed_type in (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU)
        if not (self.rollout.whole_dialogues and whole and segmentable(model)):
            return lambda prompts, groups: [Said(ids) for ids in self._sample(prompts)]
        decoder = TreeDecoder(model, self.args.max_completion_length, self.eos_token_ids, sampled)

        def write(prompts: list[list[int]], groups: Sequence[int]) -> list[Said]:
            model.eval()
            with self.accelerator.autocast():
                said = decoder.write(prompts, groups)
            model.train()
            self._metrics["train"]["computed/sampling"].append(decoder.computed / decoder.apart)
            return [Said(ids) for ids in said]

        return write

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
        asked = [self.teacher.prompt.ids(fold) for fold in folds]
        columns = agreed(lambda: self.teacher.columns(asked, completions))
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
        return answer_ids(self._tokenizer, asked)

    # Loss

    def _compute_loss(self, unwrapped_student: Any, inputs: dict[str, Any], num_items_in_batch: Any) -> Any:
        # `_forward_redirection` steps around the student's own forward, and with it around accelerate's autocast.
        with self.accelerator.autocast():
            hidden_NH = self.completion_hidden(unwrapped_student, inputs)
            keep = inputs["completion_mask"].bool()
            weights_N = inputs["weights"][keep] if "weights" in inputs else None
            asked = (self, unwrapped_student, hidden_NH, inputs, num_items_in_batch, weights_N)
            loss, entropy, count, each_N = self.teacher.divergence(*asked)
        if "operations" in inputs:
            self._count(each_N, inputs["operations"][keep])
        return loss, entropy.detach(), count

    def _count(self, each_N: torch.Tensor, operations_N: torch.Tensor) -> None:
        """Take the divergence of tokens into the sums by operation."""
        known = operations_N >= 0
        both_2N = torch.stack([each_N, torch.ones_like(each_N)])[:, known].double()
        self._by_operation = self._by_operation.to(each_N.device).index_add(1, operations_N[known], both_2N)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """TRL's, and the mean divergence by operation over all ranks and steps since the last log."""
        sums_2O = self.accelerator.reduce(self._by_operation.to(self.accelerator.device), "sum")
        self._by_operation = torch.zeros_like(sums_2O)
        for operation, total, tokens in zip(OPERATIONS, *sums_2O.tolist(), strict=True):
            if tokens:
                logs |= {f"kl/{operation.lower()}": total / tokens, f"tokens/{operation.lower()}": tokens}
        super().log(logs, start_time)

    def completion_hidden(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        """(N, H) last hidden states from which the N completion tokens of the batch are predicted, row after row."""
        if self.accelerator.device.type == "cpu" or self.rollout.whole_dialogues:
            packed = pack(_rows(inputs), body(model))
            self._metrics["train"]["computed/passes"].append(packed.computed / packed.apart)
            return packed_hidden(body(model), packed)
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        hidden_BCH = self._get_last_hidden_state(model, ids, mask, inputs["completion_ids"].size(1))
        return hidden_BCH[inputs["completion_mask"].bool()]

    @torch.no_grad()
    def sampled_logprobs(self, inputs: dict[str, Any]) -> torch.Tensor:
        """(N,) the student's log-probabilities (nats) of the N completion tokens of the batch, row after row. A collective."""
        student = self.accelerator.unwrap_model(self.model_wrapped)

        def ours(model: Any, inputs: dict[str, Any]) -> torch.Tensor:
            ids_N, hidden_NH = inputs["completion_ids"][inputs["completion_mask"].bool()], self.completion_hidden(model, inputs)
            return token_logprobs(hidden_NH, *head_of(model, hidden_NH), ids_N)

        with self.accelerator.autocast():
            return self._forward_redirection(self.model_wrapped, student, ours, student, inputs)

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
        loss, *_ = itself.divergence(self, student, self.completion_hidden(student, batch), batch, None)
        return float(loss)

    # Legs

    def _before_step(self) -> tuple[dict[str, Any], torch.Tensor, list[torch.Tensor]]:
        """What a step changes before its loss is there: the rows' state, and torch's random numbers."""
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
        return self.rollout.state(), torch.get_rng_state(), cuda

    def _leave_checkpoint(self, rows: dict[str, Any], random: torch.Tensor, cuda: list[torch.Tensor]) -> str:
        """Save the run as it was before the step; returns how it goes on."""
        out, step = Path(str(self.args.output_dir)), self.state.global_step
        if step and last_checkpoint(out) != out / f"checkpoint-{step}":
            self.rollout.restore(rows)
            torch.set_rng_state(random)
            if cuda:
                torch.cuda.set_rng_state_all(cuda)
            self._save_checkpoint(self.model, None)
            self.callback_handler.on_save(self.args, self.state, self.control)
        return f"Mend it, {goes_on(out)}"

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        folder = Path(str(self.args.output_dir)) / f"checkpoint-{self.state.global_step}"
        with saving(folder.parent):
            super()._save_checkpoint(model, trial)
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


def in_the_loss(weights: Sequence[float], passes: int, groups: Sequence[int] | None = None) -> list[int]:
    """Places of the rows that weigh something: no pass is spent on others, but for one a group, and one for each of `passes`."""
    kept = [weight > 0 for weight in weights]
    among = groups or [0] * len(kept)
    there = {group for group, is_kept in zip(among, kept, strict=True) if is_kept}
    for place, group in enumerate(among):
        if group not in there or sum(kept) < passes:
            kept[place] = True
            there.add(group)
    return [place for place, is_kept in enumerate(kept) if is_kept]


def on_track(said: Sequence[int], right: Sequence[int]) -> int:
    """How many tokens of `said` are as in `right`, and the first that is not."""
    same = next((n for n, (a, b) in enumerate(zip(said, right, strict=False)) if a != b), min(len(said), len(right)))
    return min(same + 1, len(said))


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


def in_passes(batch: dict[str, Any], passes: int, whole_groups: bool) -> Sequence[torch.Tensor]:
    """Places of the batch's rows for each of `passes` forward passes, by length; no group is cut where they are to be whole."""
    order = torch.tensor(by_length(batch), device=batch["prompt_ids"].device)
    if not whole_groups:
        return order.tensor_split(passes)  # never fewer than asked, as `chunk` may give
    together = batch["together"][order]
    groups = torch.tensor(list(dict.fromkeys(together.tolist())), device=order.device)
    return [order[torch.isin(together, some)] for some in groups.tensor_split(passes)]


def trimmed(batch: dict[str, Any], rows: torch.Tensor) -> dict[str, Any]:
    """Some rows of a batch, without the columns that are padding in all of them."""
    part = {name: value[rows] if value.ndim else value for name, value in batch.items()}
    for prefix in ("prompt", "teacher_prompt"):
        if f"{prefix}_mask" in part:
            first = int(part[f"{prefix}_mask"].any(0).int().argmax())
            for name in (f"{prefix}_ids", f"{prefix}_mask"):
                part[name] = part[name][:, first:]
    width = int(part["completion_mask"].sum(1).max())
    for name in PLACED:
        if name in part:
            part[name] = part[name][:, :width]
    return part
