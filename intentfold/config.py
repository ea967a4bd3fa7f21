"""Arguments of scripts: one dataclass, a YAML file and the command line, strictly typed; and the run's record."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import yaml
from jsonargparse import ArgumentParser

from intentfold.records import canonical_json, write_text

T = TypeVar("T")
PACKAGES = ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "deepspeed", "vllm", "sqlglot", "math-verify")


def parse(arguments: type[T], argv: list[str] | None, doc: str | None) -> T:
    """The script's arguments from `--config FILE` and flags.

    Unknown keys, wrong types, values that `arguments` refuses and an `out` that is no folder end the program (exit code 2)
    with the field's name.
    """
    parser = ArgumentParser(description=doc, parser_mode="yaml")
    parser.add_argument("--config", action="config", help="a YAML file of arguments; flags after it win")
    parser.add_class_arguments(arguments)
    parsed = parser.parse_args(_spelled(arguments, sys.argv[1:] if argv is None else argv))
    try:
        values = {name: value for name, value in parser.instantiate(parsed).as_dict().items() if name != "config"}
        made = arguments(**values)
        _check_folder(getattr(made, "out", None))
        return made
    except ValueError as error:
        parser.error(str(error))


def _check_folder(out: Any) -> None:
    """Raise `ValueError` where a folder cannot be made because a file stands there, or on the way."""
    for path in (out, *out.parents) if isinstance(out, Path) else ():
        if path.exists() and not path.is_dir():
            raise ValueError(
                f"out: expected a folder, got {out}" + (f" under the file {path}" if path != out else ", which is a file")
            )


def _spelled(arguments: Any, argv: Sequence[str]) -> list[str]:
    """Flags as their fields are spelled: `--dry-run` is `--dry_run`, and a switch without a value is true."""
    kinds = {field.name: field.type for field in fields(arguments)}
    words = []
    for word, after in zip_longest(argv, argv[1:], fillvalue="--"):
        flag, given, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if word.startswith("--") and name in kinds:
            word = f"--{name}{given}{value}"
            if not given and kinds[name] in (bool, "bool") and after.startswith("--"):
                word += "=true"
        words.append(word)
    return words


def check_names(what: str, names: Iterable[str], reserved: Iterable[str] = ()) -> None:
    """Raise `ValueError` for names that cannot be part of a file's name or that already stand for something else."""
    names, taken = list(names), set(reserved)
    if bad := [name for name in names if not re.fullmatch(r"\w[\w.+-]*", name)]:
        raise ValueError(f"{what}: a name is made of letters, digits and . + -, got {bad}")
    if bad := sorted(taken.intersection(names)):
        raise ValueError(f"{what}: {bad} already stand for something else in the results; expected names outside {sorted(taken)}")


def check_same_run(folder: Path, arguments: Any, free: tuple[str, ...] = ()) -> None:
    """Raise `ValueError` naming the fields where `folder` was made with other arguments (those in `free` may differ).

    A field that the record lacks is younger than the run, which did what the field's default says.
    """
    recorded = folder / "config.yaml"
    if not recorded.exists():
        return
    before, now = yaml.safe_load(recorded.read_text(encoding="utf-8")), plain(arguments)
    if not isinstance(before, dict):
        raise ValueError(f"{recorded}: expected the arguments of a run, got {str(before)[:40]!r}")
    before = {**_defaults(arguments), **before}
    changed = [f"{n} was {before.get(n)!r}, is {now.get(n)!r}" for n in sorted(before | now) if before.get(n) != now.get(n)]
    changed = [change for change in changed if change.split(" ")[0] not in free]
    if changed:
        raise ValueError(f"{folder} was made with other arguments ({'; '.join(changed)}): use another folder or remove it")


def plain(arguments: Any) -> dict[str, Any]:
    """A dataclass of arguments as plain data, as it is recorded."""
    return _plain(asdict(arguments))


def _defaults(arguments: Any) -> dict[str, Any]:
    found = {one.name: one.default for one in fields(arguments) if one.default is not MISSING}
    found |= {one.name: one.default_factory() for one in fields(arguments) if one.default_factory is not MISSING}
    return _plain({name: asdict(value) if is_dataclass(value) else value for name, value in found.items()})  # type: ignore[arg-type]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(values, default=str))


def record_run(folder: Path, arguments: Any) -> None:
    """Write what made a folder: resolved arguments, versions and revision (`config.yaml`, `versions.json`)."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.yaml", yaml.safe_dump(plain(arguments), sort_keys=True))
    write_text(folder / "versions.json", canonical_json(versions()) + "\n")


def versions() -> dict[str, str]:
    """Versions of Python, the packages that decide results, and the git revision (with `+changes` where dirty)."""
    found = {"python": platform.python_version(), "revision": revision()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def revision() -> str:
    """The checkout's git revision, or `unknown` outside a checkout."""
    here = Path(__file__).parent
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=True)
        changes = subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=here, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+changes" if changes.stdout.strip() else "")
