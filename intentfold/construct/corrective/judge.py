"""The scripted true checker: verdicts from the executed checks of the environment, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from intentfold.asset import Fact, Part
from intentfold.codec.verdict import Judgement
from intentfold.construct.corrective.wording import read_whole
from intentfold.construct.corrective.work import Family, Scenario, assess
from intentfold.dialogue import Dialogue, Output
from intentfold.runtime.checker import Question
from intentfold.trace import Wording

NOT_APPLICABLE = Judgement("not_applicable")


class ExecutedJudge:
    """Judges what the wording bank can say by running the check behind it; other text it does not assess.

    A requirement is judged with the values that its words hold (a limit, a name), one of another family does not apply.
    A fact about something else than this scenario does not apply; else it is met where the requirement behind it is,
    unmet where the output goes against it, and not applicable where the output leaves it aside.
    """

    name = "executed"

    def __init__(self, family: Family, scenario: Scenario, words: Wording) -> None:
        self.family, self.scenario, self.words = family, scenario, words

    def judge(self, dialogue: Dialogue, output: Output, questions: Sequence[Question]) -> list[Judgement | None]:
        """One executed verdict a question."""
        return [self._judge(output, question.part) for question in questions]

    def _judge(self, output: Output, part: Part) -> Judgement | None:
        said = read_whole(part.text, self.words)
        if said is None or said.kind not in ("require", "fact"):
            return None
        if said.family != self.family.name:
            return NOT_APPLICABLE
        fact = isinstance(part, Fact)
        if fact and any(self.scenario.values[name] != value for name, value in said.values.items()):
            return NOT_APPLICABLE
        scenario = replace(self.scenario, values={**self.scenario.values, **said.values})
        found = assess(self.family, scenario, output, said.key)
        if fact and found.verdict == "unmet" and not self.family.criterion(said.key).contradicts:
            return NOT_APPLICABLE
        return Judgement(found.verdict, found.reason if found.verdict == "unmet" else "")
