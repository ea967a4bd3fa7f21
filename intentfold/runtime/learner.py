"""Learning assets from a history, step by step, and grouping what was learned into situations (LiveAsset, 3.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from intentfold.asset import AssetEdit, Assets, Situation, describe, fold_asset, merge
from intentfold.codec.asset_edits import decode_asset_edits
from intentfold.dialogue import CorrectionStep
from intentfold.intent import Rejected
from intentfold.prompts.assets import describer_prompt, learner_prompt
from intentfold.runtime.roles import Backend
from intentfold.runtime.selection import similarity
from intentfold.trace import LearningHistory

MERGE_AT = 0.35


class Learner(Protocol):
    """Writes the edits of one correction step, and the description of a situation."""

    @property
    def name(self) -> str: ...

    def edits(self, situation: Situation, step: CorrectionStep) -> tuple[tuple[AssetEdit, ...], tuple[Rejected, ...]]:
        """The edits, and what could not be read as one. Raises `BackendError`."""
        ...

    def description(self, situation: Situation, requests: Mapping[str, str]) -> str:
        """One sentence. Raises `BackendError`."""
        ...


class VerbatimLearner:
    """No model: each correction becomes an intent whose one requirement is the user's message as it is."""

    name = "verbatim"

    def edits(self, situation: Situation, step: CorrectionStep) -> tuple[tuple[AssetEdit, ...], tuple[Rejected, ...]]:
        """One intent a step."""
        request = next(iter(step.messages.values()))
        why = AssetEdit("INTENT", text=f"The user corrected a result for this request: {request}")
        return (why, AssetEdit("REQUIRE", -1, step.correction)), ()

    def description(self, situation: Situation, requests: Mapping[str, str]) -> str:
        """The requests and explanations, one after the other."""
        return plain_description(situation, requests)


class ModelLearner:
    """A language model as the learner, through any backend. Without `context` it does not see the results (an ablation)."""

    def __init__(self, backend: Backend, *, context: bool = True, max_tokens: int = 512) -> None:
        self.backend, self.context, self.max_tokens = backend, context, max_tokens

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def edits(self, situation: Situation, step: CorrectionStep) -> tuple[tuple[AssetEdit, ...], tuple[Rejected, ...]]:
        """What the model wrote, read line by line; a line that was cut off is none."""
        [completion] = self.backend.complete([learner_prompt(situation, step, context=self.context)], self.max_tokens)
        text = completion.text if completion.stopped else completion.text.rpartition("\n")[0]
        return decode_asset_edits(text)

    def description(self, situation: Situation, requests: Mapping[str, str]) -> str:
        """The model's first line, or the plain description where it wrote none."""
        [completion] = self.backend.complete([describer_prompt(situation, list(requests.values()))], self.max_tokens)
        lines = completion.text.strip().splitlines()
        return lines[0] if lines else plain_description(situation, requests)


def plain_description(situation: Situation, requests: Mapping[str, str]) -> str:
    """Requests and explanations in a row: what a lexical selector can match."""
    return " ".join([*requests.values(), *(intent.explanation for intent in situation.intents)])


@dataclass(frozen=True, slots=True)
class Learned:
    """A situation learned from one history, and what was rejected on the way with its reasons."""

    situation: Situation
    rejected: tuple[Rejected, ...]


def learn(history: LearningHistory, learner: Learner) -> Learned:
    """Fold every correction step of a history into one situation, then describe it.

    Quotations and excerpts are checked against the user's own messages up to the step.
    """
    situation = Situation(sources=(history.id,))
    rejected: list[Rejected] = []
    for number in history.corrections():
        step = history.step(number)
        edits, unread = learner.edits(situation, step)
        situation, refused = fold_asset(situation, edits, step.messages)
        rejected += (*unread, *refused)
    requests = {f"{history.id}:0": history.request}
    excerpt = re.split(r"(?<=[.!?;:])\s", history.request)[0]
    return Learned(describe(situation, learner.description(situation, requests), requests, [excerpt]), tuple(rejected))


def learn_users(
    histories: Iterable[LearningHistory], learner: Callable[[LearningHistory], Learner]
) -> tuple[dict[str, Assets], list[Rejected]]:
    """The assets of every user, history by history, and all that was rejected."""
    assets: dict[str, Assets] = {}
    rejected: list[Rejected] = []
    for history in histories:
        learned = learn(history, learner(history))
        rejected += learned.rejected
        assets[history.user] = with_situation(assets.get(history.user, Assets(history.user)), learned.situation)
    return assets, rejected


def with_situation(assets: Assets, new: Situation) -> Assets:
    """The assets with one more situation, or merged into the one whose source requests are most like its own.

    Situations whose excerpts are at least `MERGE_AT` similar share a request context. Both descriptions are kept, as are
    all sources.
    """
    if not new.intents:
        return assets
    asked = _asked(new)
    likeness = [similarity(asked, _asked(old)) for old in assets.situations]
    best = max(range(len(likeness)), key=lambda place: likeness[place], default=-1)
    if best < 0 or likeness[best] < MERGE_AT:
        return Assets(assets.user, assets.version, (*assets.situations, new))
    old = assets.situations[best]
    both = old.description if old.description == new.description else f"{old.description} {new.description}"
    situations = list(assets.situations)
    situations[best] = merge(old, new, both)
    return Assets(assets.user, assets.version, tuple(situations))


def _asked(situation: Situation) -> str:
    return " ".join(excerpt.text for excerpt in situation.excerpts)
