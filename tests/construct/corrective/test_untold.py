"""The scripted agent makes nothing of the user's tastes before it is told them."""

from __future__ import annotations

import random
import re

import pytest

from intentfold.asset import ContextualIntent, Requirement
from intentfold.construct.corrective.agent import AgentRates, ScriptedWorker
from intentfold.construct.corrective.build import Plan, user_histories
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.targets import scenario_of
from intentfold.construct.corrective.wording import bank, fields, fill
from intentfold.construct.corrective.work import Family, Scenario
from intentfold.dialogue import Output, Turn
from intentfold.runtime.checker import Finding
from intentfold.runtime.verification import Job

USERS = 40
EAGER = AgentRates(fix=1.0, half_fix=0.0, regression=0.0, untold=1.0, ask=0.0)


def held(family: Family, scenario: Scenario, text: str) -> set[str]:
    """Names of the user's tastes whose value stands in `text`.

    Parts of a time of day are none, nor is a value that the task itself holds (the 8th of March).
    """
    names = family.tastes(random.Random(0))
    task = " ".join(value for name, value in scenario.values.items() if name not in names)
    patterns = {name: rf"(?<![\w:]){re.escape(scenario.values[name])}(?![\w:])" for name in names}
    return {name for name, pattern in patterns.items() if re.search(pattern, text) and not re.search(pattern, task)}


def test_no_output_holds_a_private_value_before_a_message_of_the_user_does() -> None:
    plan = Plan(tuple(FAMILIES), USERS, 1, 3, 5, 8, AgentRates(), 0.2, (), 0)
    later = 0
    for number in range(USERS):
        for history, ledger in user_histories(plan, number):
            family, scenario = FAMILIES[history.family], scenario_of(history, ledger)
            for turn, exchange in enumerate(history.exchanges):
                said = "\n".join(history.messages(turn).values())
                shown = held(family, scenario, exchange.output.text())
                assert shown <= held(family, scenario, said), (history.id, turn)
                later += len(shown)
    assert later > 100


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
@pytest.mark.parametrize("lucky", [0.0, 1.0])
def test_a_first_result_holds_none_however_lucky_it_is(family: Family, lucky: float) -> None:
    for number in range(USERS):
        scenario = family.scenario(1000 + number, number)
        rates = AgentRates(untold=lucky, ask=0.0)
        output = ScriptedWorker(family, scenario, "train", rates, random.Random(number)).work(Job((Turn("user", "Do it."),)))
        assert held(family, scenario, output.text()) == set(), number


def test_what_it_is_told_it_takes_from_whatever_told_it() -> None:
    """By an intent, a note, a message, a finding; as it was told, even where that is not what the user now wants."""
    family = FAMILIES["scheduling"]
    scenario = family.scenario(5, 2)
    told = fill(bank("train")["scheduling"]["event_length"]["require"][0], {**scenario.values, "limit": "50"})
    intent = ContextualIntent(1, "why", (Requirement(2, told),))
    start = (Turn("user", "Plan it."),)
    wish = Turn("user", fill(bank("train")["scheduling"]["event_length"]["want"][0], {"limit": "50"}))
    finding = Finding(1, 2, told, "unmet")

    def minutes(*jobs: Job) -> str:
        worker = ScriptedWorker(family, scenario, "train", EAGER, random.Random(0))
        return [worker.work(job) for job in jobs][-1].calls[1].arguments["minutes"]

    untold = minutes(Job(start))
    assert untold not in ("50", scenario.values["limit"])
    draft = Output("made")
    assert minutes(Job(start, intents=(intent,))) == "50"
    assert minutes(Job(start, notes=(told,))) == "50"
    assert minutes(Job((*start, wish))) == "50"
    assert minutes(Job(start), Job(start, draft=draft, unmet=(finding,))) == "50"
    assert minutes(Job(start), Job((*start, Turn("assistant", "made"), wish), draft=draft)) == "50"


@pytest.mark.parametrize("words", ["train", "dev", "test"])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_every_wording_that_holds_a_taste_tells_it_whole(family: Family, words: str) -> None:
    scenario = family.scenario(7, 3)
    names = set(family.tastes(random.Random(0)))
    heard = set()
    for key, acts in bank(words)[family.name].items():  # type: ignore[arg-type]
        if key in ("request", "pressure"):
            continue
        for fact in acts.get("fact", [""]):
            for template in (one for act in ("want", "require", "fact") for one in acts.get(act, [])):
                spelt = template.replace("{fact}", fact)
                worker = ScriptedWorker(family, scenario, words, EAGER, random.Random(0))  # type: ignore[arg-type]
                before = dict(worker.tastes)
                worker.work(Job((Turn("user", fill(spelt, scenario.values)),)))
                own = set(fields(spelt)) & names
                assert worker.tastes == before | {name: scenario.values[name] for name in own}, spelt
                heard |= own
    # Criteria of the test bank alone have their words there alone.
    assert heard == names or words != "test"
