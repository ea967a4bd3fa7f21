"""Checkable work: scenarios, what an agent makes of them, and criteria verified by code on the output alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from intentfold.asset import Verdict
from intentfold.dialogue import Output
from intentfold.tool import Tool
from intentfold.trace import Assessment, FeedbackForm, Manner

# How an output stands to a requirement: as asked, not as asked, or nearly so; absent where there is nothing it applies to.
State = Literal["met", "unmet", "near", "absent"]
States = Mapping[str, State]


@dataclass(frozen=True)
class Scenario:
    """One task: `values` fill the words of requests, outputs and requirements."""

    family: str
    number: int
    user: int
    values: Mapping[str, str]


@dataclass(frozen=True)
class Finding:
    """What a check found. `evidence` is the part of the output that is wrong, verbatim, empty where nothing is.

    `near` says that it is unmet, and yet looks much like what was asked.
    """

    verdict: Verdict
    reason: str = ""
    evidence: str = ""
    near: bool = False


MET = Finding("met")
NOT_APPLICABLE = Finding("not_applicable")


def unmet(reason: str, evidence: str = "") -> Finding:
    """A finding of what is wrong."""
    return Finding("unmet", reason, evidence)


def almost(reason: str, evidence: str = "") -> Finding:
    """A finding of what is wrong in a near miss."""
    return Finding("unmet", reason, evidence, near=True)


def file_text(output: Output, path: str) -> str:
    """The text of a file, empty where it is not there."""
    return next((file.text for file in output.files if file.path == path), "")


def lines_of(text: str) -> list[str]:
    """The lines that hold something."""
    return [line for line in text.splitlines() if line.strip()]


Check = Callable[[Mapping[str, str], Output], Finding]


@dataclass(frozen=True)
class Criterion:
    """One requirement that the family's users may have.

    `near` says what a near miss of it is. `contradicts` that an output which fails it goes against the fact behind it (and
    does not merely leave the fact aside). `condition` names the value that is empty where it does not apply, none where
    it always does. `novel` marks what training never shows (held-out requirements).
    """

    key: str
    form: FeedbackForm
    near: Manner
    check: Check
    condition: str = ""
    contradicts: bool = False
    novel: bool = False


@dataclass(frozen=True)
class Family:
    """One kind of work.

    `contents` draws what a task is about, `tastes` what its user likes (the same in all tasks of a user, private until it is
    said); `render` makes the output in which every criterion is in its given state, for the tastes that it is given.

    For an agent that really works, `tools` are those of a scenario, and `brief` says which files are wanted and how things
    are written that the checks look for. `missing` says what an output lacks to be judged at all, empty where it is there.
    """

    name: str
    criteria: tuple[Criterion, ...]
    contents: Callable[[random.Random], dict[str, str]]
    tastes: Callable[[random.Random], dict[str, str]]
    render: Callable[[Mapping[str, str], States], Output]
    tools: Callable[[Mapping[str, str]], tuple[Tool, ...]]
    brief: str
    missing: Callable[[Output], str]

    def __post_init__(self) -> None:
        keys = [criterion.key for criterion in self.criteria]
        if len(set(keys)) != len(keys):
            raise ValueError(f"family {self.name}: keys of criteria must be unique, got {keys}")

    def criterion(self, key: str) -> Criterion:
        """The criterion of that key. Raises `KeyError`."""
        for criterion in self.criteria:
            if criterion.key == key:
                return criterion
        raise KeyError(f"{self.name} has no criterion {key!r}")

    def scenario(self, number: int, user: int, inactive: Sequence[str] = ()) -> Scenario:
        """The scenario of that number for that user: the same in every build. Criteria in `inactive` do not apply."""
        values = self.contents(random.Random(f"{self.name}/{number}")) | self.tastes(random.Random(f"{self.name}/user {user}"))
        for key in inactive:
            condition = self.criterion(key).condition
            if not condition:
                raise ValueError(f"{self.name}: {key} always applies")
            values[condition] = ""
        return Scenario(self.name, number, user, values)


def applies(criterion: Criterion, scenario: Scenario) -> bool:
    """Whether the condition of the criterion holds in the scenario."""
    return not criterion.condition or bool(scenario.values[criterion.condition])


def make(family: Family, scenario: Scenario, states: States) -> Output:
    """The output in these states; criteria that do not apply are absent whatever their state."""
    return family.render(scenario.values, settle(family, scenario, states))


def settle(family: Family, scenario: Scenario, states: States) -> dict[str, State]:
    """A state for each criterion of the family: as given, absent where it does not apply, unmet by default."""
    return {c.key: states.get(c.key, "unmet") if applies(c, scenario) else "absent" for c in family.criteria}


def assess(family: Family, scenario: Scenario, output: Output, key: str) -> Assessment:
    """The executed check of one criterion on an output. Where the work itself is missing, nothing that applies is met."""
    criterion = family.criterion(key)
    missing = family.missing(output)
    if missing and applies(criterion, scenario):
        return Assessment(key, "unmet", missing, "", "plain")
    found = criterion.check(scenario.values, output)
    # What cannot be read in the output, nobody can point at.
    evidence = found.evidence if found.evidence in output.text() else ""
    return Assessment(key, found.verdict, found.reason, evidence, criterion.near if found.near else "plain")
