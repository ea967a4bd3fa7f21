"""Export a trained adapter for serving: a PEFT folder with a model card, its effect proved on a clean base.

    python train/export_adapter.py --config configs/train/export_adapter/demo.yaml

Refuses what a vLLM server would refuse or silently ignore.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import yaml

from intentfold.config import parse, record_run
from intentfold.records import write_text


@dataclass(frozen=True)
class Arguments:
    """What to export.

    Args:
        run: folder of a finished training run (train/sft.py or train/opd.py)
        out: folder of the exported adapter
        name: what the adapter is called when served
        results: results.json of a closed-loop run, for the card
        arm: the arm of `results` that this adapter is
        tolerance: largest difference of a logit that still counts as equal
    """

    run: Path
    out: Path
    name: str
    results: Path | None = None
    arm: str = "opd"
    tolerance: float = 1e-2


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    if not (args.run / "metrics.json").exists():
        raise SystemExit(f"{args.run}: no finished training run here (metrics.json is missing)")
    export(args)
    print(f"{args.out}: exported; the line to serve it stands in its README.md")


def export(args: Arguments) -> None:
    from intentfold import models
    from intentfold.training import export as exporting

    settings = yaml.safe_load((args.run / "config.yaml").read_text(encoding="utf-8"))
    facts = json.loads((args.run / "metrics.json").read_text(encoding="utf-8"))
    base, adapter = Path(settings["base"]), args.run / "adapter"
    model, _ = models.load(base, dtype=settings["dtype"])
    rank = exporting.check_servable(adapter, exporting.linear_layers(model))
    kind = (settings["dtype"], settings["attention"])
    effect = exporting.prove(base, adapter, args.run / "probes.safetensors", *kind, args.tolerance)
    exporting.copy_adapter(adapter, args.out)
    record_run(args.out, args)
    card = exporting.model_card(
        name=args.name,
        base=base.name,
        rank=rank,
        facts=facts,
        metrics=measured(args.results, args.arm) if args.results else {},
        effect=effect,
        template_kwargs=settings["chat_template_kwargs"],
    )
    write_text(args.out / "README.md", card)


def measured(results: Path, arm: str) -> dict[str, str]:
    """The arm's rows over all cases, as they stand on the card. Raises `ValueError` where it has none."""
    rows = [row for row in json.loads(results.read_text(encoding="utf-8")) if row["arm"] == arm and "," not in row["metric"]]
    if not rows:
        raise ValueError(f"{results}: no rows of arm {arm!r}")
    return {
        row["metric"]: f"{row['mean']:.3f} ({row['low']:.3f} to {row['high']:.3f}, n {row['n']}, agent {row['agent']})"
        for row in rows
        if row["mean"] is not None
    }


if __name__ == "__main__":
    main()
