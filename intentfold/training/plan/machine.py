"""The machines a plan is for: devices by name, and how an accelerate config shares a model among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

DeviceName = Literal["H200", "H100", "CPU-thread"]
Kind = Literal["one", "ddp", "zero2", "zero3", "fsdp2"]
BYTES = {"bfloat16": 2, "float32": 4, "float64": 8}


@dataclass(frozen=True, kw_only=True)
class Device:
    """What a device can do at best, and the shares of it that are assumed here until a run has measured them.

    `flops`: dense matrix FLOP/s by dtype; `bandwidth`: of its memory, bytes/s; `memory`: bytes; `link`: bytes/s to the others,
    one way. `mfu` and `reach` are the assumed shares of FLOP/s and of bandwidth; `launch`: assumed seconds to launch a kernel.
    """

    name: str
    flops: Mapping[str, float]
    bandwidth: float
    memory: float
    link: float
    mfu: float
    reach: float
    launch: float


# Peaks of the GPUs are the vendor's datasheets' (dense; float32 without TF32, which torch leaves off). The thread's are what
# scripts/bench_plan.py reached in float32 on the machine of docs/scaling.md; twice that in bfloat16 is assumed.
DEVICES: dict[str, Device] = {
    "H200": Device(
        name="H200", flops={"bfloat16": 989e12, "float32": 67e12}, bandwidth=4.8e12, memory=141e9, link=450e9,
        mfu=0.4, reach=0.8, launch=5e-6,
    ),
    "H100": Device(
        name="H100", flops={"bfloat16": 989e12, "float32": 67e12}, bandwidth=3.35e12, memory=80e9, link=450e9,
        mfu=0.4, reach=0.8, launch=5e-6,
    ),
    "CPU-thread": Device(
        name="CPU-thread", flops={"bfloat16": 132e9, "float32": 66e9}, bandwidth=9.9e9, memory=8e9, link=1e9,
        mfu=0.75, reach=0.8, launch=5e-6,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Launch:
    """How many processes train, and what they share: `zero2` gradients and optimizer, `zero3` and `fsdp2` the weights too."""

    kind: Kind
    ranks: int
    cpu: bool = False

    @property
    def shares_weights(self) -> bool:
        """Whether a rank holds only its part of the weights."""
        return self.kind in ("zero3", "fsdp2")

    @property
    def shares_optimizer(self) -> bool:
        """Whether a rank holds only its part of gradients and optimizer state."""
        return self.shares_weights or self.kind == "zero2"


def launch_of_file(file: Path) -> Launch:
    """What an accelerate config file launches. Raises `ValueError` for a kind of launch that is not planned for here."""
    config: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    ranks, cpu = int(config.get("num_processes", 1)), bool(config.get("use_cpu", False))
    kind = str(config.get("distributed_type", "NO"))
    if kind in ("NO", "MULTI_GPU"):
        return Launch("one" if ranks == 1 else "ddp", ranks, cpu)
    stage = (config.get("deepspeed_config") or {}).get("zero_stage")
    version = (config.get("fsdp_config") or {}).get("fsdp_version")
    if kind == "DEEPSPEED" and stage in (2, 3):
        return Launch("zero2" if stage == 2 else "zero3", ranks, cpu)
    if kind == "FSDP" and version == 2:
        return Launch("fsdp2", ranks, cpu)
    raise ValueError(f"{file}: expected NO, MULTI_GPU, DEEPSPEED (zero_stage 2 or 3) or FSDP (fsdp_version 2), got {kind}")


def launch_of_environment(environment: Mapping[str, str]) -> Launch:
    """What the launcher of this process launched, by the variables that accelerate and torchrun set."""
    ranks, cpu = int(environment.get("WORLD_SIZE", "1")), environment.get("ACCELERATE_USE_CPU", "").lower() == "true"
    if environment.get("ACCELERATE_USE_DEEPSPEED") == "true":
        return Launch("zero3" if environment.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3" else "zero2", ranks, cpu)
    if environment.get("ACCELERATE_USE_FSDP") == "true":
        return Launch("fsdp2", ranks, cpu)
    return Launch("one" if ranks == 1 else "ddp", ranks, cpu)
