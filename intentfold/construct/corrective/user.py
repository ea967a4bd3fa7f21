"""The simulated user: a private specification, a stateful selector of what to raise, and words for it (LiveAsset, B.2)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from intentfold.construct.corrective import wording
from intentfold.construct.corrective.audit import Audit, audit
from intentfold.construct.corrective.work import Family, Scenario
from intentfold.dialogue import Dialogue, Output
from intentfold.records import RECORD
from intentfold.trace import Assessment, FeedbackForm, PrivateRequirement, Wording

# How often feedback that names a discrepancy also states what is wanted: 43 of 178 messages (LiveAsset, B.1).
BOTH = 43 / 178
# How often one concern is raised alone where there are related ones.
ALONE = 0.6


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a message of the user is to raise: `discrepancies` it names, and wishes that it has `stated`.

    `text` is its wording by the bank, `points` the clauses in it that say something, each with its requirement.
    """

    __pydantic_config__ = RECORD

    text: str
    raised: tuple[str, ...]
    discrepancies: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    points: tuple[tuple[str, str], ...] = ()


class Selector:
    """Chooses which unmet requirements to raise.

    It favours what was raised least often, usually one concern or a few related ones (of the same form), and always
    takes what was met before and is unmet now.
    """

    def __init__(self, forms: Mapping[str, FeedbackForm]) -> None:
        self.forms = forms
        self.raised: Counter[str] = Counter()
        self.once_met: set[str] = set()

    def select(self, assessments: Sequence[Assessment], rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(concerns, regressions) to raise about an output; both empty where nothing is unmet."""
        unmet = [found.key for found in assessments if found.verdict == "unmet"]
        regressions = tuple(key for key in unmet if key in self.once_met)
        self.once_met |= {found.key for found in assessments if found.verdict == "met"}
        order = sorted((key for key in unmet if key not in regressions), key=lambda key: (self.raised[key], rng.random()))
        concerns: list[str] = []
        if order:
            few = 1 if rng.random() < ALONE else rng.choice((2, 3))
            related = [key for key in order[1:] if self.forms[key] == self.forms[order[0]]]
            concerns = [order[0], *related[: few - 1]]
        self.raised.update((*concerns, *regressions))
        return tuple(concerns), regressions


class SimulatedUser:
    """Reviews outputs against its private specification and says what a user would say, and no more.

    `requirements` are the specification, all of them of one family and in the words of one bank. It words a message at
    most `attempts` times: the bank says the same each time.
    """

    attempts = 1

    def __init__(
        self,
        family: Family,
        scenario: Scenario,
        requirements: Sequence[PrivateRequirement],
        words: Wording,
        rng: random.Random,
        both: float = BOTH,
    ) -> None:
        self.family, self.scenario, self.words, self.rng, self.both = family, scenario, words, rng, both
        self.requirements = {requirement.key: requirement for requirement in requirements}
        self.selector = Selector({key: requirement.form for key, requirement in self.requirements.items()})

    def request(self) -> str:
        """The opening message: the task and none of the requirements."""
        return wording.fill(self.rng.choice(wording.bank(self.words)[self.family.name]["request"]), self.scenario.values)

    def asked(self, question: Output) -> tuple[str, ...]:
        """The requirement of the family that a question is about, by the label that it names; empty where it names none."""
        criteria = wording.bank(self.words)[self.family.name]
        labels = {key: acts["label"][0] for key, acts in criteria.items() if key not in ("request", "pressure")}
        named = [key for key, label in labels.items() if f"the {label}" in question.reply]
        return (max(named, key=lambda key: len(labels[key])),) if named else ()

    def answer(self, question: Output) -> Feedback:
        """The answer to a clarification question, from the specification."""
        keys = tuple(key for key in self.asked(question) if key in self.requirements)
        if not keys:
            return Feedback(self._frame("no_wish"), ())
        points = tuple((key, self._say(key, "want", "")) for key in keys)
        return Feedback(" ".join(clause for _, clause in points), keys, stated=keys, points=points)

    def word(self, feedback: Feedback, dialogue: Dialogue, output: Output, refused: Sequence[str]) -> str:
        """A message about `output`, the answer to `dialogue`; `refused` are wordings that failed their audit."""
        return feedback.text

    def audit(self, message: str, feedback: Feedback, output: Output) -> Audit:
        """What is wrong with a message that was to give this feedback."""
        return audit(message, feedback.raised, self.family.name, output, self.words)

    def review(self, assessments: Sequence[Assessment]) -> Feedback | None:
        """What the user says about an output, None where it accepts."""
        evidence = {found.key: found.evidence for found in assessments}
        concerns, regressions = self.selector.select(assessments, self.rng)
        if not concerns and not regressions:
            return None
        opener = self._frame("opener")
        points, discrepancies, stated = [], [], []
        for key in (*concerns, *regressions):
            if key in regressions:
                points.append((key, self._frame("again")))
            # A concrete discrepancy where there is one, otherwise the desired change.
            named = bool(evidence[key])
            if named:
                points.append((key, self._say(key, "wrong", evidence[key])))
                discrepancies.append(key)
            if not named or self.rng.random() < self.both:
                points.append((key, self._say(key, "want", "")))
                stated.append(key)
        text = " ".join(filter(None, [opener, *(clause for _, clause in points)]))
        return Feedback(text, (*concerns, *regressions), tuple(discrepancies), tuple(stated), tuple(points))

    def accept(self) -> str:
        """The closing message."""
        return self._frame("accept")

    def _frame(self, act: str) -> str:
        return wording.frame(self.words, act, self.rng)

    def _say(self, key: str, act: str, evidence: str) -> str:
        values = {**self.scenario.values, "evidence": evidence, "fact": self.requirements[key].fact}
        return wording.say(self.words, self.family.name, key, act, self.rng, values)


def specification(
    family: Family, scenario: Scenario, keys: Sequence[str], words: Wording, rng: random.Random
) -> tuple[PrivateRequirement, ...]:
    """The private requirements of those keys in the words of one bank."""
    acts = wording.bank(words)[family.name]
    found = []
    for key in keys:
        criterion, v = family.criterion(key), scenario.values
        fact = wording.fill(rng.choice(acts[key].get("fact", [""])), v)
        why, require = wording.fill(rng.choice(acts[key]["why"]), v), rng.choice(acts[key]["require"])
        needs = tuple(v[name] for name in wording.fields(require))
        found.append(
            PrivateRequirement(
                key=key,
                form=criterion.form,
                explanation=why,
                requirement=wording.fill(require, v),
                fact=fact,
                contradicts=criterion.contradicts,
                needs=needs,
                weight=1.0,
                novel=criterion.novel,
            )
        )
    return tuple(found)
