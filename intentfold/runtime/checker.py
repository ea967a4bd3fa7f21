"""The checker at run time: every requirement and fact of every selected intent, judged on one output (LiveAsset, 3.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from intentfold.asset import ContextualIntent, Part, Verdict
from intentfold.codec.verdict import VERDICTS, Judgement, decode_verdict
from intentfold.dialogue import Dialogue, Output
from intentfold.prompts.checker import checker_prompt
from intentfold.records import RECORD
from intentfold.runtime.roles import Backend, Completion, Prompt, Scorer

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


def ask(backend: Backend, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
    """Judgements as text; from a `Scorer` also how likely each verdict was to come first, in the same pass."""
    if isinstance(backend, Scorer):
        return backend.complete_scored(prompts, max_tokens, list(VERDICTS.values()))
    return backend.complete(prompts, max_tokens)


def probabilities(completion: Completion) -> tuple[float, ...]:
    """How likely met, unmet and not applicable were, among the three; empty where the backend did not tell."""
    row = completion.option_logprobs
    return tuple(math.exp(x - max(row)) / sum(math.exp(y - max(row)) for y in row) for x in row)


def decide(found: Sequence[float], threshold: float) -> Verdict:
    """The verdict that probabilities of (met, unmet, not applicable) give at a threshold for unmet."""
    met, unmet, not_applicable = found
    if unmet >= threshold:
        return "unmet"
    return "met" if met >= not_applicable else "not_applicable"


class ModelJudge:
    """A language model as the judge, through any backend; the prompts of one output share their trunk.

    With a `threshold` (chosen on validation) the verdict is read from the probabilities of the verdicts' first tokens
    instead of the text, which still gives the reason; the backend must be a `Scorer`.
    Text that is no verdict stays not assessed all the same: the probabilities are shares among three words, whatever else
    the model would have written.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        explanation: bool = True,
        threshold: float | None = None,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.backend, self.explanation, self.threshold, self.max_tokens = backend, explanation, threshold, max_tokens
        if threshold is not None and not isinstance(backend, Scorer):
            raise ValueError(f"threshold: the backend {backend.name} gives no probabilities")

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def judge(self, dialogue: Dialogue, output: Output, questions: Sequence[Question]) -> list[Judgement | None]:
        """Judgements as the model wrote them; text that is no verdict is None."""
        prompts = [checker_prompt(dialogue, output, q.intent, q.part, explanation=self.explanation) for q in questions]
        if self.threshold is None:
            return [decode_verdict(completion.text) for completion in self.backend.complete(prompts, self.max_tokens)]
        judgements = []
        for completion in ask(self.backend, prompts, self.max_tokens):
            written, verdict = decode_verdict(completion.text), decide(probabilities(completion), self.threshold)
            judgements.append(written if written is None or written.verdict == verdict else Judgement(verdict))
        return judgements


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
