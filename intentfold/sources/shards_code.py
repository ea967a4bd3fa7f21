"""Sharded HumanEval and LiveCodeBench: functions by unit tests.

A HumanEval record holds its asserts and no solution, which comes from HumanEval itself where that is at hand. A LiveCodeBench
record has public tests as JSON text and private ones packed (`plain_pickle`); it has no solution at all.
"""

from __future__ import annotations

import random
from typing import Any

from intentfold.sources.builtin.common import opening
from intentfold.sources.code_tasks import ASKS, Problem, code_task
from intentfold.sources.humaneval import read_humaneval
from intentfold.sources.loading import Skip, SourceError, checked, parsed
from intentfold.sources.plain_pickle import unpacked
from intentfold.sources.shards import SPLIT, Shards, as_goals
from intentfold.sources.unit_tests import Test, parse_check, unverified_tests
from intentfold.task import SourceTask

# The benchmark calls a function, and LiveCodeBench's answers may hold it in a class.
_METHOD = "if {name!r} not in globals() and 'Solution' in globals():\n    {name} = Solution().{name}"


def task(shards: Shards) -> SourceTask:
    """The task with its solution where there is one; else with tests alone, and then without a program."""
    name = checked(shards.where, shards.field("metadata", dict), {"func_name": str})["func_name"]
    number = shards.record["task_id"].rpartition("/")[2]
    if shards.field("source", str) == "humaneval":
        folder = shards.beside("humaneval")
        known = {} if folder is None else read_humaneval(folder)
        if f"HumanEval/{number}" in known:
            problem = known[f"HumanEval/{number}"]
            return code_task(
                Problem(
                    shards.id,
                    "humaneval",
                    problem.origin,
                    problem.license,
                    shards.texts,
                    name,
                    problem.solution,
                    problem.suite,
                    SPLIT,
                )
            )
        tests = unverified_tests(parse_check("", shards.field("test", str), name), name)
        return _without_solution(shards, "humaneval", f"humaneval/{number}", name, tests)
    return _without_solution(shards, "livecodebench", f"livecodebench/{number}", name, _tests(shards))


def _without_solution(shards: Shards, family: str, origin: str, name: str, tests: list[Test]) -> SourceTask:
    return SourceTask(
        id=shards.id,
        family=family,
        origin=origin,
        license="MIT",
        request=opening(ASKS, random.Random(shards.id)),
        goals=as_goals((*shards.texts, f"The function is called {name}.")),
        answer_form="code",
        payload={
            "benchmark_split": SPLIT,
            "reference": {"function": name, "tests": tests, "setup": _METHOD.format(name=name)},
        },
    )


def _tests(shards: Shards) -> list[Test]:
    public = _read(shards, "public_test_cases", shards.field("public_test_cases", str))
    packed = shards.field("private_test_cases", str) if "private_test_cases" in shards.record else ""
    return [_test(shards, one) for one in (*public, *(_private(shards, packed) if packed else ()))]


def _private(shards: Shards, packed: str) -> list[Any]:
    where = f"{shards.where}: field private_test_cases"
    if packed.lstrip().startswith("["):
        return _read(shards, "private_test_cases", packed)
    try:
        text = unpacked(packed)
    except ValueError as error:
        raise SourceError(f"{where}: {error}") from None
    return _read(shards, "private_test_cases", text)


def _read(shards: Shards, field: str, text: str) -> list[Any]:
    found = parsed(f"{shards.where}: field {field}", text)
    if not isinstance(found, list):
        raise SourceError(f"{shards.where}: field {field} must be a list as JSON text, got {text[:80]!r}")
    return found


def _test(shards: Shards, record: Any) -> Test:
    """One test: every line of the input is an argument as JSON, the output is the result as JSON."""
    one = checked(f"{shards.where}: a test case", record, {"input": str, "output": str, "testtype": str})
    if one["testtype"] != "functional":
        raise Skip("tests on standard input")
    where = f"{shards.where}: a test case"
    args = [parsed(where, line) for line in one["input"].split("\n") if line.strip()]
    return {"args": args, "expected": parsed(where, one["output"])}
