"""One entry for every form of answer."""

from __future__ import annotations

from collections.abc import Callable

from intentfold.graders.calls import grade_calls, reference_calls
from intentfold.graders.code import grade_code
from intentfold.graders.grade import GoldError, Grade, failed, gold
from intentfold.graders.number import grade_number
from intentfold.graders.sandbox import SandboxError, SandboxUnavailable
from intentfold.graders.sql import grade_sql
from intentfold.graders.text import grade_text
from intentfold.task import AnswerForm, SourceTask

GRADERS: dict[AnswerForm, Callable[[SourceTask, str], Grade]] = {
    "calls": grade_calls,
    "sql": grade_sql,
    "number": grade_number,
    "code": grade_code,
    "text": grade_text,
}


class NoGrader(GoldError):
    """A task that no code can grade: to score it would be a mistake of the run, not a grade."""


def grade(task: SourceTask, answer: str) -> Grade:
    """Grade an answer by its task's own rules.

    Raises `GoldError` when the task's reference is malformed, `SandboxUnavailable` when this machine cannot
    hold model-written programs, and `NoGrader` for a task that is judged or serves trackers alone. A sandbox
    that fails on the way makes the answer ungradable (`value` None).
    """
    if task.answer_form not in GRADERS:
        raise NoGrader(task, "reference", f"answers of form {task.answer_form!r} are not graded by code")
    if not answer.strip():
        return failed("empty answer")
    try:
        return GRADERS[task.answer_form](task, answer)
    except SandboxUnavailable:
        raise
    except SandboxError as error:
        return Grade(None, False, f"ungradable: {error}")


def reference_answer(task: SourceTask) -> str:
    """An answer that its own grader must give full credit; for code, `reference.solution`.

    Raises `GoldError` where the task carries none.
    """
    match task.answer_form:
        case "calls":
            return reference_calls(task)
        case "sql":
            return gold(task, "reference.sql", str)
        case "number":
            return gold(task, "reference.answer", str)
        case "code":
            return gold(task, "reference.solution", str)
        case "text":
            return gold(task, "reference.references", list)[0]
        case "summary" | "interactive" | "state":
            raise NoGrader(task, "reference", f"answers of form {task.answer_form!r} are not graded by code")
