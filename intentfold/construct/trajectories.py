"""Trajectories of evolving intentions over a world, towards the mix of changes of IntentDelta (section 4.3).

The scripted actor acts on the true intention after every turn; what its outcome leaves unmet drives the next turn's
changes (feasibility), or the user simply wants something else (preference).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from intentfold.construct.simulator import Clause, capitalise, compose
from intentfold.construct.wording import Bank, bank, say
from intentfold.construct.world import Place, World
from intentfold.domains.registry import RULES, unmet
from intentfold.records import RECORD
from intentfold.task import Priority
from intentfold.trace import Split, Wording
from intentfold.trajectory import Change, ChangeKind, Domain, Driver, Requirement, Trajectory, TrajectoryTurn

TIERS: tuple[Priority, ...] = ("must", "preferred", "optional")
# IntentDelta, section 4.3: reprioritisations among change events; compound and feasibility-driven among changed turns.
PAPER: dict[Domain, dict[str, float]] = {
    "shop": {"reprioritise": 0.46, "compound": 0.665, "feasibility": 0.451},
    "trip": {"reprioritise": 0.46, "compound": 0.815, "feasibility": 0.268},
}


@dataclass(frozen=True, slots=True)
class Mix:
    """How changes are drawn; tuned so that what is built comes near `PAPER` (the build's report prints both).

    `compound`: chance of a turn of several changes; `feasibility`: chance that unmet requirements drive a turn;
    `reprioritise`: chance that a change is one of priority; `quiet`: chance of a turn that changes nothing.
    `turns`: shortest and longest trajectory (the paper's mean is 5.9).
    """

    compound: float
    feasibility: float
    reprioritise: float
    quiet: float = 0.04
    turns: tuple[int, int] = (4, 8)


MIXES: dict[Domain, Mix] = {"shop": Mix(0.67, 0.78, 0.5), "trip": Mix(0.81, 0.47, 0.47)}


def build_trajectory(
    world: World, split: Split, wording: Wording, seed: int, number: int, mix: Mix, wordings: int = 0
) -> Trajectory:
    """One trajectory; the same world and arguments give the same one.

    `wordings` limits the templates an act in training, 0 for the whole bank.
    """
    rng = random.Random(f"{seed}/{world.domain}/{world.origin}/{number}")
    limit = wordings if wording == "train" else 0
    words = {**bank(wording, limit), **bank(wording, limit, "trajectory_")}
    teller = _Teller(world, words, rng, mix)
    turns = [teller.open()]
    for _ in range(rng.randint(*mix.turns) - 1):
        turns.append(teller.go_on())
    id = f"{world.domain}-{number:05d}"
    return Trajectory(1, id, world.domain, world.origin, world.license, split, wording, world.environment, tuple(turns))


@dataclass(slots=True)
class _Teller:
    """One trajectory under way: the intention, and the last outcome's unmet requirements."""

    world: World
    words: Bank
    rng: random.Random
    mix: Mix
    intention: tuple[Requirement, ...] = ()
    missed: tuple[Requirement, ...] = ()

    def open(self) -> TrajectoryTurn:
        """The request, what it states as must-haves, and a few requirements said beside it with their priorities."""
        request = self.world.request(self.words, self.rng)
        self.intention = self.world.wishes
        clauses = []
        for place in self.world.opening_places():
            clause, _ = self._add(place)
            clauses += [clause] if clause is not None else []
        graded = [r for r in self.world.wishes if r.field != "product"]
        if graded and self.rng.random() < 0.5:
            clauses.append(self._reprioritise(self.rng.choice(graded), ("preferred", "optional")))
        said = ". ".join(
            capitalise(part)
            for part in (request, *(compose([clause], False, self.words, self.rng).rstrip(".!") for clause in clauses))
        )
        return self._turn(f"{said}.", (), "request")

    def go_on(self) -> TrajectoryTurn:
        """The next turn: one or more changes, each of another requirement, or chit-chat."""
        if self.rng.random() < self.mix.quiet:
            return self._turn(capitalise(say(self.words, "chat", self.rng)), (), "none")
        driven = bool(self.missed) and self.rng.random() < self.mix.feasibility
        wanted = 1 if self.rng.random() >= self.mix.compound else self.rng.choices((2, 3, 4), (0.6, 0.3, 0.1))[0]
        clauses: list[Clause] = []
        changes: list[Change] = []
        touched: set[Place] = set()
        for _ in range(8 * wanted):
            if len(changes) == wanted:
                break
            first = driven and not changes
            made = self._yield(touched) if first else self._want(touched)
            if made is None:
                continue
            clause, change = made
            clauses.append(replace(clause, words=f"{say(self.words, 'because', self.rng)} {clause.words}") if first else clause)
            changes.append(change)
            touched.add((change.field, change.scope))
        if not changes:
            return self._turn(capitalise(say(self.words, "chat", self.rng)), (), "none")
        driver: Driver = "feasibility" if driven else "preference"
        return self._turn(compose(clauses, False, self.words, self.rng), tuple(changes), driver)

    def _turn(self, utterance: str, changes: tuple[Change, ...], driver: Driver) -> TrajectoryTurn:
        rules = RULES[self.world.domain]
        action = rules.choose(self.world.environment, self.intention)
        missed = unmet(self.world.domain, self.world.environment, action, self.intention)
        feasible = not any(r.priority == "must" for r in missed)
        self.missed = missed
        offer = self.world.offer(action)
        # What matters most among the unmet is what the agent owns up to.
        worst = min(missed, key=lambda r: TIERS.index(r.priority or "must"), default=None)
        if worst is None:
            reply = say(self.words, "agent_offer", self.rng, offer=offer)
        else:
            reply = say(self.words, "agent_short", self.rng, offer=offer, slot=self.world.spoken((worst.field, worst.scope)))
        return TrajectoryTurn(utterance, self.intention, changes, driver, feasible, action, capitalise(reply))

    def _yield(self, touched: set[Place]) -> tuple[Clause, Change] | None:
        """A change that gives way on something unmet."""
        open_ = [r for r in self.missed if (r.field, r.scope) not in touched and r.field != "product"]
        if not open_:
            return None
        requirement = min(open_, key=lambda r: (TIERS.index(r.priority or "must"), self.rng.random()))
        lower = TIERS[TIERS.index(requirement.priority or "must") + 1 :]
        if lower and self.rng.random() < self.mix.reprioritise:
            return self._reprioritise(requirement, lower), Change("reprioritise", requirement.field, requirement.scope)
        looser = self.world.looser(requirement, self.intention, self.rng)
        if looser is not None and looser != requirement.value and self.rng.random() < 0.6:
            return self._replace(requirement, looser, "relax")
        if requirement.priority == "must" or self.rng.random() < 0.6:
            value = self.world.value((requirement.field, requirement.scope), self.intention, self.rng)
            return None if value is None else self._replace(requirement, value, "override")
        return self._remove(requirement)

    def _want(self, touched: set[Place]) -> tuple[Clause, Change] | None:
        """A change of mind."""
        free = [r for r in self.intention if (r.field, r.scope) not in touched and r.field != "product"]
        drawn = self.rng.random()
        if free and drawn < self.mix.reprioritise:
            requirement = self.rng.choice(free)
            tiers = tuple(tier for tier in TIERS if tier != requirement.priority)
            return self._reprioritise(requirement, tiers), Change("reprioritise", requirement.field, requirement.scope)
        kind = self.rng.choices(("add", "override", "relax", "remove"), (0.48, 0.26, 0.12, 0.14))[0]
        if kind == "add":
            taken = {(r.field, r.scope) for r in self.intention} | touched
            places = [place for place in self.world.places() if place not in taken]
            if not places:
                return None
            place = self.rng.choice(places)
            clause, added = self._add(place)
            return None if clause is None or not added else (clause, Change("add", *place))
        if not free:
            return None
        requirement = self.rng.choice(free)
        if kind == "remove":
            return self._remove(requirement) if len(self.intention) > 3 else None
        place = (requirement.field, requirement.scope)
        if kind == "relax":
            looser = self.world.looser(requirement, self.intention, self.rng)
            return None if looser in (None, requirement.value) else self._replace(requirement, looser or "", "relax")
        value = self.world.value(place, self.intention, self.rng)
        return None if value is None else self._replace(requirement, value, "override")

    def _add(self, place: Place) -> tuple[Clause | None, bool]:
        value = self.world.value(place, self.intention, self.rng)
        if value is None:
            return None, False
        priority = self.rng.choices(TIERS, (0.4, 0.35, 0.25))[0]
        self.intention = (*self.intention, Requirement(place[0], value, place[1], priority))
        return self._clause(f"add_{priority}", slot=self.world.spoken(place), value=value), True

    def _reprioritise(self, requirement: Requirement, tiers: Sequence[Priority]) -> Clause:
        tier = self.rng.choice(tuple(tiers))
        self._put(requirement, replace(requirement, priority=tier))
        return self._clause(tier, slot=self.world.spoken((requirement.field, requirement.scope)))

    def _replace(self, old: Requirement, value: str, kind: ChangeKind) -> tuple[Clause, Change]:
        self._put(old, replace(old, value=value))
        slot = self.world.spoken((old.field, old.scope))
        acts = ("relax",) if kind == "relax" else ("replace_slot", "replace_slot", "replace_both")
        act = self.rng.choice(acts)
        fields = {"slot": slot, "value": value} | ({"old": old.value} if act == "replace_both" else {})
        return self._clause(act, **fields), Change(kind, old.field, old.scope)

    def _remove(self, requirement: Requirement) -> tuple[Clause, Change]:
        self.intention = tuple(r for r in self.intention if r != requirement)
        clause = self._clause("delete_slot", slot=self.world.spoken((requirement.field, requirement.scope)))
        return clause, Change("remove", requirement.field, requirement.scope)

    def _put(self, old: Requirement, new: Requirement) -> None:
        self.intention = tuple(new if r == old else r for r in self.intention)

    def _clause(self, act: str, **fields: str) -> Clause:
        return Clause(say(self.words, act, self.rng, **fields), (act,), False, tuple(fields.values()))


@dataclass(frozen=True, slots=True)
class MixReport:
    """What a set of trajectories is made of: shares of change events, and of changed turns; with the paper's beside.

    `turns` counts all, `changed` those after the first that change something, `events` the changes in them.
    """

    __pydantic_config__ = RECORD

    trajectories: int
    origins: int
    turns: int
    changed: int
    events: int
    kinds: Mapping[str, float]
    compound: float
    feasibility: float
    infeasible_turns: float
    requirements_a_turn: float
    tiers: Mapping[str, float]
    paper: Mapping[str, float]


def mix_of(trajectories: Sequence[Trajectory]) -> MixReport:
    """The mix of trajectories of one domain. Raises `ValueError` for none, or for several domains."""
    domains = {trajectory.domain for trajectory in trajectories}
    if len(domains) != 1:
        raise ValueError(f"expected trajectories of one domain, got {sorted(domains)}")
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    changed = [turn for turn in turns if turn.changes]
    kinds = Counter(change.kind for turn in changed for change in turn.changes)
    tiers: Counter[Any] = Counter(r.priority for turn in turns for r in turn.intention or ())
    return MixReport(
        trajectories=len(trajectories),
        origins=len({trajectory.origin for trajectory in trajectories}),
        turns=len(turns),
        changed=len(changed),
        events=kinds.total(),
        kinds={kind: round(count / kinds.total(), 4) for kind, count in sorted(kinds.items())},
        compound=round(sum(len(turn.changes) > 1 for turn in changed) / max(1, len(changed)), 4),
        feasibility=round(sum(turn.driver == "feasibility" for turn in changed) / max(1, len(changed)), 4),
        infeasible_turns=round(sum(turn.feasible is False for turn in turns) / len(turns), 4),
        requirements_a_turn=round(tiers.total() / len(turns), 2),
        tiers={tier: round(tiers[tier] / max(1, tiers.total()), 4) for tier in TIERS},
        paper=PAPER[domains.pop()],
    )
