"""HumanEval (Chen et al. 2021) as source tasks: `HumanEval.jsonl` or `HumanEval.jsonl.gz`, as upstream has it."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from intentfold.sources.code_tasks import Problem, code_task
from intentfold.sources.loading import LoadReport, Skip, SourceError, read_lines
from intentfold.sources.sentences import sentences
from intentfold.sources.unit_tests import parse_check, parse_python
from intentfold.task import SourceTask

_FIELDS = {"task_id": str, "prompt": str, "entry_point": str, "canonical_solution": str, "test": str}
# Where a docstring turns from saying to showing.
_EXAMPLES = re.compile(
    r"^\s*(>>>|for (example|instance)\b|examples?\b|note\b|e\.g\.|i/o\b|constraints?\b|\w+\(.*\)\s*(=|➞|-|#))", re.I
)


def load_humaneval(folder: Path) -> LoadReport:
    """The tasks of the file in `folder`; all of them are the benchmark's test problems."""
    tasks: list[SourceTask] = []
    left: dict[str, str] = {}
    for where, record in _records(folder):
        try:
            tasks.append(code_task(humaneval_problem(where, record)))
        except Skip as reason:
            left[f"humaneval/{record['task_id'].rpartition('/')[2]}"] = str(reason)
    return LoadReport(tuple(tasks), left)


@functools.lru_cache(maxsize=2)
def read_humaneval(folder: Path) -> dict[str, Problem]:
    """The problems by the benchmark's own id; those without a description are left out."""
    found = {}
    for where, record in _records(folder):
        with contextlib.suppress(Skip):
            found[record["task_id"]] = humaneval_problem(where, record)
    return found


def _records(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    plain = folder / "HumanEval.jsonl"
    path = plain if plain.is_file() else folder / "HumanEval.jsonl.gz"
    return read_lines(path, "HumanEval's problems, one JSON object a line", _FIELDS)


def humaneval_problem(where: str, record: Mapping[str, Any]) -> Problem:
    """The problem of one record; raises `SourceError` where its prompt defines no function of that name."""
    prompt, function = record["prompt"], record["entry_point"]
    try:
        tree = parse_python(f"{prompt}\n    pass\n")
    except SyntaxError as error:
        raise SourceError(f"{where}: field prompt is not Python: {error.msg} at line {error.lineno}") from None
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function), None)
    if found is None:
        raise SourceError(f"{where}: field prompt defines no {function!r}")
    # What the prompt gives ahead of the function (imports, helpers) every answer may count on.
    before = "\n".join(ast.unparse(node) for node in tree.body if node is not found)
    # Not always the first statement, so not always a docstring to Python.
    texts = (node.value.value for node in found.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    described = described_by(inspect.cleandoc(next((text for text in texts if isinstance(text, str)), "")))
    if not described:
        raise Skip("no description")
    number = record["task_id"].rpartition("/")[2]
    return Problem(
        id=f"humaneval/{number}",
        family="humaneval",
        origin=f"humaneval/{number}",
        license="MIT",
        sentences=tuple(described),
        function=function,
        solution=prompt + record["canonical_solution"],
        suite=parse_check(before, record["test"], function),
        benchmark_split="test",
    )


def described_by(docstring: str) -> list[str]:
    """The sentences of a docstring, up to its examples."""
    lines: list[str] = []
    for line in docstring.splitlines():
        if _EXAMPLES.match(line):
            break
        lines.append(line)
    return sentences(" ".join(lines))
