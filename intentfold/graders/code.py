"""Python functions by unit tests: run in the sandbox, compared here.

A test gives `args` for the function, or as `call` an expression that may say more than that (`sorted(f([2, 1]))`). `before`
stands ahead of the answer (a benchmark's own helpers), `setup` behind it. A test that is no comparison `holds` of the call's
output: that is asked of the output as plain data, in a process that never saw the answer. There, too, a whole `check` of the
function goes over the outputs, as if they were the function's answers to what it `asked`; outputs after which it would ask for
something else fail it. An answer that changes its arguments does so in its own process alone.

Reading of equality: tuples and lists are the same, a set is its sorted list (expected values are JSON); numbers
are equal within 1e-9 where a float is involved, exactly between integers; True and False equal no number.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from intentfold.graders.grade import GoldError, Grade, failed, gold, passed, unfence
from intentfold.graders.sandbox import shared_sandbox
from intentfold.task import SourceTask

GOT = "got_"  # what a `holds` calls the output
ANOTHER = "another result"
_FUTURE = re.compile(r"^from __future__ import .*$", re.MULTILINE)


def grade_code(task: SourceTask, answer: str) -> Grade:
    """Full credit when every test passes; the reason names the first that doesn't, never what it expects."""
    tests = gold(task, "reference.tests", list)
    for position, test in enumerate(tests):
        args, call = isinstance(test, dict) and test.get("args"), isinstance(test, dict) and test.get("call")
        told = isinstance(test, dict) and ({"expected", "holds"} & set(test) or {"asked", "check"} <= set(test))
        if not (isinstance(args, list) or isinstance(call, str)) or not told:
            must = "must hold args or a call, and what is expected, what holds, or a check and what it asked"
            raise GoldError(task, f"reference.tests[{position}]", must)
    for position, reason in enumerate(faults(task.payload["reference"], *program(task, unfence(answer)))):
        if reason is not None:
            return failed(f"test {position}: {reason}")
    return passed(f"all {len(tests)} tests pass")


def faults(reference: Mapping[str, Any], code: str, calls: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Why each of the reference's tests fails on a program and its calls (`program`), None for those that pass."""
    tests = reference["tests"]
    results = shared_sandbox().run_python(code, calls).calls
    found = [None if one.error is None else f"{one.kind}: {one.error}" for one in results]
    asked = [place for place, test in enumerate(tests) if "expected" not in test and found[place] is None]
    if asked:
        clean = [reference.get("before", ""), reference.get("setup", "")]
        clean += [_held(f"held_{place}_", tests[place]) for place in asked]
        again = [{"function": f"held_{place}_", "args": [results[place].output]} for place in asked]
        for place, one in zip(asked, shared_sandbox().run_python("\n".join(filter(None, clean)), again).calls, strict=True):
            found[place] = f"{one.kind}: {one.error}" if one.error is not None else None if one.output is True else ANOTHER
    for place, (test, one) in enumerate(zip(tests, results, strict=True)):
        if "expected" in test and found[place] is None and not same_output(one.output, test["expected"]):
            found[place] = ANOTHER
    return found


def _held(name: str, test: Mapping[str, Any]) -> str:
    """A function that says whether a test holds of its call's output."""
    if "holds" in test:
        return f"def {name}({GOT}):\n    return bool({test['holds']})"
    return f"""def {name}({GOT}):
    played, astray = list(zip([{", ".join(test["asked"])}], {GOT}, strict=True)), []
    def playing(*args):
        asked, output = played.pop(0) if played else (None, None)
        if args != asked:
            astray.append(args)  # the check may pass over an exception
            raise ValueError("the outputs lead the check elsewhere")
        return output
{textwrap.indent(test["check"], "    ")}
    check(playing)
    return not played and not astray"""


def program(task: SourceTask, answer: str) -> tuple[str, list[dict[str, Any]]]:
    """The program to run, and the calls to make on it: one for each test."""
    reference = task.payload["reference"]
    function = gold(task, "reference.function", str)
    code, calls = with_calls(
        [reference.get("before", ""), answer, reference.get("setup", "")], [test.get("call") for test in reference["tests"]]
    )
    for call, test in zip(calls, reference["tests"], strict=True):
        if "call" not in test:
            call |= {"function": function, "args": test["args"]}
    return code, calls


def with_calls(parts: Sequence[str], expressions: Sequence[str | None]) -> tuple[str, list[dict[str, Any]]]:
    """A program of these parts with the expressions as functions, and a call of each."""
    # Defined last, so that the answer cannot define them.
    made = [f"def test_{n}_():\n    return {text}" for n, text in enumerate(expressions) if text is not None]
    calls: list[dict[str, Any]] = [{"function": f"test_{n}_", "args": []} for n in range(len(expressions))]
    whole = "\n".join(filter(None, [*parts, *made]))
    # Python takes these at the top alone, and a benchmark's helpers stand ahead of the answer.
    return "\n".join([*_FUTURE.findall(whole), _FUTURE.sub("", whole)]), calls


def same_output(got: Any, expected: Any) -> bool:
    """Equality of plain JSON data under the reading above."""
    if isinstance(expected, tuple):
        expected = list(expected)
    if isinstance(got, bool) or isinstance(expected, bool):
        return got is expected
    if isinstance(got, int | float) and isinstance(expected, int | float):
        if isinstance(got, int) and isinstance(expected, int):
            return got == expected
        try:
            return got == expected or math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9)
        except OverflowError:  # an integer beyond every float
            return False
    if type(got) is not type(expected):
        return False
    if isinstance(got, list):
        return len(got) == len(expected) and all(map(same_output, got, expected))
    if isinstance(got, dict):
        return got.keys() == expected.keys() and all(same_output(got[key], expected[key]) for key in got)
    return bool(got == expected)
