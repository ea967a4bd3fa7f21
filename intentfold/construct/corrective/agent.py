"""The scripted agent of the corrective environment: it fixes, half-fixes and breaks things at given rates."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from intentfold.construct.corrective import wording
from intentfold.construct.corrective.work import Family, Scenario, State, make
from intentfold.dialogue import Output
from intentfold.runtime.verification import Job
from intentfold.trace import Wording


@dataclass(frozen=True)
class AgentRates:
    """How a scripted agent fares.

    Args:
        fix: how often a requirement that it is told is met afterwards
        half_fix: how often it is met nearly: a near miss, the wrong place, a claim without evidence
        regression: how often a revision breaks one requirement that was met
        untold: how often a first result meets a requirement that it was not told
        ask: how often it asks a clarification question first
        care: share of `fix` and `half_fix` that is left in a first result when the request presses for the opposite
    """

    fix: float = 0.6
    half_fix: float = 0.2
    regression: float = 0.1
    untold: float = 0.3
    ask: float = 0.1
    care: float = 0.5

    def __post_init__(self) -> None:
        for name in ("fix", "half_fix", "regression", "untold", "ask", "care"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        if self.fix + self.half_fix > 1.0:
            raise ValueError(f"fix and half_fix together must be at most 1, got {self.fix} + {self.half_fix}")


class ScriptedWorker:
    """No model: it understands the wording bank, and makes the family's output in the states that its rates draw.

    It is told a requirement by an intent, a note, a finding, or a message of the user. Words that are not of the bank it
    does not understand; `not_understood` counts the findings of that kind. What the user's tastes are (a card's number, a
    limit) it knows from the same words alone, and takes another value until then: it may do what it is told, or hit on it
    untold, and still have the value wrong.
    """

    name = "scripted"
    errors: tuple[str, ...] = ()  # it always acts

    def __init__(self, family: Family, scenario: Scenario, words: Wording, rates: AgentRates, rng: random.Random) -> None:
        self.family, self.scenario, self.words, self.rates, self.rng = family, scenario, words, rates, rng
        self.states: dict[str, State] = {}
        self.not_understood = 0
        self.tastes = _others(family, scenario)

    def work(self, job: Job) -> Output:
        """A first output, a revision of the last one, or a clarification question."""
        self._hear(job)
        if job.draft is None and not self.states and len(job.dialogue) == 1 and self.rng.random() < self.rates.ask:
            return self._question()
        if job.draft is None or not self.states:
            told = self._keys(part.text for intent in job.intents for part in intent.parts)
            told |= self._keys((*job.notes, *(turn.content for turn in job.dialogue if turn.role == "user")))
            for criterion in self.family.criteria:
                self.states[criterion.key] = "met" if self.rng.random() < self.rates.untold else "unmet"
            pressure: list[str] = wording.bank(self.words)[self.family.name]["pressure"]
            pressed = any(words in job.dialogue[-1].content for words in pressure)
            self._attempt(told, self.rates.care if pressed else 1.0)
            return self._made(())
        told = self._keys(finding.text for finding in job.unmet)
        self.not_understood += sum(not self._keys([finding.text]) for finding in job.unmet)
        if not job.unmet:
            told = self._keys([job.dialogue[-1].content])
        whole = [key for key, state in self.states.items() if state == "met" and key not in told]
        self._attempt(told)
        if whole and self.rng.random() < self.rates.regression:
            self.states[self.rng.choice(whole)] = "unmet"
        return self._made(told)

    def _hear(self, job: Job) -> None:
        """Take the tastes that stand in what it is told, the latest last."""
        intents = (part.text for intent in job.intents for part in intent.parts)
        said = (turn.content for turn in job.dialogue if turn.role == "user")
        for text in (*intents, *job.notes, *said, *(finding.text for finding in job.unmet)):
            for clause in wording.read(text, self.words):
                if clause.family == self.family.name:
                    self.tastes |= {name: value for name, value in clause.values.items() if name in self.tastes}

    def _keys(self, texts: Iterable[str]) -> set[str]:
        return {said.key for text in texts for said in wording.read(text, self.words) if said.family == self.family.name}

    def _attempt(self, keys: Iterable[str], care: float = 1.0) -> None:
        for key in sorted(keys):
            draw = self.rng.random()
            if draw < care * self.rates.fix:
                self.states[key] = "met"
            elif draw < care * (self.rates.fix + self.rates.half_fix):
                self.states[key] = "near"

    def _made(self, revised: Iterable[str]) -> Output:
        known = replace(self.scenario, values={**self.scenario.values, **self.tastes})
        output = make(self.family, known, self.states)
        # It claims success whether or not it had any.
        claims = [f"I have seen to the {self._label(key)}." for key in sorted(revised)]
        return replace(output, reply=" ".join([*claims, output.reply]))

    def _question(self) -> Output:
        keys = [key for key in wording.bank(self.words)[self.family.name] if key not in ("request", "pressure")]
        label = self._label(self.rng.choice(keys))
        return Output(wording.frame(self.words, "ask", self.rng, label=label))

    def _label(self, key: str) -> str:
        labels: list[str] = wording.bank(self.words)[self.family.name][key]["label"]
        return labels[0]


def _others(family: Family, scenario: Scenario) -> dict[str, str]:
    """For each taste of the user another value of its kind: what an agent that was not told may come up with."""
    rng = random.Random(f"{family.name}/guess {scenario.number}")
    found: dict[str, str] = {}
    while len(found) < len(family.tastes(random.Random(0))):
        found |= {name: value for name, value in family.tastes(rng).items() if value != scenario.values[name]}
    return found
