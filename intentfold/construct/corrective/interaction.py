"""One corrective interaction: request, deliveries and corrections until acceptance or budget; history and ledger apart."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.construct.corrective import wording
from intentfold.construct.corrective.audit import AuditError, audit
from intentfold.construct.corrective.user import SimulatedUser
from intentfold.construct.corrective.work import Family, assess
from intentfold.dialogue import Dialogue, Output, Turn
from intentfold.runtime.verification import Job, Worker
from intentfold.trace import Act, Assessment, Exchange, LearningHistory, Ledger, Pair, PrivateRequirement, Split, Wording

LICENSE = "Apache-2.0"
# Keys that a message raised, those whose discrepancy it names, those whose change it states.
Raised = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def interact(
    worker: Worker,
    user: SimulatedUser,
    requirements: Sequence[PrivateRequirement],
    *,
    id: str,
    name: str,
    split: Split,
    budget: int,
) -> Pair:
    """Let the user correct the worker's results; it speaks at most `budget` times after its request.

    The history holds what both sides saw; the ledger what was wanted and how each result was assessed. Raises
    `AuditError` where a message says something else than was selected.
    """
    family, scenario = user.family, user.scenario
    exchanges: list[Exchange] = []
    assessments: list[tuple[Assessment, ...]] = []
    raised: list[Raised] = []
    act: Act = "request"
    about: Raised = ((), (), ())
    message, closing = user.request(), ""
    while True:
        dialogue = _dialogue(exchanges, message)
        draft = next((exchange.output for exchange in reversed(exchanges) if not exchange.output.asks), None)
        output = worker.work(Job(dialogue, draft=draft))
        exchanges.append(Exchange(act, message, output))
        raised.append(about)
        if output.asks:
            assessments.append(())
            if len(exchanges) > budget:
                break
            answer = user.answer(asked(output, family, user.words))
            message, act, about = answer.text, "answer", (answer.raised, (), answer.stated)
            continue
        found = tuple(assess(family, scenario, output, requirement.key) for requirement in requirements)
        assessments.append(found)
        feedback = user.review(found)
        if feedback is None:
            closing = user.accept()
            break
        if len(exchanges) > budget:
            break
        checked = audit(feedback.text, feedback.raised, family.name, output, user.words)
        if not checked.passed:
            raise AuditError(f"{id}: {checked} in {feedback.text!r}")
        message, act, about = feedback.text, "correction", (feedback.raised, feedback.discrepancies, feedback.stated)
    history = LearningHistory(1, id, name, family.name, LICENSE, split, user.words, tuple(exchanges), closing)
    columns = (tuple(column) for column in zip(*raised, strict=True))
    ledger = Ledger(1, id, family.name, scenario.number, tuple(requirements), tuple(assessments), *columns)
    return history, ledger


def asked(output: Output, family: Family, words: Wording) -> str:
    """The key that a question is about, by the label that it names; empty where it names none."""
    criteria = wording.bank(words)[family.name]
    labels = {key: acts["label"][0] for key, acts in criteria.items() if key not in ("request", "pressure")}
    named = [key for key, label in labels.items() if f"the {label}" in output.reply]
    return max(named, key=lambda key: len(labels[key]), default="")


def _dialogue(exchanges: Sequence[Exchange], message: str) -> Dialogue:
    turns: list[Turn] = []
    for exchange in exchanges:
        turns += [Turn("user", exchange.user), Turn("assistant", exchange.output.reply)]
    return (*turns, Turn("user", message))
