"""(task, answer) -> Grade, with model-written Python and SQL executed in a sandbox."""

from intentfold.graders.grade import GoldError, Grade
from intentfold.graders.registry import NoGrader, grade, reference_answer
from intentfold.graders.sandbox import Limits, Sandbox, SandboxError, SandboxUnavailable, shared_sandbox
from intentfold.graders.text import bleu

__all__ = [
    "GoldError",
    "Grade",
    "Limits",
    "NoGrader",
    "Sandbox",
    "SandboxError",
    "SandboxUnavailable",
    "bleu",
    "grade",
    "reference_answer",
    "shared_sandbox",
]
