"""Output conventions that code can check: how they are said, whether an answer keeps them, how to mend one that does not."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from intentfold.graders.grade import unfence
from intentfold.intent import IntentItem

_NUMBER = re.compile(r"[+-]?\$?\d[\d,]*(?:\.\d+)?%?")
_FENCE = re.compile(r"\s*```([\w+-]*)\n(.*?)\n?```\s*", re.DOTALL)


_BULLET = re.compile(r"^[ \t]*[-*•][ \t]+", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6} .*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of convention. Rules of one `group` exclude each other: the newest stands.

    `said` matches a clause that sets it (its first group is the argument, where there is one), `topic` one that is
    about it, `text` is how the agent reads it. `mend` is only called where `holds` is false.
    """

    group: str
    said: re.Pattern[str]
    topic: re.Pattern[str]
    text: str
    holds: Callable[[str, str], bool]
    mend: Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Convention:
    """A rule with its argument (`40` of "at most 40 words"), empty where it takes none."""

    rule: Rule
    argument: str = ""

    @property
    def text(self) -> str:
        """How the agent reads it; `convention_in` reads it back."""
        return " ".join(self.rule.text.format(argument=self.argument).split())

    def holds(self, answer: str) -> bool:
        """Whether the answer keeps it."""
        return self.rule.holds(answer, self.argument)

    def mend(self, answer: str) -> str:
        """The answer in the right form, as far as a rule can make it so."""
        return answer if self.holds(answer) else self.rule.mend(answer, self.argument)


def _is_json(answer: str, _: str) -> bool:
    try:
        json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return True


def _is_sql(answer: str, _: str) -> bool:
    try:
        return isinstance(sqlglot.parse_one(answer, dialect="sqlite"), exp.Query)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return False


def _is_code(answer: str, _: str) -> bool:
    try:
        body = ast.parse(answer).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    # A bare expression is what prose of one word parses as.
    return any(not isinstance(node, ast.Expr) for node in body)


def _last_number(answer: str, _: str) -> str:
    found = _NUMBER.findall(answer)
    return found[-1] if found else answer


def _unfenced(answer: str, _: str) -> str:
    return unfence(answer)


def _only(what: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:\b(?:only|just|nothing but|purely)\b(?: (?:with|in|as|the|a|bare|plain|raw|valid|final|an?))* (?:{what})\b)"
        rf"|(?:\b(?:{what})(?: \w+)?,? (?:only|alone|and nothing else)\b)",
        re.IGNORECASE,
    )


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE)


def _form(what: str) -> re.Pattern[str]:
    """Words about the form of the answer: such words alone may as well be about the task ("join the words on one line")."""
    return re.compile(
        rf"\b(?:answer|reply|respond|response|output|(?:keep|write|give|put) (?:it|that|this|everything))\b.*?\b(?:{what})",
        re.IGNORECASE,
    )


# In the order in which an answer is mended.
RULES = (
    Rule(
        "form",
        re.compile(rf"{_only('json|calls?').pattern}|\bas (?:a )?json(?: list)?\b", re.IGNORECASE),
        _words("json|calls? only"),
        "answer with JSON only",
        _is_json,
        _unfenced,
    ),
    Rule("form", _only("sql|query"), _words("sql|query only"), "answer with SQL only", _is_sql, _unfenced),
    Rule(
        "form",
        _only("numbers?|figure"),
        _words("number only|bare number|(?:just|only) the number"),
        "answer with the number only",
        lambda answer, _: _NUMBER.fullmatch(answer.strip()) is not None,
        _last_number,
    ),
    Rule(
        "form",
        _only("code|python|function"),
        _words("(?:code|function) only|(?:only|just) (?:the )?(?:code|function)"),
        "answer with code only",
        _is_code,
        _unfenced,
    ),
    Rule(
        "bullets",
        _words("no bullet points?|no bullets|without bullet points"),
        _words("bullets?|bullet points?"),
        "answer without bullet points",
        lambda answer, _: _BULLET.search(answer) is None,
        lambda answer, _: _BULLET.sub("", answer),
    ),
    Rule(
        "headings",
        _words("no headings?|without headings"),
        _words("headings?"),
        "answer without headings",
        lambda answer, _: _HEADING.search(answer) is None,
        lambda answer, _: _HEADING.sub("", answer),
    ),
    Rule(
        "case",
        _form(r"in (?:all )?(?:upper ?case|capitals|caps)\b"),
        _words("upper ?case|capitals|caps"),
        "answer in upper case",
        lambda answer, _: answer == answer.upper(),
        lambda answer, _: answer.upper(),
    ),
    Rule(
        "case",
        _form(r"in (?:all )?lower ?case\b"),
        _words("lower ?case"),
        "answer in lower case",
        lambda answer, _: answer == answer.lower(),
        lambda answer, _: answer.lower(),
    ),
    Rule(
        "length",
        _form(r"(?:at most|no more than|within|under) (\d{1,4}) words\b"),
        _words("word limit|words"),
        "answer in at most {argument} words",
        lambda answer, argument: len(answer.split()) <= int(argument),
        lambda answer, argument: " ".join(answer.split()[: int(argument)]),
    ),
    Rule(
        "lines",
        _form(r"(?:to|on|in|as) (?:one|a single) paragraph\b"),
        _words("(?:one|single) paragraph"),
        "answer in one paragraph",
        lambda answer, _: "\n\n" not in answer.strip(),
        lambda answer, _: re.sub(r"\n\s*\n", "\n", answer.strip()),
    ),
    Rule(
        "lines",
        _form(r"(?:to|on|in) (?:one|a single) line\b"),
        _words("(?:one|single) line"),
        "answer on one line",
        lambda answer, _: "\n" not in answer.strip(),
        lambda answer, _: " ".join(answer.split()),
    ),
    Rule(
        "fence",
        re.compile(r"\bin a fenced (?:(?!code\b|block\b)(\w+) )?(?:code )?block\b", re.IGNORECASE),
        _words("fence[ds]?"),
        "answer in a fenced {argument} block",
        lambda answer, argument: (found := _FENCE.fullmatch(answer)) is not None and (not argument or found[1] == argument),
        lambda answer, argument: f"```{argument}\n{unfence(answer)}\n```",
    ),
)
_WITHDRAWN = _words(
    "no longer|any ?more|forget|drop|scratch|no need|needn't|need not|don't need|doesn't (?:have|need)|don't (?:have|need)"
    "|doesn't matter|never mind|stop|lift|ignore"
)
_CLAUSES = re.compile(r"[.;!?\n]+|, (?!and nothing)|(?<!nothing) but | and then ")


def clauses(turn: str) -> list[str]:
    """The parts of a user turn that are read one by one."""
    return [clause for part in _CLAUSES.split(turn.replace("’", "'")) if (clause := " ".join(part.split()))]


def convention_in(clause: str) -> Convention | None:
    """The convention that a clause sets; one that takes something back sets none."""
    if _WITHDRAWN.search(clause):
        return None
    for rule in RULES:
        if found := rule.said.search(clause):
            return Convention(rule, (found[1] or "").lower() if found.re.groups else "")
    return None


def withdraws(clause: str, convention: Convention) -> bool:
    """Whether a clause takes an active convention back."""
    return _WITHDRAWN.search(clause) is not None and convention.rule.topic.search(clause) is not None


def conventions_of(items: Iterable[IntentItem]) -> tuple[Convention, ...]:
    """The checkable conventions among the items of kind format, in the order in which an answer is mended."""
    found = [convention_in(item.text) for item in items if item.kind == "format"]
    return tuple(sorted(filter(None, found), key=lambda convention: RULES.index(convention.rule)))
