"""One corrective interaction: request, deliveries and corrections until acceptance or budget; history and ledger apart."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.construct.corrective.audit import AuditError
from intentfold.construct.corrective.user import Feedback, SimulatedUser
from intentfold.construct.corrective.work import assess
from intentfold.dialogue import Dialogue, Output, Turn
from intentfold.runtime.verification import Job, Worker
from intentfold.trace import Act, Assessment, Exchange, LearningHistory, Ledger, Pair, PrivateRequirement, Split

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

    The history holds what both sides saw; the ledger what was wanted, how each result was assessed, the agent's actions that
    were none, and the messages that failed their audit. Raises `AuditError` where no wording of a message passes its audit,
    `BackendError` where a model does not answer.
    """
    family, scenario = user.family, user.scenario
    exchanges: list[Exchange] = []
    assessments: list[tuple[Assessment, ...]] = []
    raised: list[Raised] = []
    errors: list[tuple[str, ...]] = []
    refused: list[tuple[str, ...]] = []
    act: Act = "request"
    about: Raised = ((), (), ())
    tried: tuple[str, ...] = ()
    message, closing = user.request(), ""
    while True:
        dialogue = _dialogue(exchanges, message)
        draft = next((exchange.output for exchange in reversed(exchanges) if not exchange.output.asks), None)
        output = worker.work(Job(dialogue, draft=draft))
        exchanges.append(Exchange(act, message, output))
        raised.append(about)
        errors.append(tuple(worker.errors))
        refused.append(tried)
        if output.asks:
            assessments.append(())
            if len(exchanges) > budget:
                break
            feedback, act = user.answer(output), "answer"
            message, tried = _worded(user, feedback, dialogue, output, id)
            about = (feedback.raised, (), feedback.stated)
            continue
        found = tuple(assess(family, scenario, output, requirement.key) for requirement in requirements)
        assessments.append(found)
        review = user.review(found)
        if review is None:
            closing = user.accept()
            break
        if len(exchanges) > budget:
            break
        message, tried = _worded(user, review, dialogue, output, id)
        act, about = "correction", (review.raised, review.discrepancies, review.stated)
    history = LearningHistory(1, id, name, family.name, LICENSE, split, user.words, tuple(exchanges), closing)
    keys, discrepancies, stated = (tuple(column) for column in zip(*raised, strict=True))
    checked = (tuple(requirements), tuple(assessments))
    wrong = (tuple(errors), tuple(refused))
    ledger = Ledger(1, id, family.name, scenario.number, *checked, keys, discrepancies, stated, *wrong)
    return history, ledger


def _worded(user: SimulatedUser, feedback: Feedback, dialogue: Dialogue, output: Output, id: str) -> tuple[str, tuple[str, ...]]:
    """A message that passes its audit, and those that did not. Raises `AuditError` after the user's last attempt."""
    refused: list[str] = []
    while len(refused) < user.attempts:
        message = user.word(feedback, dialogue, output, refused)
        found = user.audit(message, feedback, output)
        if found.passed:
            return message, tuple(refused)
        refused.append(f"{message} ({found})")
    raise AuditError(id, refused)


def _dialogue(exchanges: Sequence[Exchange], message: str) -> Dialogue:
    turns: list[Turn] = []
    for exchange in exchanges:
        turns += [Turn("user", exchange.user), Turn("assistant", exchange.output.reply)]
    return (*turns, Turn("user", message))
