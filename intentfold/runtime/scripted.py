"""Scripted backends and roles: deterministic, without a model."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from intentfold.dialogue import Dialogue
from intentfold.intent import Edit, IntentState, align, diff, fold_leniently
from intentfold.prompts.tracker import WINDOW, Codec, tracker_completion, tracker_prompt
from intentfold.runtime.executor import execute
from intentfold.runtime.gate import mend
from intentfold.runtime.roles import BackendError, Completion, Prompt, View
from intentfold.runtime.tracker import read_fold
from intentfold.trace import Episode


class CannedBackend:
    """Answers each prompt with the text that was written for it; tokens are counted as words."""

    def __init__(self, texts: Mapping[Prompt, str], *, name: str = "canned", otherwise: str | None = None) -> None:
        self.name = name
        self.texts = texts
        self.otherwise = otherwise

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """The canned text, `otherwise` for an unknown prompt; `BackendError` where there is neither."""
        return [self._complete(prompt, max_tokens) for prompt in prompts]

    def _complete(self, prompt: Prompt, max_tokens: int) -> Completion:
        text = self.texts.get(prompt, self.otherwise)
        if text is None:
            raise BackendError(f"{self.name}: nothing is written for the prompt that ends {prompt[-1].content[-80:]!r}")
        size = len(text.split())
        return Completion(text, sum(len(turn.content.split()) for turn in prompt), size, size <= max_tokens)


def null_backend() -> CannedBackend:
    """A tracker that never edits."""
    return CannedBackend({}, name="null", otherwise="NONE")


def oracle_backend(episodes: Iterable[Episode], codec: Codec = "delta", window: int | None = WINDOW) -> CannedBackend:
    """A tracker that writes the oracle's edits, met with its own states and those episodes alone.

    A prompt has one answer. Where two episodes show the same one and want different edits, the first has its own; the
    other goes on from the state that it got, and is put right at its next turn.
    """
    texts: dict[Prompt, str] = {}
    for episode in episodes:
        own, oracle = IntentState(), IntentState()
        for number, turn in enumerate(episode.turns):
            prompt = tracker_prompt(own, episode.drift(number), codec=codec, window=window)
            if prompt not in texts:
                edits = turn.edits if own == oracle else diff(own, turn.state)
                texts[prompt] = tracker_completion(own, edits, codec)
            own = read_fold(own, Completion(texts[prompt], 0, 0, True), codec).state
            oracle = turn.state
    return CannedBackend(texts, name="oracle")


def lapsing_backend(
    episodes: Iterable[Episode], rate: float, seed: int, codec: Codec = "delta", window: int | None = WINDOW
) -> CannedBackend:
    """A tracker of known quality: the oracle, losing each of its edits at a seeded rate and never coming back to it.

    Whether an edit is lost depends on seed and prompt alone. It goes on from its own state, and knows those episodes.
    """
    texts: dict[Prompt, str] = {}
    for episode in episodes:
        own, oracle = IntentState(), IntentState()
        for number, turn in enumerate(episode.turns):
            prompt = tracker_prompt(own, episode.drift(number), codec=codec, window=window)
            if prompt not in texts:
                rng = random.Random(f"{seed} {[message.content for message in prompt]}")
                kept = [edit for edit in _carried_over(turn.edits, own, oracle) if rng.random() >= rate]
                texts[prompt] = tracker_completion(own, _applicable(own, kept), codec)
            own = read_fold(own, Completion(texts[prompt], 0, 0, True), codec).state
            oracle = turn.state
    return CannedBackend(texts, name=f"oracle with lapses {rate}, seed {seed}")


def _carried_over(edits: Sequence[Edit], own: IntentState, oracle: IntentState) -> list[Edit]:
    """The oracle's edits on the items of another state that are about the same; conclusions are added unattached."""
    mine = {theirs: ours for ours, theirs in align(own, oracle)}
    moved = [replace(e, id=mine.get(e.id or 0, e.id and 0), depends_on=()) for e in edits]
    return [edit for edit in moved if edit.op == "ADD" or edit.id]


def _applicable(state: IntentState, edits: Sequence[Edit]) -> list[Edit]:
    kept: list[Edit] = []
    for edit in edits:
        if not fold_leniently(state, [*kept, edit])[1]:
            kept.append(edit)
    return kept


class ExecutorAgent:
    """The state executor as an agent (design D13): it reads the items alone and mends its form by rule."""

    name = "executor"

    def answer(self, views: Sequence[View]) -> list[str]:
        """The tasks' answers from the active items; a draft with violations is mended instead."""
        return [self._answer(view) for view in views]

    def _answer(self, view: View) -> str:
        if view.task is None or view.items is None:
            raise ValueError("the state executor needs a task and items; it reads no history")
        return mend(view.draft, view.items) if view.violations else execute(view.task, view.items).answer


class ScriptedSimulator:
    """Says the given turns in order, whatever the agent replies."""

    name = "scripted"

    def __init__(self, turns: Sequence[str]) -> None:
        self.turns = tuple(turns)

    def say(self, dialogue: Dialogue) -> str | None:
        """The turn after as many as the dialogue holds."""
        said = sum(turn.role == "user" for turn in dialogue)
        return self.turns[said] if said < len(self.turns) else None
