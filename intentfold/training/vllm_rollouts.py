"""Rollouts written by vLLM, served or beside the trainer: the adapter alone is swapped in as the student learns.

Every time that it is, what vLLM says of the tokens that it samples is compared with what the trainer says of them: a server that
samples with another adapter, base, dtype or temperature is found out before anything is learned from it.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate.utils import broadcast_object_list, gather_object
from torch.nn.utils.rnn import pad_sequence

from intentfold.runtime.roles import BackendError
from intentfold.runtime.sampling import Said, TokenSampler
from intentfold.training.arguments import Rollouts
from intentfold.training.legs import agreed, saving
from intentfold.training.preflight import PreflightError
from intentfold.training.served_preflight import check_served_vocabulary
from intentfold.training.teachers import TEACHER


class AdapterSampler(Protocol):
    """What samples at temperature 1 with the adapter loaded last. `shared`: one for all ranks, for which the first one loads."""

    shared: bool

    def load(self, name: str, folder: Path) -> None:
        """Take the adapter in `folder`, under a name that no other had."""
        ...

    def use(self, name: str) -> None:
        """Sample with a loaded adapter from now on."""
        ...

    def unload(self, name: str) -> None:
        """Forget an adapter."""
        ...

    def sample(self, prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Said]:
        """A completion a prompt, each from its own seed. Raises `BackendError` for what cannot be a sample."""
        ...


class ServedSampler:
    """vLLM servers that all ranks share."""

    shared = True

    def __init__(self, sampler: TokenSampler, max_tokens: int, stop: Sequence[int], rank: int) -> None:
        self.sampler, self.max_tokens, self.stop, self.rank = sampler, max_tokens, stop, rank

    def load(self, name: str, folder: Path) -> None:
        self.sampler.load(name, folder)

    def use(self, name: str) -> None:
        self.sampler.model = name

    def unload(self, name: str) -> None:
        self.sampler.unload(name)

    def sample(self, prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Said]:
        return self.sampler.sample(prompts, seeds, self.max_tokens, self.stop, first=self.rank)


class VllmRollouts:
    """The student's samples by `sampler`, which gets its adapter every `sync_every` optimizer steps, and as a leg begins.

    In between, what is sampled lags behind what is trained, and a token's divergence weighs what `importance` says. The states
    that a tracker's dialogues have come to by lagging samples are taken as they are. Adapters go through `<out>/synced`.
    """

    def __init__(self, sampler: AdapterSampler, settings: Rollouts, out: Path, seed: int) -> None:
        self.sampler, self.settings, self.out, self.seed = sampler, settings, out, seed
        self._leg = ""
        self._synced = self._written = 0

    def sync(self, trainer: Any) -> None:
        """Swap in the student's adapter where that is due. Every rank takes part."""
        step, before, self._written = trainer.state.global_step, self._leg and self._name(), 0
        if before and step % self.settings.sync_every:
            return
        if not before:
            # vLLM keeps the keys and values of a prompt by the adapter's name: one that was used for other weights tells lies.
            self._leg = broadcast_object_list([prefix(self.out) + uuid.uuid4().hex[:8]])[0]
        old, self._synced = self.out / f"synced/step-{self._synced}", step
        folder = self.out / f"synced/step-{step}"
        with saving(self.out):
            trainer.save_model(str(folder))
        if trainer.is_world_process_zero():
            # The trained adapter alone: not a frozen teacher's copy, nor what describes the run.
            shutil.rmtree(folder / TEACHER, ignore_errors=True)
        trainer.accelerator.wait_for_everyone()
        loads = not self.sampler.shared or trainer.is_world_process_zero()
        agreed(lambda: self.sampler.load(self._name(), folder) if loads else None)
        self.sampler.use(self._name())
        if before:
            agreed(lambda: self.sampler.unload(before) if loads else None)
        if trainer.is_world_process_zero() and before:
            shutil.rmtree(old)

    def _name(self) -> str:
        return f"{self._leg}-{self._synced}"

    def write(self, trainer: Any, prompts: Sequence[Sequence[int]]) -> list[Said]:
        """A completion a prompt, the same ones again where a step is done again. Ranks may have none to ask for."""
        first, rank = self._written, trainer.accelerator.process_index
        self._written += len(prompts)
        seeds = [_seed(f"{self.seed}/{trainer.state.global_step}/{rank}/{n}") for n in range(first, self._written)]
        return agreed(lambda: self.sampler.sample(prompts, seeds))

    def settle(self, trainer: Any, passes: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Prove what was sampled with the adapter of now, or weigh what was sampled with an older one; returns what to log.

        `passes` are the micro-batches of a step with the columns of `columns`; their `weights` are changed in place. Raises
        `BackendError`, on all ranks, where vLLM's log-probabilities are further off the trainer's than `tolerance`.
        """
        lag = trainer.state.global_step - self._synced
        logged = {"rollout/lag": float(lag)}
        if not lag:
            gap, source = max(gather_object([self._gap(trainer, passes)]))
            logged["rollout/server_gap"] = gap
            if not gap <= self.settings.tolerance:
                raise BackendError(
                    f"{source}: the log-probabilities with which it samples are {gap:.4g} off the trainer's, more than the "
                    f"tolerance {self.settings.tolerance:g}: it samples with another adapter, base or dtype than is trained"
                )
            for batch in passes:
                del batch["sampled_logprobs"]  # those of now, but for rounding
            return logged
        weights = []
        for batch in passes:
            weights_BC = importance(
                self._ours(trainer, batch) - batch["sampled_logprobs"], batch["completion_mask"], self.settings.max_importance
            )
            batch["weights"] = batch["weights"] * weights_BC
            weights += weights_BC[batch["completion_mask"].bool()].tolist()
        everywhere = gather_object(weights)
        logged["rollout/importance"] = sum(everywhere) / len(everywhere)
        logged["rollout/truncated"] = sum(one >= self.settings.max_importance for one in everywhere) / len(everywhere)
        return logged

    def _gap(self, trainer: Any, passes: Sequence[dict[str, Any]]) -> tuple[float, str]:
        """The largest difference, and where it is, over the passes in which all sources have been met, on whatever rank."""
        worst = (0.0, "")
        for batch in passes[: max(gather_object([covering([set(batch["source"].tolist()) for batch in passes])]))]:
            off_BC = (self._ours(trainer, batch) - batch["sampled_logprobs"]).abs().nan_to_num(float("inf"))
            off_B = off_BC.masked_fill(~batch["completion_mask"].bool(), 0.0).amax(1)
            row = int(off_B.argmax())
            worst = max(worst, (float(off_B[row]), self._sources[int(batch["source"][row])]))
        return worst

    def _ours(self, trainer: Any, batch: dict[str, Any]) -> torch.Tensor:
        """(B, C) the trainer's log-probabilities of the sampled tokens, 0 where there is none."""
        mask_BC = batch["completion_mask"].bool()
        ours_BC = torch.zeros(mask_BC.shape, device=mask_BC.device)
        return ours_BC.masked_scatter(mask_BC, trainer.sampled_logprobs(batch))

    def columns(self, said: Sequence[Said], completions: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        """(B, C) `sampled_logprobs` of the completions, which may be the first parts of what was said, and (B,) `source`s."""
        self._sources = sorted({one.source for one in said})
        logprobs = [torch.tensor(one.logprobs[: len(ids)]) for one, ids in zip(said, completions, strict=True)]
        return {
            "sampled_logprobs": pad_sequence(logprobs, batch_first=True),
            "source": torch.tensor([self._sources.index(one.source) for one in said]),
        }


def importance(gap_BC: torch.Tensor, mask_BC: torch.Tensor, most: float) -> torch.Tensor:
    """(B, C) what a token's divergence weighs: how much likelier the student of now is to write what stands before it.

    `gap_BC` are log-probabilities (nats) of the sampled tokens, the student's of now less those that they were sampled with. A
    token's divergence is that of two distributions behind the tokens before it, so that the ratio of those alone makes the
    expectation that of samples of now; it is held below `most` (truncated importance sampling, Ionides 2008, Truncated Importance
    Sampling, section 2), which biases and bounds it. Exact where the loss does not itself look at what comes after a token
    (weights by operation and by outcome do).
    """
    gap_BC = gap_BC.double().masked_fill(~mask_BC.bool(), 0.0)
    return (gap_BC.cumsum(1) - gap_BC).exp().clamp(max=most).float()


def covering(met: Sequence[set[int]]) -> int:
    """How many of the first sets hold everything that any of them holds."""
    everything = set().union(*met)
    return next(count for count in range(len(met) + 1) if set().union(*met[:count]) == everything)


def prefix(out: Path) -> str:
    """What the names of a run's adapters begin with."""
    return f"intentfold-{hashlib.sha256(str(out.absolute()).encode()).hexdigest()[:8]}-"


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1  # vLLM's seeds are signed


def make_rollouts(args: Any, model: Any, tokenizer: Any, stop: Sequence[int], rank: int) -> VllmRollouts | None:
    """What the arguments `rollouts` and `rollout_servers` name; None where the trainer samples itself.

    Servers are asked whether they are the student's base. Raises `PreflightError`, or `BackendError` where one fails.
    """
    if args.rollouts is None:
        return None
    if args.rollout_servers is None:
        from intentfold.training.colocated import ColocatedSampler

        beside = ColocatedSampler(args, model.peft_config["default"].r, stop)
        return VllmRollouts(beside, args.rollouts, args.out, args.seed)
    named = {name: getattr(args.rollout_servers, name) for name in ("in_flight", "retries", "timeout", "api_key_variable")}
    sampler = TokenSampler(args.rollout_servers.endpoints, args.rollout_servers.model, **named)
    check_rollout_cards(sampler, args.max_length)
    for place in range(len(sampler.endpoints)):
        check_served_vocabulary(sampler, tokenizer, place)
    if rank == 0:
        sampler.unload_leftovers(prefix(args.out))
    return VllmRollouts(ServedSampler(sampler, args.max_completion, stop, rank), args.rollouts, args.out, args.seed)


def check_rollout_cards(sampler: TokenSampler, max_length: int) -> None:
    """Every endpoint must serve the base under its name, with room for `max_length` tokens."""
    for endpoint, cards in zip(sampler.endpoints, sampler.cards(), strict=True):
        bases = {card.id: card for card in cards if card.parent is None}
        if sampler.model not in bases:
            raise PreflightError(f"{endpoint}: expected the base {sampler.model!r}, it serves {sorted(bases)}")
        room = bases[sampler.model].max_model_len
        if room is None or room < max_length:
            raise PreflightError(f"{endpoint}: max_model_len is {room}, and max_length needs {max_length}: start vLLM with more")
