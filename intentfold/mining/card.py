"""The dataset folder that mining leaves: JSON lines a split and a dataset card that the `datasets` library reads."""

from __future__ import annotations

import hashlib
import html
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from intentfold.codec.thinking import style_of
from intentfold.example import Example
from intentfold.prompts.templates import Role, role_of
from intentfold.records import write_jsonl, write_text

_THOUGHT = "A thought leads to each completion, written by the row's teacher; only those that end in a right answer are kept."
_ROW: dict[Role, str] = {
    "tracker": "is one fold: the tracker's prompt, the privileged prompt of a self-teacher, and the right completion.",
    "checker": "is one judgement: the checker's prompt, the privileged prompt of a self-teacher, and the executed verdict.",
    "agent": "is one task, told in a drifting dialogue or one clean request: the agent's prompt and an answer of full credit.",
    "learner": "is one correction step: the learner's prompt, the privileged prompt of a self-teacher, and the right edits.",
}


def write_dataset(
    folder: Path,
    splits: Mapping[str, Sequence[Example]],
    made_by: Mapping[str, Any],
    script: str = "data_gen/mine_examples.py",
    drafts: Mapping[str, Mapping[str, int]] | None = None,
) -> None:
    """Write `<split>.jsonl` and README.md (the card: counts, licences, hashes, how it was made).

    `drafts` counts by split what was sampled for thoughts: what was kept, what was not and why.

    Raises `ValueError` where there is no example at all. The card is written last: a folder with a card is whole.
    """
    if not any(splits.values()):
        raise ValueError(f"{folder}: no examples to write; were the traces empty?")
    for split, examples in splits.items():
        write_jsonl(folder / f"{split}.jsonl", examples)
    write_text(folder / "README.md", _card(folder, splits, made_by, script, drafts or {}))


def dataset_hash(folder: Path) -> str:
    """Identity of a dataset folder: a digest over the bytes of its splits, by name."""
    digest = hashlib.sha256()
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise FileNotFoundError(
            f"{folder}: expected a dataset folder with <split>.jsonl files, as data_gen/mine_examples.py writes"
        )
    for path in files:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _card(
    folder: Path,
    splits: Mapping[str, Sequence[Example]],
    made_by: Mapping[str, Any],
    script: str,
    drafts: Mapping[str, Mapping[str, int]],
) -> str:
    examples = [example for split in splits.values() for example in split]
    first = examples[0].provenance
    role = role_of(first.codec)
    licenses = Counter(example.provenance.license for example in examples)
    files = [{"split": split, "path": f"{split}.jsonl"} for split, rows in splits.items() if rows]
    header = {
        "configs": [{"config_name": "default", "data_files": files}],
        "license": sorted(name.lower() for name in licenses),
        "tags": ["intent-tracking", "intentfold"],
    }
    table = ["| split | examples | episodes | mined from | families | loads |", "|---|---|---|---|---|---|"]
    for split, rows in splits.items():
        told = [row.provenance for row in rows]
        cells = (Counter(p.mining for p in told), Counter(p.family for p in told), Counter(p.load for p in told))
        columns = " | ".join(_listed(cell) for cell in cells)
        table.append(f"| {split} | {len(rows)} | {len({p.episode for p in told})} | {columns} |")
    paragraphs = [
        f"---\n{yaml.safe_dump(header, sort_keys=False)}---",
        f"# {role.capitalize()} examples",
        f"One row {_ROW[role]}{f' {_THOUGHT}' if style_of(first.codec) else ''}",
        "\n".join(table),
        *(f"Drafts of {split}: {_listed(counts)}." for split, counts in drafts.items()),
        f"Licences: {_listed(licenses)}.",
        f"Codec `{first.codec}`, template hash `{first.template}`, dataset hash `{dataset_hash(folder)}`.",
        f"Made by `{script}` with\n\n```yaml\n{yaml.safe_dump(dict(made_by), sort_keys=True)}```",
    ]
    return "\n\n".join(paragraphs) + "\n"


def _listed(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{_plain(str(name))} {count}" for name, count in sorted(counts.items()))


def _plain(text: str) -> str:
    """Names from data as words of a table: no markup, one line."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|")
