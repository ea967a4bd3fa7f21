"""What an action is worth to the true intention: Hard Success, Action Score and its alternative weightings.

IntentDelta, section 3.3 and appendices C and E. Each in-scope gold requirement is one unit, whatever its atoms; only
`satisfied` earns credit. What an agent says about its action is no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy.stats import kendalltau

from intentfold.domains.registry import RULES
from intentfold.metrics.recovery.intention import Fault
from intentfold.trajectory import Requirement, Trajectory, TrajectoryTurn

Failure = Literal["budget", "other requirement", "invalid booking"]


@dataclass(frozen=True, slots=True)
class Tiers:
    """How many units of the soft tiers there are, and how many of them are satisfied."""

    preferred: int = 0
    preferred_met: int = 0
    optional: int = 0
    optional_met: int = 0


@dataclass(frozen=True, slots=True)
class ActionScore:
    """One turn's action. Where `fault` says that it could not be scored, it is in no mean.

    `flagged` says that an infeasible turn had no reference action, so that all jointly feasible must-haves were asked
    for instead. `reference` are the reference action's own tiers, `failures` what an action without Hard Success got
    wrong.
    """

    fault: Fault | None
    reason: str = ""
    hard: bool = False
    feasible: bool = True
    flagged: bool = False
    tiers: Tiers = Tiers()
    reference: Tiers = Tiers()
    failures: tuple[Failure, ...] = ()

    def score(self, weighting: str = "2:1") -> float | None:
        """Hard Success times the weighted share of soft units, 1 where there are none; None for a fault."""
        if self.fault is not None:
            return None
        return float(self.hard) * WEIGHTINGS[weighting](self.tiers, self.reference)


def _linear(preferred: float, optional: float) -> Callable[[Tiers, Tiers], float]:
    def share(tiers: Tiers, reference: Tiers) -> float:
        whole = preferred * tiers.preferred + optional * tiers.optional
        return (preferred * tiers.preferred_met + optional * tiers.optional_met) / whole if whole else 1.0

    return share


def _lexicographic(tiers: Tiers, reference: Tiers) -> float:
    """A preferred unit weighs more than all optional ones together."""
    return _linear(tiers.optional + 1, 1)(tiers, reference)


def _minimum(tiers: Tiers, reference: Tiers) -> float:
    """The smaller of the tiers' ratios to what the reference satisfies, at most 1; where that is nothing, nothing is asked."""
    pairs = ((tiers.preferred_met, reference.preferred_met), (tiers.optional_met, reference.optional_met))
    return min((min(1.0, met / theirs) for met, theirs in pairs if theirs), default=1.0)


def _squared(tiers: Tiers, reference: Tiers) -> float:
    return _linear(2, 1)(tiers, reference) ** 2


# Preferred to optional. *Reading*: the paper names three linear weightings, a lexicographic one, a minimum of
# reference-relative ratios and a squared 2:1 ratio (appendix E) without their formulas.
WEIGHTINGS: dict[str, Callable[[Tiers, Tiers], float]] = {
    "2:1": _linear(2, 1),
    "1:1": _linear(1, 1),
    "3:2": _linear(3, 2),
    "3:1": _linear(3, 1),
    "lexicographic": _lexicographic,
    "minimum ratio": _minimum,
    "squared": _squared,
}


def score_actions(trajectory: Trajectory, actions: Sequence[Mapping[str, Any]]) -> list[ActionScore]:
    """One score a turn. Raises `ValueError` where turns and actions do not pair."""
    if len(actions) != len(trajectory.turns):
        raise ValueError(f"trajectory {trajectory.id}: {len(trajectory.turns)} turns, but {len(actions)} actions")
    return [_score(trajectory, turn, action) for turn, action in zip(trajectory.turns, actions, strict=True)]


def _score(trajectory: Trajectory, turn: TrajectoryTurn, action: Mapping[str, Any]) -> ActionScore:
    """Hard Success (*reading*): a valid action, and on a feasible turn all must-haves in scope; on an infeasible one as many
    as the reference compromise meets, or, without a reference, as many as can be met together (flagged)."""
    rules, environment = RULES[trajectory.domain], trajectory.environment
    if turn.intention is None:
        return ActionScore("data", "no gold intention")
    units = [requirement for requirement in turn.intention if rules.in_scope(requirement)]
    musts = [unit for unit in units if unit.priority == "must"]
    reference, feasible = turn.reference, turn.feasible
    if reference is not None and (wrong := rules.fault(environment, reference)):
        return ActionScore("data", f"the reference action cannot be done: {wrong}")
    best = rules.choose(environment, turn.intention) if reference is None or feasible is None else reference
    if feasible is None:
        feasible = _met(rules.verdict, environment, best, musts) == len(musts)
    compromise = best if reference is None else reference
    wrong = rules.fault(environment, action)
    met = 0 if wrong else _met(rules.verdict, environment, action, musts)
    asked = len(musts) if feasible else _met(rules.verdict, environment, compromise, musts)
    hard = not wrong and met >= asked
    failures: list[Failure] = []
    if wrong:
        failures.append("invalid booking")
    elif not hard:
        missed = [unit for unit in musts if rules.verdict(environment, action, unit) != "satisfied"]
        failures += ["budget"] if any(map(rules.is_budget, missed)) else []
        failures += ["other requirement"] if not all(map(rules.is_budget, missed)) else []
    return ActionScore(
        None,
        hard=hard,
        feasible=feasible,
        flagged=not feasible and reference is None,
        tiers=Tiers() if wrong else _tiers(rules.verdict, environment, action, units),
        reference=_tiers(rules.verdict, environment, compromise, units),
        failures=tuple(failures),
    )


def _met(verdict: Any, environment: Any, action: Any, units: Sequence[Requirement]) -> int:
    return sum(verdict(environment, action, unit) == "satisfied" for unit in units)


def _tiers(verdict: Any, environment: Any, action: Any, units: Sequence[Requirement]) -> Tiers:
    preferred = [unit for unit in units if unit.priority == "preferred"]
    optional = [unit for unit in units if unit.priority == "optional"]
    found = [_met(verdict, environment, action, tier) for tier in (preferred, optional)]
    return Tiers(len(preferred), found[0], len(optional), found[1])


def rank_agreement(scores: Mapping[str, Sequence[float]]) -> dict[str, float | None]:
    """Kendall's τ (τ-b) of every other weighting's ranking against that of 2:1, over the same agents in the same order.

    None where a ranking does not exist: fewer than two agents, or all of them tied.
    """
    found: dict[str, float | None] = {}
    for name, values in scores.items():
        if name == "2:1":
            continue
        both = len(values) > 1 and len(set(values)) > 1 and len(set(scores["2:1"])) > 1
        found[name] = float(kendalltau(values, scores["2:1"]).statistic) if both else None
    return found
