"""The tables of docs/scaling.md, from the same estimator as `--dry-run`; a test holds the document to them.

python -m intentfold.training.plan.tables docs/scaling.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from intentfold.training.plan.cost import Part, Rows, Run, memory, parts
from intentfold.training.plan.machine import DEVICES, Launch
from intentfold.training.plan.shape import KNOWN

H200 = DEVICES["H200"]
STUDENTS = ("Qwen3.5-2B", "Qwen3.5-4B", "Qwen3.5-9B")
TEACHER = KNOWN["Qwen3.5-122B-A10B"]
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
ROWS = Rows(prompt=900, completion=48, longest_completion=256, teacher_prompt=1000)


def run_of(student: str, *, samples: bool) -> Run:
    """The step that the document plans: the shipped Qwen configs' sizes, rows of the lengths that it states."""
    shape = KNOWN[student]
    return Run(
        student=shape,
        rank=32,
        targets=TARGETS,
        dtype="bfloat16",
        rows_per_step=128,
        micro_batch=8,
        max_length=2048,
        checkpointing=True,
        rows=ROWS,
        samples=samples,
        teacher=shape if samples else None,
        teacher_holds="adapter" if samples else "nothing",
    )


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


def memory_table() -> str:
    """GB on one of 8 devices, by how they share: OPD with the student's own adapter as teacher."""
    rows = []
    for student in STUDENTS:
        for launch in (Launch("one", 1), Launch("ddp", 8), Launch("zero2", 8), Launch("zero3", 8), Launch("fsdp2", 8)):
            run = run_of(student, samples=True)
            held = memory(run, launch)
            weights = held["weights"] + held.get("weights gathered", 0.0)
            state = held["adapter"] + held["gradients"] + held["optimizer"] + held["teacher"]
            cells = (weights, state, held["activations"], held["logits"], held["KV cache"], sum(held.values()))
            rows.append([student, f"{launch.kind} x {launch.ranks}", *(f"{size / 1e9:.1f}" for size in cells)])
    return table(["student", "launch", "weights", "adapter, Adam, teacher", "activations", "logits", "KV cache", "all"], rows)


def step_table() -> str:
    """Seconds of a step on 8 devices under DDP, by part."""
    rows = []
    for student in STUDENTS:
        for samples in (False, True):
            run = run_of(student, samples=samples)
            found = {part.name: part for part in parts(run, H200, Launch("ddp", 8))}
            seconds = sum(part.seconds for part in found.values())
            tokens = run.rows_per_step * run.rows.row
            names = ("rollout: prompts", "rollout: decoding", "teacher", "student forward", "student backward")
            cells = [_cell(found.get(name)) for name in names]
            rows.append([student, "OPD" if samples else "SFT", *cells, f"{seconds:.2f}", f"{tokens / seconds:,.0f}"])
    head = ["student", "run", "prompts", "decoding", "teacher", "forward", "backward", "step, s", "tokens/s"]
    return table(head, rows)


def _cell(part: Part | None) -> str:
    return "–" if part is None else f"{part.seconds:.2f} ({part.bound})"


def teacher_table() -> str:
    """The 122B teacher on devices of its own: what it holds on each, and the seconds of scoring one step."""
    rows = []
    run = replace(run_of("Qwen3.5-4B", samples=True), teacher=TEACHER, teacher_holds="weights")
    for dtype, each in (("bfloat16", 2), ("fp8", 1)):
        for devices in (1, 2, 4, 8):
            weights = TEACHER.parameters * each / devices
            cache = TEACHER.cache(int(128 * ROWS.teacher_prompt), 128, 2) / devices
            fits = "yes" if weights + cache < 0.9 * H200.memory else "no"
            scoring = next(part for part in parts(run, H200, Launch("ddp", devices)) if part.name == "teacher")
            sizes = (f"{weights / 1e9:.0f}", f"{cache / 1e9:.1f}")
            rows.append([dtype, str(devices), *sizes, fits, f"{scoring.seconds:.2f}" if fits == "yes" else "–"])
    head = ["weights in", "devices", "weights on each, GB", "cache of 128 rows, GB", "fits in 90%", "scoring 128 rows, s"]
    return table(head, rows)


TABLES: Mapping[str, Callable[[], str]] = {"memory": memory_table, "step": step_table, "teacher": teacher_table}


def with_tables(document: str) -> str:
    """The document with each block between `<!-- table: NAME -->` and `<!-- end -->` made anew."""

    def made(match: re.Match[str]) -> str:
        return f"<!-- table: {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- table: (\w+) -->\n.*?<!-- end -->", made, document, flags=re.DOTALL)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
