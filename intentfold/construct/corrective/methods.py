"""What each compared method supplies for a target: learned assets, their ablations, and the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from intentfold.asset import Assets, Situation, intents_of
from intentfold.construct.corrective.judge import ExecutedJudge
from intentfold.construct.corrective.replay import Method, Supply, without_explanations
from intentfold.construct.corrective.targets import Target
from intentfold.runtime import baselines
from intentfold.runtime.checker import Judge, ModelJudge
from intentfold.runtime.journal import JournaledBackend
from intentfold.runtime.selection import Selector
from intentfold.trace import LearningHistory


@dataclass(frozen=True)
class Methods:
    """All methods learn from the same `histories` and share the agent. `checkers` None is the executed judge;
    those with a threshold judge by probabilities.

    `assets` are those of each user; `assets_without_context` were learned without replies, tool results and files.
    """

    histories: Sequence[LearningHistory]
    assets: Mapping[str, Assets]
    assets_without_context: Mapping[str, Assets]
    selector: Selector
    checkers: Mapping[str, JournaledBackend | None]
    max_tokens: int
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def supply(self, method: Method, target: Target, checker: str) -> Supply:
        """What the method gives the agent for this target, and who checks its outputs."""
        told = [history for history in self.histories if history.user == target.user]
        if method == "base":
            return Supply()
        if method == "raw_history":
            return Supply(notes=baselines.raw_history([history for history in told if history.id in target.sources]))
        if method == "memory":
            return Supply(notes=baselines.memory(told, target.request))
        assets = self.assets_without_context if method == "no_context" else self.assets
        situations = assets[target.user].situations
        before = self.selector.tokens
        chosen = [situations[place] for place in self.selector.rank(target.request, situations)]
        after = self.selector.tokens
        supplied = self._chosen(method, target, checker, chosen)
        return replace(supplied, selection=None if before is None or after is None else after - before)

    def _chosen(self, method: Method, target: Target, checker: str, chosen: Sequence[Situation]) -> Supply:
        """What the method makes of the situations that were selected."""
        intents = intents_of(chosen)
        if method == "skill":
            return Supply(notes=baselines.skill(chosen))
        if method == "rules":
            return Supply(notes=baselines.skill(chosen), judge=baselines.RuleJudge(), checked=intents)
        if method == "no_runtime":
            return Supply(intents)
        if method == "no_explanation":
            intents = without_explanations(intents)
        return Supply(intents, judge=self._judge(method, target, checker), checked=intents, checker=self.checkers[checker])

    def idle(self, checker: str, *, scripted: bool = True) -> dict[Method, str]:
        """Ablations that cannot move anything here, and why: what they take away, nobody reads.

        A `scripted` agent reads no explanations, and the executed checks read none either; assets that were learned without
        context may be the same.
        """
        found: dict[Method, str] = {}
        if self.checkers[checker] is None and scripted:
            found["no_explanation"] = "neither the scripted agent nor the executed checks read explanations"
        if self.assets == self.assets_without_context:
            found["no_context"] = "the same assets were learned without the results"
        return found

    def _judge(self, method: Method, target: Target, checker: str) -> Judge:
        backend = self.checkers[checker]
        if backend is None:
            return ExecutedJudge(target.family, target.scenario, target.words)
        return ModelJudge(
            backend,
            explanation=method != "no_explanation",
            threshold=self.thresholds.get(checker),
            max_tokens=self.max_tokens,
        )
