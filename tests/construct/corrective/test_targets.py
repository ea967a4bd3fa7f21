"""Targets and executions: what each kind changes, and what a method is given."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from intentfold.asset import ContextualIntent, Requirement, intents_of
from intentfold.codec.verdict import Judgement
from intentfold.construct.corrective.agent import AgentRates
from intentfold.construct.corrective.build import Plan, user_histories
from intentfold.construct.corrective.judge import ExecutedJudge
from intentfold.construct.corrective.methods import Methods
from intentfold.construct.corrective.origins import Origins
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.replay import METHODS, Supply, execute
from intentfold.construct.corrective.targets import KINDS, scenario_of, targets
from intentfold.construct.corrective.work import applies
from intentfold.dialogue import Output, Turn
from intentfold.mining.assets import OracleLearner
from intentfold.runtime.baselines import RuleJudge
from intentfold.runtime.checker import Checker
from intentfold.runtime.journal import Journal, journaled
from intentfold.runtime.learner import VerbatimLearner, learn_users
from intentfold.runtime.roles import Completion
from intentfold.runtime.selection import LexicalSelector

PLAN = Plan(tuple(FAMILIES), 4, 2, 3, 5, 8, AgentRates(), 0.2, (), 0)


@pytest.fixture(scope="module")
def pairs():
    return [pair for number in range(PLAN.users) for pair in user_histories(PLAN, number)]


def test_each_kind_changes_what_it_says(pairs) -> None:
    histories = {history.id: (history, ledger) for history, ledger in pairs}
    found = list(targets(pairs, KINDS))
    assert {target.kind for target in found} == set(KINDS)
    for target in found:
        history, ledger = histories[target.sources[0]]
        before = scenario_of(history, ledger)
        assert target.keys
        assert all(applies(target.family.criterion(key), target.scenario) for key in target.keys)
        exposed = {key for source in target.sources for key in histories[source][1].exposed}
        assert set(target.keys) <= exposed
        if target.kind == "replay":
            assert (target.scenario, target.request) == (before, history.request)
            continue
        tastes = target.family.tastes(random.Random(0))
        assert target.scenario.number != before.number
        assert all(target.scenario.values[name] == before.values[name] for name in tastes)
        if target.kind == "changed":
            assert not any(target.family.criterion(key).condition for key in target.keys)
        if target.kind == "composition":
            assert len(target.sources) == 2


def test_a_replay_of_history_meets_the_same_checks(pairs) -> None:
    """The external evaluation of a delivery in its own scenario is the one that the ledger recorded."""
    for history, ledger in pairs[:20]:
        for target in targets([(history, ledger)], ["replay"]):
            recorded = {found.key: found for found in ledger.assessments[-1]}
            for found in target.assess(history.exchanges[-1].output):
                assert not recorded or found == recorded[found.key]


def methods(pairs) -> Methods:
    histories = [history for history, _ in pairs]
    ledgers = {history.id: ledger for history, ledger in pairs}
    assets, rejected = learn_users(histories, lambda history: OracleLearner(ledgers[history.id]))
    assert rejected == []
    return Methods(histories, assets, assets, LexicalSelector(), {"executed": None}, 8)


def test_methods_supply_what_they_are(pairs) -> None:
    train = [pair for pair in pairs if pair[0].wording == "train"]
    [target] = targets(train[:1], ["replay"])
    supplied = {method: methods(train).supply(method, target, "executed") for method in METHODS}
    assert not supplied["base"].intents + supplied["base"].notes
    assert supplied["raw_history"].notes[0] == train[0][0].request
    assert len(supplied["memory"].notes) == 5
    full = supplied["live_assets"]
    assert full.intents == full.checked
    assert isinstance(full.judge, ExecutedJudge)
    assert supplied["no_runtime"].judge is None
    assert supplied["no_runtime"].intents == full.intents
    bare = supplied["no_explanation"]
    assert [intent.explanation for intent in bare.intents] == [""] * len(full.intents)
    assert [intent.parts for intent in bare.checked] == [intent.parts for intent in full.checked]
    assert isinstance(supplied["rules"].judge, RuleJudge)
    assert set(supplied["skill"].notes) == {part.text for intent in full.intents for part in intent.requirements}


def test_an_execution_follows_findings_to_their_end(pairs) -> None:
    train = [pair for pair in pairs if pair[0].wording == "train"]
    keys = {text: r.key for _, ledger in train for r in ledger.requirements for text in (r.requirement, r.fact) if text}
    origins = Origins(ledger for _, ledger in train)
    mine = methods(train)
    perfect, hopeless = AgentRates(1.0, 0.0, 0.0, 0.0), AgentRates(0.0, 0.0, 0.0, 0.0)
    for target in list(targets(train, ["replay"]))[:8]:
        supply = mine.supply("live_assets", target, "executed")
        known = {keys[part.text] for intent in supply.intents for part in intent.parts}

        def done_at(rates: AgentRates):
            return execute(target, supply, rates, origins, method="m", kind="k", run=0, seed=0)  # noqa: B023

        done = done_at(perfect)
        assert done.final == tuple(key in known for key in target.keys)
        lost = done_at(hopeless)
        assert lost.selected == lost.identified == tuple(key in known for key in target.keys)
        assert not any(lost.final + lost.acted)
        assert not lost.passed
        once, again = (done_at(AgentRates()) for _ in range(2))
        assert once == again


class Always:
    """Finds everything unmet."""

    name = "always unmet"

    def judge(self, dialogue, output, questions):
        return [Judgement("unmet", "so it is") for _ in questions]


def test_findings_of_a_learner_with_words_of_its_own_are_followed_by_their_sources(pairs) -> None:
    """What a verbatim learner made of messages is about what the ledger says that those raised."""
    train = [pair for pair in pairs if pair[0].wording == "train"][:6]
    ledgers = {history.id: ledger for history, ledger in train}
    origins = Origins(ledgers.values())
    assets, _ = learn_users([history for history, _ in train], lambda history: VerbatimLearner())
    for target in targets(train, ["replay"]):
        situations = [s for s in assets[target.user].situations if target.sources[0] in s.sources]
        intents = intents_of(situations)
        supply = Supply(intents, judge=Always(), checked=intents)
        done = execute(target, supply, AgentRates(), origins, method="m", kind="k", run=0, seed=0)
        own = ledgers[target.sources[0]]
        raised = {key for n, keys in enumerate(own.raised) for key in keys if f"{own.history}:{n}" in sources_of(intents)}
        assert done.untraced == ""
        assert done.selected == done.identified == tuple(key in raised for key in target.keys)
        assert any(done.identified)
        strange = tuple(replace(intent, sources=("another:0",)) for intent in intents)
        lost = execute(
            target, Supply(strange, judge=Always(), checked=strange), AgentRates(), origins, method="m", kind="k", run=0, seed=0
        )
        assert (lost.selected, lost.identified) == (None, None)
        assert "another:0" in lost.untraced


def sources_of(intents) -> set[str]:
    return {source for intent in intents for source in intent.sources}


def test_what_is_of_another_family_is_traced_to_no_requirement_of_this_one(pairs) -> None:
    history, ledger = pairs[0]
    origins = Origins([ledger])
    part = Requirement(2, "my own words")
    number = next(n for n, keys in enumerate(ledger.raised) if keys)
    mine = ContextualIntent(1, "", (part,), (), (f"{history.id}:{number}",))
    assert origins.keys(mine, part, history.family) == set(ledger.raised[number])
    assert origins.keys(mine, part, "another") == frozenset()
    assert origins.keys(replace(mine, sources=()), part, history.family) is None
    worded = Requirement(3, ledger.requirements[0].requirement)
    assert origins.keys(replace(mine, sources=()), worded, history.family) == {ledger.requirements[0].key}


class Scores:
    """Writes met, and thinks unmet at 0.4."""

    name = "scores"

    def complete(self, prompts, max_tokens):
        return [Completion("met", 1, 1, True) for _ in prompts]

    def complete_scored(self, prompts, max_tokens, options):
        return [Completion("met", 1, 1, True, tuple(math.log(share) for share in (0.5, 0.4, 0.1))) for _ in prompts]


@pytest.mark.parametrize(("thresholds", "verdict"), [({}, "met"), ({"m": 0.3}, "unmet"), ({"m": 0.5}, "met")])
def test_a_checker_judges_at_its_threshold_through_the_journal(pairs, tmp_path: Path, thresholds: dict, verdict: str) -> None:
    train = [pair for pair in pairs if pair[0].wording == "train"]
    [target] = targets(train[:1], ["replay"])
    checkers = {"m": journaled(Scores(), Journal(tmp_path / "completions.jsonl"))}
    supply = replace(methods(train), checkers=checkers, thresholds=thresholds).supply("live_assets", target, "m")
    assert supply.judge is not None
    check = Checker(supply.judge, supply.checked).check(Output("Done."), (Turn("user", "Do it."),))
    assert {finding.verdict for finding in check.findings} == {verdict}


def test_ablations_that_cannot_move_are_known(pairs) -> None:
    same = replace(methods(pairs), checkers={"executed": None, "model": Scores()})
    assert set(same.idle("executed")) == {"no_explanation", "no_context"}
    assert set(same.idle("model")) == {"no_context"}
    other = replace(same, assets_without_context={})
    assert set(other.idle("executed")) == {"no_explanation"}
