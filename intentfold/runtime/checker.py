"""The checker at run time: every requirement and fact of every selected intent, judged on one output (LiveAsset, 3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from intentfold.asset import ContextualIntent, Part, Verdict
from intentfold.codec.verdict import Judgement, decode_verdict
from intentfold.dialogue import Dialogue, Output
from intentfold.prompts.checker import checker_prompt
from intentfold.records import RECORD
from intentfold.runtime.roles import Backend

MAX_TOKENS = 64
Status = Literal["met", "unmet", "not_applicable", "not_assessed"]


@dataclass(frozen=True, slots=True)
class Question:
    """One requirement or fact of one intent, to be judged."""

    intent: ContextualIntent
    part: Part


class Judge(Protocol):
    """Judges questions about one output. None stands for a judgement that could not be read (not assessed)."""

    @property
    def name(self) -> str: ...

    def judge(self, dialogue: Dialogue, output: Output, questions: Sequence[Question]) -> list[Judgement | None]:
        """One judgement a question, in order. Raises `BackendError`."""
        ...


class ModelJudge:
    """A language model as the judge, through any backend; the prompts of one output share their trunk."""

    def __init__(self, backend: Backend, *, explanation: bool = True, max_tokens: int = MAX_TOKENS) -> None:
        self.backend, self.explanation, self.max_tokens = backend, explanation, max_tokens

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def judge(self, dialogue: Dialogue, output: Output, questions: Sequence[Question]) -> list[Judgement | None]:
        """Judgements as the model wrote them; text that is no verdict is None."""
        prompts = [checker_prompt(dialogue, output, q.intent, q.part, explanation=self.explanation) for q in questions]
        return [decode_verdict(completion.text) for completion in self.backend.complete(prompts, self.max_tokens)]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one requirement or fact. `verdict` None: not assessed, an error of the checker and no pass."""

    __pydantic_config__ = RECORD

    intent: int
    part: int
    text: str
    verdict: Verdict | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """All findings about one output."""

    __pydantic_config__ = RECORD

    findings: tuple[Finding, ...]

    def of(self, verdict: Verdict | None) -> tuple[Finding, ...]:
        """The findings with that verdict (None: those not assessed)."""
        return tuple(finding for finding in self.findings if finding.verdict == verdict)

    @property
    def statuses(self) -> dict[int, Status]:
        """The status of each intent, by its id."""
        found: dict[int, list[Verdict | None]] = {}
        for finding in self.findings:
            found.setdefault(finding.intent, []).append(finding.verdict)
        return {intent: status(verdicts) for intent, verdicts in found.items()}

    @property
    def passed(self) -> bool:
        """Whether every finding was read and none is unmet."""
        return all(finding.verdict in ("met", "not_applicable") for finding in self.findings)


def status(verdicts: Iterable[Verdict | None]) -> Status:
    """The status of an intent from the verdicts on its requirements and facts.

    Unmet if any is unmet, not applicable if none applies, else met. Where nothing is unmet but something could not be
    read, the intent is not assessed: what is unknown may be unmet.
    """
    found = list(verdicts)
    if "unmet" in found:
        return "unmet"
    if None in found:
        return "not_assessed"
    return "met" if "met" in found else "not_applicable"


class Checker:
    """Checks outputs against intents. It stands on its own around any agent:

    checker = Checker(ModelJudge(InProcessBackend(base, adapter="runs/checker/sft/adapter")), intents)
    check = checker.check(Output(reply, files=(File("script.md", text),)), dialogue)
    for finding in check.of("unmet"):
        print(finding.text, "-", finding.reason)
    """

    def __init__(self, judge: Judge, intents: Sequence[ContextualIntent]) -> None:
        self.judge = judge
        self.intents = tuple(intents)

    def check(self, output: Output, dialogue: Dialogue = ()) -> Check:
        """Judge every requirement and fact of every intent on `output`, which answers the last message of `dialogue`."""
        questions = [Question(intent, part) for intent in self.intents for part in intent.parts]
        judgements = self.judge.judge(dialogue, output, questions) if questions else []
        return Check(
            tuple(
                Finding(
                    question.intent.id,
                    question.part.id,
                    question.part.text,
                    None if judgement is None else judgement.verdict,
                    "" if judgement is None else judgement.reason,
                )
                for question, judgement in zip(questions, judgements, strict=True)
            )
        )
