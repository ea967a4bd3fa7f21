"""Checker and learner examples: kinds, executed labels, balance, leaks."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from intentfold.asset import Fact, Situation, fold_asset
from intentfold.codec.asset_edits import decode_asset_edits
from intentfold.codec.verdict import decode_verdict
from intentfold.construct.corrective.agent import AgentRates
from intentfold.construct.corrective.build import Plan, user_histories
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.targets import scenario_of
from intentfold.construct.corrective.work import assess
from intentfold.dialogue import Output
from intentfold.example import Example
from intentfold.mining.assets import OracleLearner, learner_examples
from intentfold.mining.checker import balance, candidates, check_no_leak, example, learned_intents
from intentfold.prompts.templates import role_of, template_hash
from intentfold.records import from_json, to_json
from intentfold.runtime.learner import learn
from intentfold.trace import Assessment, Exchange, LearningHistory, Ledger, PrivateRequirement

PLAN = Plan(tuple(FAMILIES), 8, 2, 3, 5, 8, AgentRates(), 0.2, (), 0)


@pytest.fixture(scope="module")
def pairs():
    found = [pair for number in range(PLAN.users) for pair in user_histories(PLAN, number)]
    return [pair for pair in found if pair[0].split == "train"]


def hand_made() -> tuple[LearningHistory, Ledger]:
    """`a` is raised and mended, then broken; `b` is raised twice, the second time half-fixed; `c` never applies."""

    def requirement(key: str, fact: str = "", contradicts: bool = False) -> PrivateRequirement:
        return PrivateRequirement(key, "preference", f"why {key}", f"want {key}", fact, contradicts, (), 1.0, key == "c")

    def found(a: str, b: str, c: str, manner: str = "plain") -> tuple[Assessment, ...]:
        verdicts = zip("abc", (a, b, c), ("plain", manner, "plain"), strict=True)
        return tuple(Assessment(k, v, f"{k} is wrong" if v == "unmet" else "", "", m) for k, v, m in verdicts)  # type: ignore[arg-type]

    said = ["do it", "mend a", "mend b, told b, mend c", "mend b again", "mend a again"]
    acts = ["request", "correction", "correction", "correction", "correction"]
    history = LearningHistory(
        1, "h", "user-0-1", "f", "CC0-1.0", "train", "train",
        tuple(Exchange(act, text, Output(f"out {n}")) for n, (act, text) in enumerate(zip(acts, said, strict=True))),  # type: ignore[arg-type]
        "fine",
    )  # fmt: skip
    ledger = Ledger(
        1, "h", "f", 0, (requirement("a"), requirement("b", "told b"), requirement("c")),
        (
            found("unmet", "unmet", "not_applicable"),
            found("met", "unmet", "not_applicable"),
            found("met", "unmet", "not_applicable", "near_miss"),
            found("unmet", "met", "not_applicable"),
            found("met", "met", "not_applicable"),
        ),
        ((), ("a",), ("b", "c"), ("b",), ("a",)), ((),) * 5, ((),) * 5,
    )  # fmt: skip
    return history, ledger


EXPECTED = {
    # (exchange, part): kind, verdict, difficulty
    (0, "want a"): ("unmet", "unmet", 1),
    (1, "want a"): ("fixed", "met", 1),
    (2, "want a"): ("kept", "met", 2),
    (3, "want a"): ("regression", "unmet", 2),
    (4, "want a"): ("fixed", "met", 1),
    # exchange 0: unmet, but the correction that followed was about something else
    (1, "want b"): ("unmet", "unmet", 1),
    (2, "want b"): ("hard_negative", "unmet", 3),
    (3, "want b"): ("fixed", "met", 3),
    (4, "want b"): ("kept", "met", 2),
    # a fact that a failing result leaves aside is not gone against
    (1, "told b"): ("not_applicable", "not_applicable", 2),
    (2, "told b"): ("not_applicable", "not_applicable", 2),
    (3, "told b"): ("fixed", "met", 3),
    (4, "told b"): ("kept", "met", 2),
    **{(n, "want c"): ("not_applicable", "not_applicable", 2) for n in range(5)},
}


def test_kinds_and_labels_of_a_history_worked_by_hand() -> None:
    found = {(c.turn, c.part.text): c for c in candidates([hand_made()], random.Random(0))}
    assert {where: (c.kind, c.judgement.verdict, c.difficulty) for where, c in found.items()} == EXPECTED
    assert found[(0, "want a")].judgement.reason == "a is wrong"
    assert [c.novel for where, c in found.items() if where[1] == "want c"] == [True] * 5
    made = example(found[(2, "want b")])
    assert made.completion == "unmet: b is wrong"
    assert made.messages[1].content == "User:\n  do it\nReply:\n  out 2\nWhy: why b\nRequirement: want b"
    whole = example(found[(2, "want b")], "whole").messages[1].content
    assert whole.startswith("User:\n  do it\nAgent:\n  out 0\nUser:\n  mend a\nAgent:\n  out 1\nUser:\n  mend b")


def test_a_question_between_a_correction_and_its_fix_hides_neither() -> None:
    """`a` is raised, the agent asks something, and then delivers: it was fixed by that correction, not kept."""
    history, ledger = hand_made()
    said = [
        *history.exchanges[:1],
        Exchange("correction", "mend a", Output("Which?")),
        Exchange("answer", "none", Output("out 1")),
    ]
    asked = LearningHistory(1, "h", "user-0-1", "f", "CC0-1.0", "train", "train", tuple(said), "")
    found = (ledger.assessments[0], (), ledger.assessments[1])
    whole = Ledger(1, "h", "f", 0, ledger.requirements, found, ((), ("a",), ()), ((),) * 3, ((),) * 3)
    kinds = {(c.turn, c.part.text): c.kind for c in candidates([(asked, whole)], random.Random(0))}
    assert kinds == {(0, "want a"): "unmet", (2, "want a"): "fixed"}


def test_labels_are_those_of_checks_run_again(pairs) -> None:
    for candidate in candidates(pairs, random.Random(0), foreign=0):
        history, ledger = candidate.pair
        requirement = next(r for r in ledger.requirements if candidate.part.text in (r.requirement, r.fact))
        family = FAMILIES[history.family]
        found = assess(family, scenario_of(history, ledger), history.exchanges[candidate.turn].output, requirement.key)
        expected = found.verdict
        if isinstance(candidate.part, Fact) and expected == "unmet" and not requirement.contradicts:
            expected = "not_applicable"
        assert candidate.judgement.verdict == expected


def test_foreign_requirements_come_from_other_families_and_do_not_apply(pairs) -> None:
    own = {pair[0].id: {part.text for i in learned_intents(pair) for part in i.parts} for pair in pairs}
    found = [c for c in candidates(pairs, random.Random(0), foreign=2) if c.part.text not in own[c.pair[0].id]]
    assert len(found) == 2 * sum(bool(some) for _, ledger in pairs for some in ledger.assessments)
    assert {c.judgement.verdict for c in found} == {"not_applicable"}
    family_of = {text: pair[0].family for pair in pairs for text in own[pair[0].id]}
    assert all(family_of[c.part.text] != c.pair[0].family for c in found)


def test_balance_is_even_over_verdicts_and_spread_over_families_and_difficulties(pairs) -> None:
    found = list(candidates(pairs, random.Random(0)))
    chosen = balance(found, 120, random.Random(0))
    assert Counter(c.judgement.verdict for c in chosen) == {"met": 40, "unmet": 40, "not_applicable": 40}
    families = Counter((c.judgement.verdict, c.pair[0].family) for c in chosen)
    assert set(families.values()) == {8}
    for verdict in ("met", "unmet"):
        assert {c.difficulty for c in chosen if c.judgement.verdict == verdict} == {1, 2, 3}
    half = balance([replace(c, novel=n % 10 == 0) for n, c in enumerate(found)], 120, random.Random(0))
    assert sum(c.novel for c in half) > 24  # the tenth that is held out is more than twice as often among them
    # Few outputs, with most of the questions about each: drawn one by one, 120 questions are of some 110 outputs.
    assert len({(c.pair[0].id, c.turn) for c in chosen}) < 60
    every = Counter(c.judgement.verdict for c in balance(found, 0, random.Random(0)))
    assert len(set(every.values())) == 1
    assert every["met"] == min(Counter(c.judgement.verdict for c in found).values())
    assert balance([], 5, random.Random(0)) == []


def test_examples_are_records_of_the_checkers_role(pairs) -> None:
    for candidate in balance(list(candidates(pairs, random.Random(0))), 30, random.Random(0)):
        made = example(candidate)
        assert from_json(Example, to_json(made)) == made
        assert decode_verdict(made.completion) == candidate.judgement
        assert made.privileged[1].content == made.messages[1].content + f"\nRight answer: {made.completion}"
        assert made.provenance.template == template_hash(made.provenance.codec)
        assert role_of(made.provenance.codec) == "checker"
        private = candidate.pair[1].requirements
        assert not any(r.key in made.messages[1].content for r in private if "_" in r.key)
    with pytest.raises(ValueError, match="codec must be one of"):
        role_of("bogus")


def test_a_leak_is_an_error(pairs) -> None:
    made = [example(c) for c in balance(list(candidates(pairs, random.Random(0))), 30, random.Random(0))]
    check_no_leak(made, [])
    with pytest.raises(ValueError, match="the prompt stands in the training part"):
        check_no_leak(made, made[:1])
    mine = [one for one in made if one.provenance == made[0].provenance]
    others = [one for one in made if one.provenance.origin == made[0].provenance.origin and one not in mine]
    same = [one for one in others if one.provenance.family == made[0].provenance.family]
    if same:
        with pytest.raises(ValueError, match="has tasks of"):
            check_no_leak(mine, same[:1])


def test_learner_targets_fold_and_hold_only_what_can_be_read(pairs) -> None:
    for history, ledger in pairs:
        situation = Situation()
        made = list(learner_examples(history, ledger))
        assert [one.provenance.turn for one in made] == list(history.corrections())
        for one in made:
            edits, unread = decode_asset_edits(one.completion)
            step = history.step(one.provenance.turn)
            situation, rejected = fold_asset(situation, edits, step.messages)
            assert (unread, rejected) == ((), ())
            assert one.provenance.template == template_hash("asset")
            seen = "\n".join((*step.messages.values(), step.before.text(), step.after.text()))
            for intent in situation.intents:
                for part in intent.requirements:
                    needs = next(r.needs for r in ledger.requirements if r.requirement == part.text)
                    if history.id + f":{one.provenance.turn}" in intent.sources:
                        assert all(need in seen for need in needs)
        learned = learn(history, OracleLearner(ledger)).situation
        assert learned.intents == situation.intents
        texts = {part.text for intent in learned.intents for part in intent.requirements}
        assert texts <= {ledger.requirement(key).requirement for key in ledger.exposed}


def test_a_requirement_whose_value_nobody_has_seen_waits() -> None:
    history, ledger = hand_made()
    requirements = tuple(
        PrivateRequirement(r.key, r.form, r.explanation, f"{r.requirement} 25", r.fact, r.contradicts, ("25",), 1.0, r.novel)
        for r in ledger.requirements
    )
    hidden = Ledger(1, "h", "f", 0, requirements, ledger.assessments, ledger.raised, ledger.discrepancies, ledger.stated)
    assert learn(history, OracleLearner(hidden)).situation.intents == ()
    exchanges = [*history.exchanges[:-1], Exchange("correction", "mend a again", Output("minutes=25"))]
    shown = LearningHistory(1, "h", "user-0-1", "f", "CC0-1.0", "train", "train", tuple(exchanges), "")
    texts = [part.text for i in learn(shown, OracleLearner(hidden)).situation.intents for part in i.requirements]
    assert texts == ["want a 25", "want b 25", "want c 25"]
    # Without the results it reads the messages alone, and 25 stands in none of them.
    assert learn(shown, OracleLearner(hidden, context=False)).situation.intents == ()
    told = replace(shown, exchanges=(*exchanges[:-1], Exchange("correction", "mend a: 25", Output("done"))))
    texts = [part.text for i in learn(told, OracleLearner(hidden, context=False)).situation.intents for part in i.requirements]
    assert texts == ["want a 25", "want b 25", "want c 25"]
