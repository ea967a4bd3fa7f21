"""The checker at run time: every requirement and fact of every selected intent, judged on one output (LiveAsset, 3.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from intentfold.asset import ContextualIntent, Part, Verdict
from intentfold.codec.verdict import VERDICTS, Judgement, decode_verdict
from intentfold.dialogue import Dialogue, Output
from intentfold.prompts.checker import checker_prompt
from intentfold.records import RECORD
from intentfold.runtime.roles import Backend, Prompt

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


@runtime_checkable
class Scorer(Protocol):
    """A backend that also tells how likely each of some options is to come next."""

    def option_logprobs(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[list[float]]:
        """Log-probability of the first token of each option, one list a prompt, in order."""
        ...


def probabilities(scorer: Scorer, prompts: Sequence[Prompt]) -> list[tuple[float, ...]]:
    """How likely met, unmet and not applicable are after each prompt, among the three."""
    rows = scorer.option_logprobs(prompts, list(VERDICTS.values()))
    return [tuple(math.exp(x - max(row)) / sum(math.exp(y - max(row)) for y in row) for x in row) for row in rows]


def decide(found: Sequence[float], threshold: float) -> Verdict:
    """The verdict that probabilities of (met, unmet, not applicable) give at a threshold for unmet."""
    met, unmet, not_applicable = found
    if unmet >= threshold:
        return "unmet"
    return "met" if met >= not_applicable else "not_applicable"


class ModelJudge:
    """A language model as the judge, through any backend; the prompts of one output share their trunk.

    With a `threshold` (chosen on validation) the verdict is read from the probabilities of the verdicts' first tokens
    instead of the text, which still gives the reason; the backend, or `scorer` where that is another, must be a `Scorer`.
    Text that is no verdict stays not assessed all the same: the probabilities are shares among three words, whatever else
    the model would have written.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        explanation: bool = True,
        threshold: float | None = None,
        scorer: object = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.backend, self.explanation, self.threshold, self.max_tokens = backend, explanation, threshold, max_tokens
        self.scorer = backend if scorer is None else scorer
        if threshold is not None and not isinstance(self.scorer, Scorer):
            raise ValueError(f"threshold: the backend {backend.name} gives no probabilities")

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def judge(self, dialogue: Dialogue, output: Output, questions: Sequence[Question]) -> list[Judgement | None]:
        """Judgements as the model wrote them; text that is no verdict is None."""
        prompts = [checker_prompt(dialogue, output, q.intent, q.part, explanation=self.explanation) for q in questions]
        written = [decode_verdict(completion.text) for completion in self.backend.complete(prompts, self.max_tokens)]
        if self.threshold is None or not isinstance(self.scorer, Scorer):
            return written
        verdicts = [decide(found, self.threshold) for found in probabilities(self.scorer, prompts)]
        return [
            text if text is None or text.verdict == verdict else Judgement(verdict)
            for text, verdict in zip(written, verdicts, strict=True)
        ]


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
    def passed(self) -> bool | None:
        """Whether every finding was read and none is unmet; None where there are none: what was not checked has not passed."""
        if not self.findings:
            return None
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
