"""Models in the roles of an evaluation of learned assets, each through a journal of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from intentfold.construct.corrective.agent import AgentRates
from intentfold.runtime.backends import Backends, Model
from intentfold.runtime.embeddings import EmbeddingSelector
from intentfold.runtime.journal import Journal, JournaledBackend, journaled
from intentfold.runtime.selection import LexicalSelector, ModelSelector, Selector

Selection = Literal["lexical", "model", "embedding"]
Agents = Sequence[AgentRates | JournaledBackend]  # one for each run
DEPTH = 5  # recall of selection is measured so deep, whatever is selected at task entry


class Casting:
    """Makes what plays a role; what it wrote is kept in `folder`, so that a run that starts again asks only for the rest."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self.folder, self.options = folder, options
        self.journal = Journal(folder / "completions.jsonl")

    def served(self, model: Model) -> JournaledBackend:
        """The model of one role."""
        return journaled(Backends(**self.options).make(model), self.journal)

    def agents(self, sweep: Sequence[AgentRates], model: Model | None, runs: int) -> tuple[str, list[tuple[str, Agents]]]:
        """Who the agent is, and by condition the agent of each run: scripted at each of the rates, or the model.

        The model has a journal for each run, and another seed in each where it samples.
        """
        if model is None:
            said = [f"fix {rates.fix}, half-fix {rates.half_fix}, regression {rates.regression}" for rates in sweep]
            return "scripted", [(condition, [rates] * runs) for condition, rates in zip(said, sweep, strict=True)]
        backends = []
        for run in range(runs):
            one = replace(model, seed=(model.seed or 0) + run) if model.temperature else model
            journal = Journal(self.folder / f"completions.worker.{run + 1}.jsonl")
            backends.append(journaled(Backends(**self.options).make(one), journal))
        return backends[0].name, [("model", backends)]

    def selectors(self, kind: Selection, model: Model | None) -> tuple[Selector, list[Selector]]:
        """The selector for task entry, and those that rank to `DEPTH` for recall: its own kind, and the lexical one beside."""
        lexical = LexicalSelector(most=DEPTH, floor=0.0)
        if kind == "lexical" or model is None:
            return LexicalSelector(), [lexical]
        if kind == "model":
            served = self.served(model)
            return ModelSelector(served), [lexical, ModelSelector(served, most=DEPTH)]
        embedder = Backends(**self.options).embedder(model)
        return EmbeddingSelector(embedder, self.journal), [lexical, EmbeddingSelector(embedder, self.journal, most=DEPTH)]
