"""The walls of the house: which module may import which, where torch may be, and what a script may be."""

from __future__ import annotations

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIBRARY = sorted((ROOT / "intentfold").rglob("*.py"))
SCRIPTS = sorted(path for folder in ("data_gen", "train", "eval") for path in (ROOT / folder).glob("*.py"))
# Floors from the ground up; a module may import its own package, its floor as named, and every floor below.
FLOORS = [
    {"records", "task", "intent", "dialogue", "tool", "asset"},
    {"codec", "prompts", "example", "trace", "trajectory", "config", "stages"},
    {"graders", "sources", "runtime", "domains"},
    {"construct", "mining", "metrics"},
    {"models", "training"},
]
WITHIN = {
    ("runtime", "graders"), ("sources", "graders"), ("training", "models"),
    ("task", "records"), ("intent", "records"), ("intent", "task"), ("dialogue", "records"),
    ("tool", "dialogue"), ("asset", "records"), ("asset", "intent"),
    ("prompts", "codec"), ("trace", "codec"), ("example", "codec"), ("trajectory", "trace"),
}  # fmt: skip
HEAVY = {"torch", "transformers", "trl", "peft", "accelerate", "datasets", "deepspeed", "vllm", "gguf", "ray"}
HEAVY_HOMES = (
    "training/",
    "models.py",
    "runtime/in_process.py",
    "runtime/decoding.py",
    "runtime/cache.py",
    "construct/on_ray.py",
    "sources/hub.py",
)
SCRIPT_LINES = 160  # a page: at most about 150


def floor(part: str) -> int:
    return next(number for number, names in enumerate(FLOORS) if part in names)


def part(path: Path) -> str:
    return path.relative_to(ROOT / "intentfold").parts[0].removesuffix(".py")


def imports(path: Path, *, top_level_only: bool = False) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            found.append(node.module or "")
    return found


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_arrows_point_down(path: Path) -> None:
    mine = part(path)
    if mine == "__init__":
        return
    for module in imports(path):
        if not module.startswith("intentfold."):
            continue
        theirs = module.split(".")[1]
        allowed = theirs == mine or floor(theirs) < floor(mine) or (mine, theirs) in WITHIN
        assert allowed, f"{name_of(path)} imports {module}: {mine} may not import {theirs}"


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_heavy_packages_stay_at_home(path: Path) -> None:
    home = str(path.relative_to(ROOT / "intentfold")).startswith(HEAVY_HOMES)
    heavy = {module.split(".")[0] for module in imports(path)} & HEAVY
    assert home or not heavy, f"{name_of(path)} imports {sorted(heavy)}"


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_scripts_tell_their_story_on_a_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert name_of(path) in (ast.get_docstring(tree) or ""), "the docstring holds the launch command"
    assert "def main(argv: list[str] | None = None)" in text
    assert len(text.splitlines()) <= SCRIPT_LINES
    for module in imports(path):
        assert module.split(".")[0] not in {"train", "data_gen", "eval", "tests", "scripts"}, f"{name_of(path)} imports {module}"
    heavy = {module.split(".")[0] for module in imports(path, top_level_only=True)} & HEAVY
    # `training.arguments` holds no torch (test_configs proves it); the rest of `training` does.
    modules = set(imports(path, top_level_only=True)) - {"intentfold.training.arguments"}
    heavy |= {module for module in modules if module.startswith("intentfold.training")}
    assert not heavy, f"{name_of(path)} imports {sorted(heavy)} before it knows that it needs them"


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_no_script_hides_a_module(path: Path) -> None:
    taken = set(sys.stdlib_module_names) | set(packages_distributions())
    assert path.stem not in taken
