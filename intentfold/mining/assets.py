"""Asset learning taught: the right edits of each correction step, from what its messages raised (the ledger)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from intentfold.asset import AssetEdit, Assets, Situation, fold_asset, source_of
from intentfold.codec.asset_edits import encode_asset_edits
from intentfold.dialogue import CorrectionStep
from intentfold.example import Example, Provenance
from intentfold.intent import Rejected
from intentfold.prompts.assets import learner_prompt, learner_template_hash
from intentfold.runtime.journal import JournaledBackend
from intentfold.runtime.learner import Learner, ModelLearner, VerbatimLearner, learn_users, plain_description
from intentfold.trace import LearningHistory, Ledger, Pair


class OracleLearner:
    """No model: writes the right edits of each step of one history, because it is shown its ledger.

    It learns what the user's messages have raised up to the step and nothing that stayed private. Without `context` it reads
    the messages alone and not the results (an ablation of LiveAsset, 4.4.1).
    """

    name = "oracle"

    def __init__(self, ledger: Ledger, *, context: bool = True) -> None:
        self.ledger, self.context = ledger, context

    def edits(self, situation: Situation, step: CorrectionStep) -> tuple[tuple[AssetEdit, ...], tuple[Rejected, ...]]:
        """An intent for each requirement that was raised and is not yet held, with its fact where the user told it.

        A requirement waits until every value in its words can be read in the user's messages or in the step's results
        (design D3: more would teach invention).
        """
        results = (step.before.text(), step.after.text()) if self.context else ()
        readable = "\n".join((*step.messages.values(), *results))
        known = {part.text for intent in situation.intents for part in intent.parts}
        edits: list[AssetEdit] = []
        intents = 0
        for key in dict.fromkeys(key for keys in self.ledger.raised[: len(step.messages)] for key in keys):
            requirement = self.ledger.requirement(key)
            if requirement.requirement in known or not all(_stands_in(readable, value) for value in requirement.needs):
                continue
            intents += 1
            edits += [
                AssetEdit("INTENT", text=requirement.explanation),
                AssetEdit("REQUIRE", -intents, requirement.requirement),
            ]
            if requirement.fact and source_of(requirement.fact, step.messages) is not None:
                edits.append(AssetEdit("FACT", -intents, requirement.fact, requirement.fact))
        return tuple(edits), ()

    def description(self, situation: Situation, requests: Mapping[str, str]) -> str:
        """The requests and explanations, one after the other."""
        return plain_description(situation, requests)


def _stands_in(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def learner_examples(history: LearningHistory, ledger: Ledger) -> Iterator[Example]:
    """One example a correction step: the assets before it and the step, and the edits that they call for."""
    learner, situation = OracleLearner(ledger), Situation()
    for number in history.corrections():
        step = history.step(number)
        edits, _ = learner.edits(situation, step)
        ops = sorted({edit.op.lower() for edit in edits}) or ["none"]
        yield Example(
            version=1,
            messages=learner_prompt(situation, step),
            privileged=learner_prompt(situation, step, privileged=edits),
            completion=encode_asset_edits(edits),
            provenance=Provenance(
                episode=history.id,
                turn=number,
                split=history.split,
                wording=history.wording,
                family=history.family,
                origin=history.user,
                license=history.license,
                load=min(3, max(1, len(ledger.raised[number]))),
                mining="oracle",
                codec="asset",
                template=learner_template_hash(),
                phenomena=tuple(ops),
            ),
        )
        situation, _ = fold_asset(situation, edits, step.messages)


Who = Literal["oracle", "verbatim", "model"]


@dataclass(frozen=True)
class Lessons:
    """The assets of every user, the edits that were rejected, and the tokens that a model took to learn, by user."""

    assets: dict[str, Assets]
    rejected: list[Rejected]
    tokens: dict[str, int]


def learn_all(pairs: Sequence[Pair], who: Who, backend: JournaledBackend | None, *, context: bool) -> Lessons:
    """Learn the assets of every user, history by history.

    `who` learns: the oracle, shown the ledger; the users' words as they are; or the model of `backend`. Without `context`
    replies, tool results and files are not shown.
    """
    ledgers = {history.id: ledger for history, ledger in pairs}
    lessons = Lessons({}, [], {})

    def learner(history: LearningHistory) -> Learner:
        if backend is not None:
            return ModelLearner(backend, context=context)
        return VerbatimLearner() if who == "verbatim" else OracleLearner(ledgers[history.id], context=context)

    for user in dict.fromkeys(history.user for history, _ in pairs):
        before = 0 if backend is None else backend.tokens
        assets, rejected = learn_users([history for history, _ in pairs if history.user == user], learner)
        lessons.assets.update(assets)
        lessons.rejected.extend(rejected)
        if backend is not None:
            lessons.tokens[user] = backend.tokens - before
    return lessons
