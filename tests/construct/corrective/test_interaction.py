"""The simulated user, the scripted agent, and what an interaction leaves."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from intentfold.construct.corrective.agent import AgentRates, ScriptedWorker
from intentfold.construct.corrective.audit import AuditError, audit
from intentfold.construct.corrective.build import Built, Cast, Plan, feedback_mix, report, user_histories
from intentfold.construct.corrective.interaction import interact
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.user import Feedback, Selector, SimulatedUser, specification
from intentfold.construct.corrective.work import assess, make
from intentfold.dialogue import Output, Turn
from intentfold.records import canonical_json, to_json
from intentfold.runtime.checker import Finding
from intentfold.runtime.verification import Job
from intentfold.trace import Assessment

REVIEW = FAMILIES["review_script"]
SCENARIO = REVIEW.scenario(3, 1)
KEYS = ("routine_benefit", "price_lookup", "disclosure_last", "no_hype")


def verdicts(**found: str) -> list[Assessment]:
    return [Assessment(key, verdict, "", "", "plain") for key, verdict in found.items()]  # type: ignore[arg-type]


def test_the_selector_favours_what_was_raised_least_and_takes_every_regression() -> None:
    for seed in range(20):
        selector, rng = Selector({"a": "preference", "b": "specification", "c": "context"}), random.Random(seed)
        raised = Counter[str]()
        for _ in range(6):
            concerns, regressions = selector.select(verdicts(a="unmet", b="unmet", c="unmet"), rng)
            assert len(concerns) == 1  # no two are of one form
            assert regressions == ()
            raised.update(concerns)
        assert raised == {"a": 2, "b": 2, "c": 2}
    assert selector.select(verdicts(a="met", b="met", c="unmet"), rng) == (("c",), ())
    assert selector.select(verdicts(a="unmet", b="unmet", c="unmet"), rng) == (("c",), ("a", "b"))
    assert selector.select(verdicts(a="met", b="not_applicable", c="met"), rng) == ((), ())


def test_a_few_related_concerns_are_of_one_form() -> None:
    forms = {"a": "preference", "b": "preference", "c": "preference", "d": "context"}
    sizes = Counter[int]()
    for seed in range(300):
        concerns, _ = Selector(forms).select(verdicts(a="unmet", b="unmet", c="unmet", d="unmet"), random.Random(seed))  # type: ignore[arg-type]
        assert len({forms[key] for key in concerns}) == 1
        sizes[len(concerns)] += 1
    assert sizes[1] > sizes[2] > 0
    assert sizes[3] > 0


def user(seed: int = 0, both: float = 0.0) -> SimulatedUser:
    rng = random.Random(seed)
    return SimulatedUser(REVIEW, SCENARIO, specification(REVIEW, SCENARIO, KEYS, "train", rng), "train", rng, both)


def test_it_points_at_a_discrepancy_where_there_is_one_and_else_states_the_change() -> None:
    visible = [Assessment("no_hype", "unmet", "secret reason", "It is amazing!", "plain")]
    said = user().review(visible)
    assert said is not None
    assert "“It is amazing!”" in said.text
    assert (said.raised, said.discrepancies, said.stated) == (("no_hype",), ("no_hype",), ())
    missing = [Assessment("disclosure_last", "unmet", "secret reason", "", "plain")]
    said = user().review(missing)
    assert said is not None
    assert SCENARIO.values["sponsor"] in said.text
    assert (said.discrepancies, said.stated) == ((), ("disclosure_last",))
    both = user(both=1.0).review(visible)
    assert both is not None
    assert both.discrepancies == both.stated == ("no_hype",)
    assert user().review([Assessment("no_hype", "met", "", "", "plain")]) is None


def test_clarification_questions_are_answered_from_the_specification() -> None:
    question = Output("Quick question about the sponsorship note: any wish?")
    assert question.asks
    assert user().asked(question) == ("disclosure_last",)
    assert SCENARIO.values["sponsor"] in user().answer(question).text
    untold = Output("Quick question about the timing: any wish?")
    assert user().asked(untold) == ("own_timing",)
    assert user().answer(untold).raised == ()
    assert user().asked(Output("What now?")) == ()
    assert not make(REVIEW, SCENARIO, {}).asks


AUDITS = [
    ("Drop words like amazing.", ["no_hype"], (0, 0, 0)),
    ("Drop words like amazing.", ["no_hype", "price_lookup"], (0, 1, 0)),
    ("Drop words like amazing. Look the price up and quote it exactly.", ["no_hype"], (0, 0, 1)),
    ("“It is amazing!” is hype.", ["no_hype"], (0, 0, 0)),
    ("“It is stunning!” is hype.", ["no_hype"], (1, 0, 0)),
    ("Keep meetings to 25 minutes.", [], (0, 0, 1)),
    ("I do not like it.", ["no_hype"], (0, 1, 0)),
]


@pytest.mark.parametrize(("message", "selected", "faults"), AUDITS)
def test_audits_find_what_is_ungrounded_uncovered_and_added(message: str, selected: list[str], faults: tuple) -> None:
    found = audit(message, selected, "review_script", Output("It is amazing!"), "train")
    assert (len(found.ungrounded), len(found.uncovered), len(found.added)) == faults
    assert found.passed == (faults == (0, 0, 0))


def test_a_correction_that_fails_its_audit_is_not_delivered() -> None:
    class Invents(SimulatedUser):
        def review(self, assessments):
            return Feedback("Take the exact price from the lookup.", ("no_hype",), (), ("no_hype",))

    rng = random.Random(0)
    requirements = specification(REVIEW, SCENARIO, KEYS, "train", rng)
    worker = ScriptedWorker(REVIEW, SCENARIO, "train", AgentRates(ask=0.0), rng)
    with pytest.raises(AuditError, match="price_lookup"):
        interact(
            worker,
            Invents(REVIEW, SCENARIO, requirements, "train", rng),
            requirements,
            id="h",
            name="ann",
            split="train",
            budget=3,
        )


def outcomes(rates: AgentRates) -> Counter[str]:
    """What becomes of `no_hype` in a revision that is told of it, and of the rest."""
    seen = Counter[str]()
    for seed in range(400):
        worker = ScriptedWorker(REVIEW, SCENARIO, "train", rates, random.Random(seed))
        worker.work(Job((Turn("user", "Write."),)))
        worker.tastes = {name: SCENARIO.values[name] for name in worker.tastes}
        worker.states = {criterion.key: "met" for criterion in REVIEW.criteria} | {"no_hype": "unmet"}
        finding = Finding(1, 2, f"The script uses no words like {SCENARIO.values['hype']}.", "unmet", "")
        output = worker.work(Job((Turn("user", "Write."),), draft=Output("x"), unmet=(finding,)))
        seen[f"hype {worker.states['no_hype']}"] += 1
        found = [assess(REVIEW, SCENARIO, output, criterion.key).verdict for criterion in REVIEW.criteria]
        assert "I have seen to the tone." in output.reply
        seen["broken"] += sum(verdict == "unmet" for verdict in found) > (worker.states["no_hype"] != "met")
    return seen


def test_the_agent_fixes_half_fixes_and_breaks_at_its_rates() -> None:
    seen = outcomes(AgentRates(ask=0.0))
    assert seen["hype met"] / 400 == pytest.approx(0.6, abs=0.07)
    assert seen["hype near"] / 400 == pytest.approx(0.2, abs=0.06)
    assert seen["broken"] / 400 == pytest.approx(0.1, abs=0.05)
    perfect = outcomes(AgentRates(fix=1.0, half_fix=0.0, regression=0.0, ask=0.0))
    assert (perfect["hype met"], perfect["broken"]) == (400, 0)


def test_rates_are_checked() -> None:
    with pytest.raises(ValueError, match=r"fix must be in \[0, 1\], got 1.5"):
        AgentRates(fix=1.5)
    with pytest.raises(ValueError, match="together must be at most 1"):
        AgentRates(fix=0.9, half_fix=0.2)


def test_words_that_the_agent_does_not_understand_are_counted() -> None:
    worker = ScriptedWorker(REVIEW, SCENARIO, "train", AgentRates(regression=0.0, ask=0.0), random.Random(0))
    first = worker.work(Job((Turn("user", "Write."),)))
    before = dict(worker.states)
    worker.work(Job((Turn("user", "Write."),), draft=first, unmet=(Finding(1, 2, "Be witty.", "unmet", ""),)))
    assert (worker.states, worker.not_understood) == (before, 1)


PLAN = Plan(tuple(FAMILIES), 6, 2, 3, 5, 8, AgentRates(), 43 / 178, ("scheduling",), 0)


@pytest.fixture(scope="module")
def pairs():
    return [pair for number in range(PLAN.users) for pair in user_histories(PLAN, number)]


def test_interactions_end_by_acceptance_or_budget(pairs) -> None:
    for history, ledger in pairs:
        assert len(history.exchanges) == len(ledger.assessments) == len(ledger.raised)
        last = ledger.assessments[-1]
        accepted = bool(last) and all(found.verdict != "unmet" for found in last)
        assert accepted == bool(history.closing)
        assert accepted or len(history.exchanges) == PLAN.budget + 1
        for number in history.corrections():
            step = history.step(number)
            assert step.before == history.exchanges[number - 1].output
            assert list(step.messages.values())[-1] == step.correction
    assert {bool(history.closing) for history, _ in pairs} == {True, False}


def test_what_was_met_and_is_unmet_is_always_raised(pairs) -> None:
    regressions = 0
    for history, ledger in pairs:
        met: set[str] = set()
        for number, found in enumerate(ledger.assessments[:-1]):
            lost = {one.key for one in found if one.verdict == "unmet"} & met
            met |= {one.key for one in found if one.verdict == "met"}
            if history.exchanges[number + 1].act == "correction":
                assert lost <= set(ledger.raised[number + 1])
                regressions += len(lost)
    assert regressions > 0


def test_nothing_private_enters_a_history(pairs) -> None:
    for history, ledger in pairs:
        written = canonical_json(to_json(history))
        for requirement in ledger.requirements:
            assert requirement.explanation not in written
            assert requirement.requirement not in written
            # A key of one word may be a word of the work itself.
            assert "_" not in requirement.key or requirement.key not in written
        reasons = {found.reason for some in ledger.assessments for found in some if found.reason}
        assert not [reason for reason in reasons if reason in written]
        unraised = [ledger.requirement(key).fact for key in {r.key for r in ledger.requirements} - set(ledger.exposed)]
        assert not [fact for fact in unraised if fact and fact in written]


def test_private_words_replaced_by_a_canary_do_not_show() -> None:
    rng = random.Random(5)
    requirements = [
        replace(requirement, explanation="CANARY-why", requirement="CANARY-what", weight=0.123456)
        for requirement in specification(REVIEW, SCENARIO, KEYS, "train", rng)
    ]
    worker = ScriptedWorker(REVIEW, SCENARIO, "train", AgentRates(), random.Random(1))
    simulated = SimulatedUser(REVIEW, SCENARIO, requirements, "train", rng)
    history, ledger = interact(worker, simulated, requirements, id="h", name="ann", split="train", budget=8)
    assert history.corrections()
    written = canonical_json(to_json(history))
    assert "CANARY" not in written
    assert "0.123456" not in written
    assert "CANARY" in str(ledger)


def test_a_build_is_the_same_each_time_and_split_by_user(pairs) -> None:
    assert user_histories(PLAN, 2) == [pair for pair in pairs if pair[0].user == "user-0-2"]
    splits: dict[str, set[str]] = {}
    for history, ledger in pairs:
        if history.family == "scheduling":
            assert (history.split, history.wording) == ("held_out_family", "test")
        else:
            splits.setdefault(history.user, set()).add(history.split)
        novel = [requirement.novel for requirement in ledger.requirements]
        assert sum(novel) == (1 if history.wording == "test" else 0)
    assert all(len(found) == 1 for found in splits.values())


def test_the_report_prints_the_mix_beside_swe_chat(pairs) -> None:
    found = report([Built(pairs, [], {})], PLAN, Cast(Path("none")))
    assert found["feedback"]["names a discrepancy"][1] == pytest.approx(178 / 331)
    mix = feedback_mix(pairs)
    forms = mix["preference"] + mix["specification"] + mix["context"]
    assert forms == pytest.approx(mix["any requirement"])
    assert mix["discrepancy alone"] + mix["discrepancy and requirement"] == pytest.approx(mix["names a discrepancy"])
    assert mix["any requirement"] + mix["discrepancy alone"] == pytest.approx(1.0)
    assert found["counts"]["held_out_family"] == {"scheduling": 12}
