"""What other kinds of memory supply to an agent from the same histories, without a model.

A skill file, the raw history, a Mem0-like memory (the five records most like the request) and TellOnce-like compiled rules
(a trigger, deterministic checks, a review before delivery). They stand for the kinds, not for the published systems.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from intentfold.asset import Situation
from intentfold.codec.verdict import Judgement
from intentfold.dialogue import Dialogue, Output
from intentfold.runtime.checker import Question
from intentfold.runtime.selection import similarity
from intentfold.trace import LearningHistory

RECORDS = 5
_NOT = re.compile(r"\b(no|not|never|nothing|nowhere|without|out)\b", re.IGNORECASE)
_LITERAL = re.compile(r"\[[^\]]+\]|\b\d[\d:]*\b|(?<=[\w,:] )[A-Z]\w+")


def raw_history(histories: Sequence[LearningHistory]) -> tuple[str, ...]:
    """Everything that was said and delivered."""
    return tuple(
        text for history in histories for exchange in history.exchanges for text in (exchange.user, exchange.output.text())
    )


def skill(situations: Sequence[Situation]) -> tuple[str, ...]:
    """A skill file: the requirements in a list."""
    return tuple(part.text for situation in situations for intent in situation.intents for part in intent.requirements)


def memory(histories: Sequence[LearningHistory], request: str, records: int = RECORDS) -> tuple[str, ...]:
    """The user's messages most like the request, best first; the earlier on ties."""
    messages = [exchange.user for history in histories for exchange in history.exchanges if exchange.act != "request"]
    order = sorted(range(len(messages)), key=lambda place: (-similarity(request, messages[place]), place))
    return tuple(messages[place] for place in order[:records])


class RuleJudge:
    """Compiled rules: a requirement's literal words (numbers, names, marks) must stand in the output, or must not where it
    is worded as a ban. It knows no explanation, and a requirement without literals has no rule.
    """

    name = "rules"

    def judge(self, dialogue: Dialogue, output: Output, questions: Sequence[Question]) -> list[Judgement | None]:
        """One deterministic verdict a rule; not applicable where there is no rule."""
        text = output.text()
        return [_rule(question.part.text, text) for question in questions]


def _rule(requirement: str, text: str) -> Judgement:
    literals = _LITERAL.findall(requirement)
    if not literals:
        return Judgement("not_applicable")
    banned = _NOT.search(requirement) is not None
    wrong = [literal for literal in literals if (literal in text) == banned]
    return Judgement("unmet", f"{wrong[0]} is {'there' if banned else 'missing'}") if wrong else Judgement("met")
