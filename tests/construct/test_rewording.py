"""A model's wording of a turn: what passes, and what is refused and why. Proposals: what is taken, and why the rest is not."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from intentfold.construct.proposing import Notes, decomposed, proposed
from intentfold.construct.rewording import wording_fault
from intentfold.construct.stale import StaleGoals, Unbuildable
from intentfold.construct.talk import Ask, Talk, together
from intentfold.dialogue import Turn
from intentfold.graders import grade
from intentfold.intent import Edit, IntentState, fold
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.serving import Ledger, bill
from tests.tasks import OTHERS, flight_task

STATE = fold(
    IntentState(),
    [
        Edit("ADD", slot="destination city", value="Lisbon"),
        Edit("ADD", slot="number of seats", value="3"),
        Edit("ADD", text="Each of the 4 boxes holds a pair of shoes"),
    ],
)
VALUES = [value for values in OTHERS.values() for value in values]
PORTO, GONE = Edit("REPLACE", id=1, value="Porto"), Edit("DELETE", id=1)
MUST = Edit("REPRIORITIZE", id=1, priority="must")

WORDINGS = [
    ("Change the destination city to Porto.", [PORTO], "I'd rather fly to Porto, actually.", ""),
    ("Change the destination city to Porto.", [PORTO], "I'd rather fly somewhere else.", "leaves out the value 'Porto'"),
    ("Change the destination city to Porto.", [PORTO], "Porto! And make it business.", "names 'business', which it was not told"),
    ("Change the destination city to Porto.", [PORTO], "Porto, and 9 seats.", "names the number 9, which it was not told"),
    ("Change the destination city to Porto.", [PORTO], "Porto, the 3 of us.", ""),
    ("Change the destination city to Porto.", [PORTO], "  ", "says nothing"),
    ("Change the destination city to Porto.", [PORTO], "Porto. " * 60, "says too much"),
    ("Drop the destination city.", [GONE], "Forget about the city I gave.", ""),
    ("Drop the destination city.", [GONE], "Not Lisbon any longer.", ""),
    ("Drop the destination city.", [GONE], "Lovely weather.", "does not point at 'destination city'"),
    ("Scratch that.", [GONE], "Could you undo my last request?", ""),
    ("Scratch that.", [GONE], "It is nice to talk to you.", "does not point at 'destination city'"),
    ("Drop the second one.", [GONE], "The second point can go.", ""),
    ("The destination city is a must.", [MUST], "The city is absolutely essential.", ""),
    ("The destination city is a must.", [MUST], "The city is Lisbon.", "does not say that 'destination city' is must"),
    ("The destination city is a must.", [MUST], "It is absolutely essential.", "does not point at 'destination city'"),
    ("Lounge access: yes.", [Edit("ADD", slot="lounge access", value="yes")], "Yes!", "does not say what 'yes' is about"),
    ("Yes please.", [Edit("ADD", slot="lounge access", value="yes")], "Sure, yes.", ""),
    ("Each of the 4 boxes holds a pair of shoes is void.", [Edit("DELETE", id=3)], "Strike that the 4 boxes hold shoes.", ""),
    ("Note: 7 cats sleep on the sofa", [Edit("ADD", text="7 cats sleep on the sofa")], "Cats are on the sofa.", "leaves out"),
    ("So, the total is 12.", [Edit("ADD", kind="conclusion", slot="total", value="12", depends_on=(2,))], "So be it.", ""),
]  # fmt: skip


@pytest.mark.parametrize(("told", "edits", "said", "fault"), WORDINGS)
def test_a_wording_says_its_edits_and_nothing_else(told: str, edits: list[Edit], said: str, fault: str) -> None:
    found = wording_fault(Completion(said, 1, 1, True), told, edits, STATE, VALUES)
    assert found.startswith(fault) if fault else found == ""
    assert wording_fault(Completion(told, 1, 1, True), told, edits, STATE, VALUES) == ""


def test_a_wording_that_was_cut_off_is_refused() -> None:
    assert wording_fault(Completion("Porto", 1, 1, False), "Porto", [PORTO], STATE, VALUES) == "is cut off"


class Scripted:
    """Answers in order, whatever is asked; it keeps what was."""

    name = "scripted"

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), []  # type: ignore[var-annotated]

    def complete(self, prompts, max_tokens):
        self.asked += [prompt[-1].content for prompt in prompts]
        return [Completion(self.answers.pop(0), 10, 2, True) for _ in prompts]


def run(talk: Talk, *answers: str) -> tuple[object, Scripted]:
    backend = Scripted(*answers)
    roles = dict.fromkeys(("decomposer", "proposer"), backend)
    [found] = together([talk], roles, 99, Ledger(), lambda _, reason: str(reason), Unbuildable)
    return found, backend


def offer(variants: list[tuple[str, str]], decoys: list[tuple[str, str]]) -> str:
    pairs = {"variants": variants, "decoys": decoys}
    return json.dumps({side: [{"name": n, "value": v} for n, v in some] for side, some in pairs.items()})


def test_proposals_are_executed_and_the_rest_kept_with_its_reason() -> None:
    notes = Notes("flight-1", 1)
    bad = [("destination city", "lisbon"), ("cabin", "first"), ("number of seats", "2")]
    decoys = [("destination city", "Oslo"), ("meal", "vegan")]
    found, backend = run(proposed(flight_task(), "Fly me.", 1, 2, None, notes, grade), "no JSON", offer(bad, decoys))
    assert isinstance(found, StaleGoals)
    assert {id: [goal.value for goal in goals] for id, goals in found.variants.items()} == {"g1": ["2"]}
    assert [(goal.id, goal.slot, goal.value) for goal in found.decoys] == [("decoy1", "meal", "vegan")]
    assert [(one.what, one.reason.split(",")[0]) for one in notes.rejected] == [
        ("no JSON", "expected a JSON object"),
        ("variant destination city: lisbon", "is the value that stands"),
        ("variant cabin: first", "is no requirement that the user has"),
        ("decoy destination city: Oslo", "is none of the extra names"),
    ]
    assert notes.counts == {"proposer: rejected": 4, "proposer: accepted": 2}
    # The second question shows what was refused.
    assert "- no JSON: expected a JSON object" in backend.asked[1]
    assert "- meal (string)" in backend.asked[0]


def test_what_costs_no_credit_is_no_variant() -> None:
    task = flight_task()
    possible = [{"book_flight": {slot: [goal.value, "Porto"] for goal in task.goals if (slot := goal.slot)}}]
    payload = {**task.payload, "reference": {**task.payload["reference"], "possible": possible}}
    notes = Notes("flight-1", 1)
    lenient = type(task)(**{**{name: getattr(task, name) for name in task.__slots__}, "payload": payload})
    offered = offer([("destination city", "Porto")], [("meal", "vegan")])
    found, _ = run(proposed(lenient, "Fly me.", 1, 1, None, notes, grade), offered)
    assert found == "proposals: 1 of each needed, 0 variants and 1 decoys accepted"
    assert [one.reason for one in notes.rejected] == ["costs no credit: the answer is right all the same, or cannot be graded"]


def parts(*found: tuple[str, str, str]) -> str:
    return json.dumps({"requirements": [{"name": n, "value": v, "quote": q} for n, v, q in found]})


REQUEST = "I need a flight to Lisbon for 3 on May 12 in economy."
RIGHT = [
    ("number of seats", "3", "for 3"), ("Destination City", "Lisbon", "to Lisbon"), ("travel date", "May 12", "May 12"),
    ("cabin class", "economy", "in economy"),
]  # fmt: skip


def test_a_decomposition_is_quoted_and_earns_full_credit_or_is_refused() -> None:
    notes = Notes("flight-1", 1)
    wrong = [("travel date", "May 21", "May 12"), *RIGHT[:2], RIGHT[3]]
    answers = [
        parts(*RIGHT[:3], ("cabin class", "economy", "by coach")), parts(*RIGHT[:3], ("colour", "red", "I")),
        parts(*RIGHT, RIGHT[0]), parts(*wrong), parts(*RIGHT),
    ]  # fmt: skip
    found, _ = run(decomposed(flight_task(), REQUEST, 5, False, notes, grade), *answers)
    assert [goal.text for goal in found.goals] == [goal.text for goal in flight_task().goals]  # type: ignore[attr-defined]
    reasons = [one.reason for one in notes.rejected]
    assert [reason[:40] for reason in reasons[:3]] == [
        "cabin class: the quote is not in the req", "expected names of the list, got 'colour'", "number of seats: stands twice",
    ]  # fmt: skip
    assert reasons[3].startswith("reference answer not credited")
    assert notes.counts == {"decomposer: rejected": 4, "decomposer: accepted": 1}


def test_talks_go_in_lockstep_and_requests_are_billed_once() -> None:
    calls: list[int] = []

    class Counting(Scripted):
        def complete(self, prompts, max_tokens):
            calls.append(len(prompts))
            return super().complete(prompts, max_tokens)

    def talk(times: int) -> Talk[str]:
        said = ""
        for _ in range(times):
            answer = yield Ask("proposer", (Turn("user", "the same"),))
            said += answer.text
        if times == 3:
            raise Unbuildable("three")
        return said

    ledger = Ledger()
    backend = Counting(*"abcdef")
    found = together([talk(1), talk(3), talk(2)], {"proposer": backend}, 9, ledger, lambda n, _: f"no {n}", Unbuildable)
    assert found == ["a", "no 1", "ce"]
    assert calls == [3, 2, 1]
    assert bill([ledger.used, {"proposer": [2, 100, 1]}], {"proposer": (1000.0, 1e6)}) == {
        "proposer": {"requests": 3, "prompt_tokens": 110, "completion_tokens": 3, "cost": 3.11}
    }
    assert Counter(ledger.used) == {"proposer": [1, 10, 2]}


def test_a_role_that_does_not_answer_ends_the_work_and_the_others_keep_what_came() -> None:
    class Dead(Scripted):
        def complete(self, prompts, max_tokens):
            raise BackendError("gone", {0: Completion("a", 10, 2, True)})

    heard: list[str] = []

    def talk() -> Talk[str]:
        heard.append((yield Ask("proposer", (Turn("user", "one"),))).text)
        return heard[-1]

    ledger = Ledger()
    with pytest.raises(BackendError, match="gone"):
        together([talk(), talk()], {"proposer": Dead()}, 9, ledger, lambda n, _: n, Unbuildable)
    assert (heard, ledger.used) == (["a"], {"proposer": [1, 10, 2]})
