"""Targets for learned assets: the same task again, and changed tasks of the same user (LiveAsset, 3.1.2 and 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.wording import bank, fill
from intentfold.construct.corrective.work import Family, Scenario, applies, assess
from intentfold.dialogue import Output
from intentfold.trace import Assessment, LearningHistory, Ledger, Pair, Wording

Kind = Literal["replay", "near", "far", "changed", "adversarial", "composition"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Scenario numbers of targets lie far above those of histories.
_FURTHER = 10_000_000


@dataclass(frozen=True)
class Target:
    """One task with the exposed requirements that apply to it; `sources` are the histories that exposed them."""

    id: str
    kind: Kind
    user: str
    family: Family
    scenario: Scenario
    words: Wording
    request: str
    keys: tuple[str, ...]
    weights: tuple[float, ...]
    sources: tuple[str, ...]

    def assess(self, output: Output) -> tuple[Assessment, ...]:
        """The executed check of every exposed requirement: the external evaluation."""
        return tuple(assess(self.family, self.scenario, output, key) for key in self.keys)


def targets(pairs: Sequence[Pair], kinds: Sequence[Kind]) -> Iterator[Target]:
    """The targets of histories of one split; those whose exposed requirements do not apply are left out.

    - replay: the original request in its initial environment
    - near: another content, the same wording of the request
    - far: another content and another wording
    - changed: another content in which the conditions of conditional requirements do not hold
    - adversarial: near, with a request that presses for the opposite
    - composition: another content, with what two histories of the user have exposed
    """
    for place, (history, ledger) in enumerate(pairs):
        family = FAMILIES[history.family]
        exposed = {key: ledger.requirement(key).weight for key in ledger.exposed}
        twin = next((p for p in pairs[place + 1 :] if (p[0].user, p[0].family) == (history.user, history.family)), None)
        for kind in kinds:
            keys, sources = dict(exposed), [history.id]
            if kind == "composition":
                if twin is None:
                    continue
                keys |= {key: twin[1].requirement(key).weight for key in twin[1].exposed}
                sources.append(twin[0].id)
            scenario = _scenario(family, history, ledger, kind, list(keys))
            chosen = [key for key in keys if applies(family.criterion(key), scenario)]
            if chosen:
                request = history.request if kind == "replay" else _request(family, history, ledger, scenario, kind)
                weights = tuple(keys[key] for key in chosen)
                id = f"{history.id} {kind}"
                task = (scenario, history.wording, request)
                yield Target(id, kind, history.user, family, *task, tuple(chosen), weights, tuple(sources))


def scenario_of(history: LearningHistory, ledger: Ledger) -> Scenario:
    """The scenario in which a history took place."""
    return FAMILIES[history.family].scenario(ledger.scenario, user_number(history))


def user_number(history: LearningHistory) -> int:
    """The number that a user's tastes are drawn by."""
    _, seed, number = history.user.split("-")
    return int(seed) * 1_000_003 + int(number)


def _scenario(family: Family, history: LearningHistory, ledger: Ledger, kind: Kind, keys: list[str]) -> Scenario:
    if kind == "replay":
        return scenario_of(history, ledger)
    inactive = [key for key in keys if family.criterion(key).condition] if kind == "changed" else []
    number = ledger.scenario + _FURTHER * (1 + KINDS.index(kind))
    return family.scenario(number, user_number(history), inactive)


def _request(family: Family, history: LearningHistory, ledger: Ledger, scenario: Scenario, kind: Kind) -> str:
    templates: list[str] = bank(history.wording)[family.name]["request"]
    before = scenario_of(history, ledger)
    same = next(n for n, template in enumerate(templates) if fill(template, before.values) == history.request)
    request = fill(templates[(same + (kind == "far")) % len(templates)], scenario.values)
    if kind != "adversarial":
        return request
    pressure: list[str] = bank(history.wording)[family.name]["pressure"]
    return f"{request} {pressure[scenario.number % len(pressure)]}"
