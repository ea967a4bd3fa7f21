"""The verification loop: revision, stopping and delivery on tables of cases worked by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from intentfold.asset import AssetEdit, ContextualIntent, Requirement, Situation, fold_asset
from intentfold.codec.verdict import Judgement
from intentfold.dialogue import Output, Turn
from intentfold.runtime.checker import Checker
from intentfold.runtime.verification import Job, deliver

JOB = Job((Turn("user", "Do it."),))
VERDICT = {"+": Judgement("met"), "-": Judgement("unmet", "wrong"), "0": Judgement("not_applicable"), "?": None}


class Replies:
    """A worker whose outputs are written beforehand; each reply spells its own verdicts, one character a requirement."""

    name = "replies"

    def __init__(self, replies: list[str]) -> None:
        self.replies, self.jobs = list(replies), []

    def work(self, job):
        self.jobs.append(job)
        return Output(self.replies.pop(0))


class Spelt:
    """Judges requirement n by the n-th character of the reply."""

    name = "spelt"

    def judge(self, dialogue, output, questions):
        return [VERDICT[output.reply[question.part.id - 100]] for question in questions]


def checker(size: int) -> Checker:
    return Checker(Spelt(), [ContextualIntent(n + 1, "", (Requirement(100 + n, f"r{n}"),)) for n in range(size)])


@dataclass
class Case:
    name: str
    replies: list[str]
    outputs: int  # how many the worker makes
    delivered: str
    passed: bool


CASES = [
    Case("all met at once", ["+++"], 1, "+++", True),
    Case("not applicable causes no revision", ["+00"], 1, "+00", True),
    Case("nothing applies", ["000"], 1, "000", True),
    Case("fixed in one revision", ["+--", "+++"], 2, "+++", True),
    Case("fixed step by step", ["---", "+--", "++-", "+++"], 4, "+++", True),
    Case("a revision that helps nothing ends it", ["+--", "+--", "+++"], 2, "+--", False),
    Case("the earlier on ties", ["+-0", "0+-", "+++"], 2, "+-0", False),
    Case("a regression beside a fix does not raise the number", ["++-", "+-+", "+++"], 2, "++-", False),
    Case("a regression with two fixes goes on", ["+--", "-++", "+++"], 3, "+++", True),
    Case("a revision that breaks more than it fixes is not delivered", ["++-", "--+"], 2, "++-", False),
    Case("an oscillating agent is stopped", ["+-", "-+", "+-", "-+"], 2, "+-", False),
    Case("unmet that became not applicable: fewer met, nothing unmet", ["+-", "00"], 2, "+-", False),
    Case("unmet that became not applicable ends without a rise", ["+-", "+0"], 2, "+-", False),
    Case("an empty revision is none", ["+-", " ", "++"], 2, "+-", False),
    Case("an unread verdict causes no revision and is no pass", ["+?"], 1, "+?", False),
    Case("an unread verdict counts as not met", ["+-", "+?", "++"], 2, "+-", False),
    Case("unread beside unmet: the unmet is revised", ["?-", "?+"], 2, "?+", False),
    Case("nothing can be read", ["???"], 1, "???", False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_revision_stopping_and_delivery(case: Case) -> None:
    worker = Replies(case.replies)
    delivery = deliver(worker, JOB, checker(len(case.replies[0])))
    assert len(worker.jobs) == case.outputs
    assert delivery.output.reply == case.delivered
    assert delivery.check.passed == case.passed


def test_the_same_agent_is_told_what_is_unmet_and_why_and_what_to_keep() -> None:
    worker = Replies(["+-0-", "++++"])
    deliver(worker, JOB, checker(4))
    first, second = worker.jobs
    assert (first.draft, first.unmet, first.met) == (None, (), ())
    assert second.draft == Output("+-0-")
    assert [(finding.text, finding.reason) for finding in second.unmet] == [("r1", "wrong"), ("r3", "wrong")]
    assert [finding.text for finding in second.met] == ["r0"]
    assert second.dialogue == JOB.dialogue


def test_what_was_met_before_is_checked_again() -> None:
    delivery = deliver(Replies(["+--", "-++", "+++"]), JOB, checker(3))
    verdicts = [[finding.verdict for finding in candidate.check.findings] for candidate in delivery.candidates]
    assert verdicts == [["met", "unmet", "unmet"], ["unmet", "met", "met"], ["met", "met", "met"]]


class Wants:
    """Requirements `long` and `short` contradict each other."""

    name = "wants"

    def judge(self, dialogue, output, questions):
        holds = {"long": len(output.reply) > 3, "short": len(output.reply) <= 3}
        return [Judgement("met") if holds[q.part.text] else Judgement("unmet", f"not {q.part.text}") for q in questions]


def situation(*wishes: str) -> Situation:
    return Situation("", tuple(ContextualIntent(10 * n, "", (Requirement(10 * n + 1, w),)) for n, w in enumerate(wishes, 1)), 99)


def test_contradictory_intents_end_after_one_revision_with_the_first_output() -> None:
    worker = Replies(["abc", "abcdef", "abc"])
    delivery = deliver(worker, JOB, Checker(Wants(), situation("long", "short").intents))
    assert (len(worker.jobs), delivery.output.reply, delivery.check.passed) == (2, "abc", False)


def test_a_withdrawn_requirement_is_checked_no_more() -> None:
    after, _ = fold_asset(situation("long", "short"), (AssetEdit("WITHDRAW", 11),), {"h:0": "x"})
    worker = Replies(["abc"])
    delivery = deliver(worker, JOB, Checker(Wants(), after.intents))
    assert [finding.text for finding in delivery.check.findings] == ["short"]
    assert delivery.check.passed


def test_without_intents_the_first_output_is_delivered() -> None:
    delivery = deliver(Replies(["x"]), JOB, Checker(Wants(), ()))
    assert (delivery.output.reply, delivery.check.passed) == ("x", None)
