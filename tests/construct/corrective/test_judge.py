"""The executed judge: requirements by the values in their words, facts by whether they are gone against."""

from __future__ import annotations

import pytest

from intentfold.asset import ContextualIntent, Fact, Quotation, Requirement
from intentfold.codec.verdict import Judgement
from intentfold.construct.corrective.judge import ExecutedJudge
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.work import make
from intentfold.runtime.checker import Question

PLAN = FAMILIES["scheduling"]
SCENARIO = PLAN.scenario(2, 1)
FINE = {criterion.key: "met" for criterion in PLAN.criteria}
LIMIT = int(SCENARIO.values["limit"])

TABLE = [
    ("requirement", f"No meeting is longer than {LIMIT} minutes.", {}, Judgement("met")),
    (
        "requirement",
        f"No meeting is longer than {LIMIT - 5} minutes.",
        {},
        Judgement("unmet", f"a meeting takes {LIMIT} minutes, more than {LIMIT - 5}"),
    ),
    ("requirement", f"No meeting is longer than {LIMIT + 5} minutes.", {"event_length": "near"}, Judgement("met")),
    ("requirement", "The script uses no words like amazing.", {}, Judgement("not_applicable")),
    ("requirement", "Be witty.", {}, None),
    ("requirement", f"Keep meetings to {LIMIT} minutes.", {}, None),
    ("fact", "I don't work on Fridays.", {}, Judgement("met")),
    ("fact", "I don't work on Fridays.", {"no_friday": "near"}, Judgement("unmet", "the wrap-up meeting is on a Friday")),
    ("fact", "Some of my guests sit abroad.", {"time_zone": "unmet"}, Judgement("not_applicable")),
    ("fact", "I like tea.", {}, None),
]


@pytest.mark.parametrize(("kind", "text", "states", "expected"), TABLE)
def test_verdicts_are_executed(kind: str, text: str, states: dict, expected: Judgement | None) -> None:
    part = Fact(2, text, Quotation(text, "h:1")) if kind == "fact" else Requirement(2, text)
    output = make(PLAN, PLAN.scenario(2, 1), {**FINE, **states})
    judged = ExecutedJudge(PLAN, SCENARIO, "train").judge((), output, [Question(ContextualIntent(1, ""), part)])
    assert judged == [expected]


def test_a_fact_about_another_task_does_not_apply() -> None:
    family = FAMILIES["review_script"]
    scenario = next(s for s in (family.scenario(n, 1) for n in range(50)) if s.values["timed"])
    output = make(family, scenario, {"own_timing": "unmet"})
    for product, expected in ((scenario.values["product"], "unmet"), ("old toaster", "not_applicable")):
        fact = Fact(2, f"I haven't timed the {product} myself.", Quotation("x", "h:1"))
        [judged] = ExecutedJudge(family, scenario, "train").judge((), output, [Question(ContextualIntent(1, ""), fact)])
        assert judged is not None
        assert judged.verdict == expected
