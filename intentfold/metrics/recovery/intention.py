"""What of the intention was recovered, turn by turn (IntentDelta, sections 3.3 and 5.3, appendices C and F)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from intentfold.metrics.obsolete import Wish, retention, wish
from intentfold.metrics.recovery.matching import Atom, Change, Failed, Matcher, Pairs, atoms, changes
from intentfold.trajectory import Requirement, Trajectory

Fault = Literal["evaluator", "api", "data"]
# Ages and numbers of changes from here on are one group.
OLD, MANY = 4, 4


@dataclass(frozen=True, slots=True)
class IntentionScore:
    """One turn. Where `fault` says that it could not be scored, every other field is empty: it is in no mean.

    `recovered`, `matched` count gold atoms, `gold` and `predicted` are numbers of atoms; `age` maps the age of a carried
    gold atom (turns since it last changed; 1 to 4, 4 meaning at least 4) to (recovered, all).
    `tiers` counts matched atoms by (gold priority, predicted priority or `missing`).
    `obsolete` is (retained, opportunities) by atoms. `changes` counts predicted atoms by (value, priority) against the prediction
    before. `events` is the number of changes of the turn, None for the first.
    """

    fault: Fault | None
    reason: str = ""
    recovered: int = 0
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    events: int | None = None
    age: Mapping[int, tuple[int, int]] | None = None
    tiers: Mapping[tuple[str, str], int] | None = None
    obsolete: tuple[int, int] = (0, 0)
    changes: Mapping[tuple[Change, Change], int] | None = None

    @property
    def recovery(self) -> float | None:
        """Share of gold atoms matched with the right priority (reading: the paper's Intention Recovery)."""
        return self.recovered / self.gold if self.fault is None and self.gold else None

    @property
    def precision(self) -> float | None:
        """Share of predicted atoms that are matched; None where nothing was predicted."""
        return self.matched / self.predicted if self.fault is None and self.predicted else None

    @property
    def priority_accuracy(self) -> float | None:
        """Share of matched atoms whose priority is right; a missing one is not. None where nothing is matched."""
        return self.recovered / self.matched if self.fault is None and self.matched else None

    @property
    def full(self) -> bool:
        """Whether the whole intention was recovered."""
        return self.fault is None and self.recovered == self.gold


def score_intentions(
    trajectories: Sequence[Trajectory], predicted: Sequence[Sequence[Sequence[Requirement]]], matcher: Matcher
) -> list[list[IntentionScore]]:
    """One score a turn of every trajectory; `predicted` holds the cumulative intention after each turn.

    Raises `ValueError` where turns and predictions do not pair. A turn without a gold intention is a data error.
    The matcher pairs with the gold alone; changes against the previous prediction are told by rule, whoever matches. An
    unmatched prediction may be a fixed parameter of the task that no gold names: precision is to be read so (appendix F).
    """
    questions: list[tuple[Sequence[Atom], Sequence[Atom]]] = []
    for trajectory, states in zip(trajectories, predicted, strict=True):
        if len(states) != len(trajectory.turns):
            raise ValueError(f"trajectory {trajectory.id}: {len(trajectory.turns)} turns, but {len(states)} predictions")
        for turn, state in zip(trajectory.turns, states, strict=True):
            if turn.intention is not None:
                questions.append((atoms(state), atoms(turn.intention)))
    answers = iter(matcher.match(questions))
    scores = []
    for trajectory, states in zip(trajectories, predicted, strict=True):
        found = [None if turn.intention is None else next(answers) for turn in trajectory.turns]
        scores.append(_score(trajectory, states, found))
    return scores


def _score(
    trajectory: Trajectory, states: Sequence[Sequence[Requirement]], matches: Sequence[Pairs | Failed | None]
) -> list[IntentionScore]:
    scores = []
    born: dict[Atom, int] = {}
    right_before: list[tuple[Wish, Wish]] = []  # what was recovered at the turn before: (gold, as it was predicted)
    before: Sequence[Requirement] = ()
    for number, (turn, state, match) in enumerate(zip(trajectory.turns, states, matches, strict=True)):
        if turn.intention is None or match is None:
            scores.append(IntentionScore("data", "no gold intention"))
            right_before, before, born = [], state, {}
            continue
        gold, mine = atoms(turn.intention), atoms(state)
        born = {atom: born.get(atom, number) for atom in gold}
        if isinstance(match, Failed):
            scores.append(IntentionScore(match.kind, match.reason))
            right_before, before = [], state
            continue
        right = {g for p, g in match if mine[p].priority == gold[g].priority}
        age: dict[int, tuple[int, int]] = {}
        for g, atom in enumerate(gold):
            carried = min(number - born[atom], OLD)
            if carried:
                done, all_ = age.get(carried, (0, 0))
                age[carried] = (done + (g in right), all_ + 1)
        scores.append(
            IntentionScore(
                None,
                recovered=len(right),
                matched=len(match),
                gold=len(gold),
                predicted=len(mine),
                events=len(turn.changes) if number else None,
                age=age,
                tiers=Counter((str(gold[g].priority), str(mine[p].priority or "missing")) for p, g in match),
                obsolete=retention(right_before, set(map(_wish, gold)), set(map(_wish, mine))),
                changes=Counter(changes(atoms(before), mine)),
            )
        )
        right_before = [(_wish(gold[g]), _wish(mine[p])) for p, g in match if g in right]
        before = state
    return scores


def _wish(atom: Atom) -> Wish:
    return wish(atom.field, atom.value, atom.scope)
