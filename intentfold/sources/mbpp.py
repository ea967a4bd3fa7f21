"""MBPP (Austin et al. 2021) as source tasks: `mbpp.jsonl`, as upstream has it.

Upstream's splits are by task number: 1 to 10 few-shot prompts, 11 to 510 test, 511 to 600 validation, the rest training.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intentfold.sources.code_tasks import Problem, code_task
from intentfold.sources.loading import LoadReport, Skip, SourceError, read_lines
from intentfold.sources.sentences import sentences
from intentfold.sources.unit_tests import parse_asserts, parse_python
from intentfold.task import SourceTask

_FIELDS = {"task_id": int, "text": str, "code": str, "test_list": list, "test_setup_code": str}


def load_mbpp(folder: Path) -> LoadReport:
    """The tasks of the file in `folder`; `payload["benchmark_split"]` keeps upstream's split."""
    tasks: list[SourceTask] = []
    left: dict[str, str] = {}
    for where, record in read_lines(folder / "mbpp.jsonl", "MBPP's problems, one JSON object a line", _FIELDS):
        try:
            tasks.append(code_task(_problem(where, record)))
        except Skip as reason:
            left[f"mbpp/{record['task_id']}"] = str(reason)
    return LoadReport(tuple(tasks), left)


def _problem(where: str, record: Mapping[str, Any]) -> Problem:
    number = record["task_id"]
    code = record["code"].replace("\r\n", "\n")
    try:
        suite = parse_asserts(record["test_setup_code"].replace("\r\n", "\n"), record["test_list"])
    except (SyntaxError, AttributeError) as error:
        raise SourceError(f"{where}: field test_list must hold assert statements: {error}") from None
    return Problem(
        id=f"mbpp/{number}",
        family="mbpp",
        origin=f"mbpp/{number}",
        license="CC-BY-4.0",
        sentences=tuple(sentences(record["text"])),
        function=_tested(code, suite.statements),
        solution=code,
        suite=suite,
        benchmark_split="test" if number <= 510 else "dev" if number <= 600 else "train",
    )


def _tested(code: str, statements: tuple[ast.stmt, ...]) -> str:
    """The function of the solution that the tests call."""
    try:
        defined = {node.name for node in parse_python(code).body if isinstance(node, ast.FunctionDef)}
    except SyntaxError:
        raise Skip("a solution that does not parse") from None
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined:
            return node.func.id
    raise Skip("tests that call no function of the solution")
