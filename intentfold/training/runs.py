"""What the training scripts share: the adapted model, the settings of the trainer, the legs of a run, its outcome."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file

from intentfold.models import add_adapter, chosen_dtype, load
from intentfold.prompts.stamp import Stamp, write_stamp
from intentfold.records import canonical_json, write_text
from intentfold.training.arguments import TrainArguments
from intentfold.training.launch import EngineCheck, check_ranks, ranks
from intentfold.training.legs import CpuBudget, FiniteWeights, WholeCheckpoints, ended_by_sigterm, last_checkpoint, saving
from intentfold.training.teachers import TEACHER


def adapted_model(args: TrainArguments) -> tuple[Any, Any]:
    """The base with a trainable LoRA adapter (fresh, or `init_adapter` going on), and the tokenizer."""
    model, tokenizer = load(args.base, dtype=chosen_dtype(args.dtype), attention=args.attention)
    # The adapter stays in float32, except under ZeRO-3, which cannot gather parameters of two types together
    # (https://github.com/huggingface/trl/issues/6089).
    upcast = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") != "3"
    if args.init_adapter is not None:
        return add_adapter(model, args.init_adapter, trainable=True, upcast=upcast), tokenizer
    torch.manual_seed(args.seed)
    config = LoraConfig(r=args.lora_r, lora_alpha=args.lora_alpha, target_modules=targets(model, args), task_type="CAUSAL_LM")
    return get_peft_model(model, config, autocast_adapter_dtype=upcast), tokenizer


def targets(model: Any, args: TrainArguments) -> list[str] | str:
    """Names of the adapted layers; of a model that also sees, those of its language model alone."""
    if any("language_model." in name for name, _ in model.named_modules()):
        return rf".*language_model\..*\.({'|'.join(args.lora_targets)})"
    return list(args.lora_targets)


def accumulation(args: TrainArguments) -> int:
    """Forward passes per optimizer step and rank."""
    world = ranks()
    if args.rows_per_step % (args.micro_batch * world):
        raise ValueError(
            f"rows_per_step must be a multiple of micro_batch x ranks ({args.micro_batch} x {world}), got {args.rows_per_step}"
        )
    return args.rows_per_step // (args.micro_batch * world)


def trainer_settings(args: TrainArguments, steps: int) -> dict[str, Any]:
    """Settings that SFTConfig and DistillationConfig have in common."""
    bf16 = args.dtype == "bfloat16"
    return {
        "output_dir": str(args.out),
        "per_device_train_batch_size": args.micro_batch,
        "gradient_accumulation_steps": accumulation(args),
        "learning_rate": args.learning_rate,
        "lr_scheduler_type": args.schedule,
        "warmup_steps": args.warmup_steps,
        "weight_decay": args.weight_decay,
        "max_grad_norm": args.max_grad_norm,
        "max_steps": steps,
        "gradient_checkpointing": args.checkpointing,
        "bf16": bf16,
        # Without a GPU ranks that lack `use_cpu` each think that they are alone; with it DeepSpeed becomes plain DDP.
        "use_cpu": not torch.cuda.is_available() and os.environ.get("ACCELERATE_USE_DEEPSPEED") != "true",
        "ddp_backend": "gloo" if ranks() > 1 and not torch.cuda.is_available() else None,
        "save_strategy": "steps",
        "save_steps": args.save_steps,
        "save_total_limit": 2,
        "logging_steps": args.log_steps,
        "report_to": "none",
        "seed": args.seed,
        "restore_callback_states_from_checkpoint": True,
        "dataloader_pin_memory": torch.cuda.is_available(),
    }


def callbacks(args: TrainArguments) -> list[Any]:
    """A CPU budget, sound weights and whole checkpoints."""
    return [CpuBudget(args.max_cpu_minutes), FiniteWeights(), WholeCheckpoints()]


def train(trainer: Any, out: Path, facts: dict[str, Any], probes: list[list[int]]) -> None:
    """Train from the last whole checkpoint, or from the start.

    Leaves `adapter/`, `probes.safetensors` (the trained model's next-token logits after the `probes`, by which an
    export is proved) and, last of all, `metrics.json` with `facts` (role and template among them).
    """
    check_ranks(trainer.accelerator)
    trainer.add_callback(EngineCheck(trainer))
    checkpoint = last_checkpoint(out)
    with ended_by_sigterm(out):
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        answers = _answers(trainer, probes)
        with saving(out):
            _leave(trainer, out, facts, answers)


def _leave(trainer: Any, out: Path, facts: dict[str, Any], answers: dict[str, torch.Tensor]) -> None:
    trainer.save_model(str(out / "adapter"))
    if not trainer.is_world_process_zero():
        return
    save_file(answers, out / "probes.safetensors")
    # What TRL and peft leave beside the adapter: a card about TRL, pickled settings, a frozen teacher's copy.
    for extra in ("README.md", "training_args.bin"):
        (out / "adapter" / extra).unlink(missing_ok=True)
    shutil.rmtree(out / "adapter" / TEACHER, ignore_errors=True)
    write_stamp(out / "adapter", Stamp(facts["role"], facts["template"]))
    budget = next(callback for callback in trainer.callback_handler.callbacks if isinstance(callback, CpuBudget))
    outcome = {
        "steps": trainer.state.global_step,
        "cpu_seconds": round(budget.seconds, 1),
        "log": trainer.state.log_history,
        **facts,
    }
    write_text(out / "metrics.json", canonical_json(outcome) + "\n")


@torch.no_grad()
def _answers(trainer: Any, probes: list[list[int]]) -> dict[str, torch.Tensor]:
    model = trainer.model_wrapped
    model.eval()  # DeepSpeed's engine gives nothing back
    tensors: dict[str, torch.Tensor] = {}
    for place, ids in enumerate(probes):
        prompt = torch.tensor([ids], device=trainer.accelerator.device)
        with trainer.accelerator.autocast():
            logits = model(input_ids=prompt).logits[0, -1]
        tensors[f"prompt{place}"], tensors[f"logits{place}"] = prompt[0].cpu(), logits.float().cpu()
    return tensors
