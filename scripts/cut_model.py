"""A smaller model of the same vocabulary: some of a model's layers, evenly spread; an adapter is merged in first.

    python scripts/cut_model.py --base models/smollm2-135m-instruct --layers 20 --out runs/scale/models/cut20

A folder that exists is left as it is. The cut model needs training before it is of any use.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.models import save_cut


@dataclass(frozen=True)
class Arguments:
    """What to cut.

    Args:
        base: folder of the model
        layers: how many layers stay
        out: folder of the smaller model
        adapter: adapter folder that is merged into the base before the cut
    """

    base: Path
    layers: int
    out: Path
    adapter: Path | None = None


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    print(save_cut(args.base, args.out, args.layers, args.adapter))


if __name__ == "__main__":
    main()
