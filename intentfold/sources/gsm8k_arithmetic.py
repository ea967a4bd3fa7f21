"""GSM8K's annotated arithmetic as one expression over the question's numbers.

A solution annotates its steps as `<<48/2=24>>`. Each operand is traced to an earlier result, to a number of the
question, or to a constant that its words imply ("half", "per week"); then the steps can be executed again with
other numbers. Where an operand could come from two places, the numbers concerned must stay as they are.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from intentfold.sources.loading import Skip

_UNITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = dict(zip((*_UNITS, *_TEENS, *_TENS), (*range(20), *range(20, 100, 10)), strict=True))
_NUMBER = re.compile(
    r"(?<![\w.,/])(?P<number>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?P<over>/\d+)?(?P<percent>\s?%|\s?percent\b)?(?P<glued>[A-Za-z/])?"
    rf"|\b(?P<word>{'|'.join(_VALUES)})\b(?P<more>[ -](?:hundred|thousand|million|{'|'.join(_UNITS[1:])})\b)?",
    re.IGNORECASE,
)
_IMPLIED = (
    (r"half|halv", "2 0.5 1.5"),
    (r"twice|doubl|couple|pair|both|each other|two", "2"),
    (r"tripl|thrice|third", "3"),
    (r"quarter|quadruple|fourth", "4 0.25 25 0.75"),
    (r"fifth|quintuple", "5"),
    (r"dozen", "12"),
    (r"week|daily|every day|each day", "7"),
    (r"week|year|annual", "52"),
    (r"fortnight", "14"),
    (r"hour|minute|second", "60"),
    (r"hour|day", "24"),
    (r"month|day", "30"),
    (r"year|annual|month|foot|feet|inch", "12"),
    (r"year|annual|day", "365"),
    (r"%|percent|cent|dollar|\$|meter|centur", "100"),
    (r"decade|dime|millimeter", "10"),
    (r"nickel", "5"),
    (r"yard", "3"),
    (r"kilo|km|kg|gram|ml|liter|millimeter|ton", "1000"),
    (r"pound|ounce", "16"),
)
Exact = int | Fraction  # whole numbers stay `int`: ten times as fast


def _divided(left: Exact, right: Exact) -> Exact:
    share = Fraction(left) / right
    return share.numerator if share.denominator == 1 else share


_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Exact, Exact], Exact]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", _divided),
}


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the question: its name in expressions, value and place; a fixed one must stay as it is."""

    name: str
    value: Exact
    start: int
    end: int
    percent: bool
    fixed: bool


@dataclass(frozen=True, slots=True)
class Expression:
    """Arithmetic over names: its text, the names in it, and how its value follows from theirs.

    `value` also takes the values of earlier steps, by their text.
    """

    text: str
    names: frozenset[str]
    value: Callable[[Mapping[str, Exact]], Exact]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A traced solution: the question's numbers, the steps (the last gives the answer), and the names that may vary."""

    numbers: tuple[Number, ...]
    steps: tuple[Expression, ...]
    variable: frozenset[str]

    @property
    def answer(self) -> Expression:
        """The expression of the answer."""
        return self.steps[-1]

    def run(self, changed: Mapping[str, Exact]) -> Iterator[Exact]:
        """The steps' values, one by one, with other numbers; raises `ZeroDivisionError` where it must."""
        values = {number.name: number.value for number in self.numbers} | dict(changed)
        for step in self.steps:
            values[step.text] = step.value(values)
            yield values[step.text]


def find_numbers(text: str) -> tuple[Number, ...]:
    """Digits and number words of the text, in order. Fractions, ordinals, `one` and compound words are fixed."""
    numbers: list[Number] = []
    for match in _NUMBER.finditer(text):
        if match["word"]:
            value, end = _exact(_VALUES[match["word"].lower()]), match.end("word")
            fixed = value <= 1 or match["more"] is not None
        else:
            over = int((match["over"] or "/1")[1:])
            if over == 0:
                continue
            value, end = _exact(Fraction(match["number"].replace(",", "")) / over), match.end("number")
            fixed = match["over"] is not None or match["glued"] is not None or value == 0
        numbers.append(Number(f"n{len(numbers) + 1}", value, match.start(), end, match["percent"] is not None, fixed))
    return tuple(numbers)


def trace(question: str, solution: str, answer: Fraction) -> Arithmetic:
    """The solution's arithmetic over `find_numbers(question)`; raises `Skip` where it cannot be traced or repeated."""
    tracer = _Tracer(question)
    steps: list[Expression] = []
    for written, result in re.findall(r"<<([^<>=]*)=([^<>=]*)>>", solution):
        try:
            expected, tree = Fraction(result), ast.parse(re.sub(r"\b0+(?=\d)", "", written).strip(), mode="eval").body
        except (ValueError, SyntaxError):
            raise Skip("annotation is not plain arithmetic") from None
        step = tracer.follow(tree)
        try:
            tracer.values[step.text] = step.value(tracer.values)
        except ZeroDivisionError:
            raise Skip("annotation divides by zero") from None
        if tracer.values[step.text] != expected:
            raise Skip("annotated result is rounded or wrong")
        tracer.results.append((_exact(expected), _remembered(step)))
        steps.append(step)
    ends = [position for position, step in enumerate(steps, start=1) if tracer.values[step.text] == answer]
    if not ends:
        raise Skip("no annotation gives the answer")
    steps = steps[: ends[-1]]
    return Arithmetic(tracer.numbers, tuple(steps), steps[-1].names - tracer.ambiguous)


def _exact(value: Exact) -> Exact:
    return value.numerator if value.denominator == 1 else value


class _Tracer:
    """Follows operands to where they come from; `ambiguous` collects the names that must not vary."""

    def __init__(self, question: str) -> None:
        self.numbers = find_numbers(question)
        self.values: dict[str, Exact] = {number.name: number.value for number in self.numbers}
        self.results: list[tuple[Exact, Expression]] = []
        self.ambiguous = {number.name for number in self.numbers if number.fixed}
        self._used: set[str] = set()
        lower = question.lower()
        implied = [value for cue, values in _IMPLIED if re.search(cue, lower) for value in values.split()]
        parts = [part for over in re.findall(r"\d+/\d+", question) for part in over.split("/")]
        self._constants = {_exact(Fraction(value)) for value in ("1", *implied, *parts)}

    def follow(self, node: ast.expr) -> Expression:
        """The expression that a written one stands for."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return self._source(_exact(Fraction(str(node.value))))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.follow(node.operand)
            return Expression(f"(-{inner.text})", inner.names, lambda names: -inner.value(names))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _combined(type(node.op), self.follow(node.left), self.follow(node.right))
        raise Skip("annotation is not plain arithmetic")

    def _source(self, value: Exact) -> Expression:
        results = [step for result, step in self.results if result == value]
        numbers = [number for number in self.numbers if number.value == value]
        shares = [(number, share) for number in self.numbers if number.percent for share in _shares(number) if share[0] == value]
        constant = value in self._constants
        sources = len({step.text for step in results}) + len(numbers) + len(shares) + constant
        if sources == 0:
            raise Skip("an operand is neither in the question nor implied")
        if sources > 1:
            concerned = {name for step in results for name in step.names}
            self.ambiguous |= concerned | {number.name for number in numbers} | {number.name for number, _ in shares}
        if results:
            return results[-1]
        if numbers:
            chosen = next((number for number in numbers if number.name not in self._used), numbers[0])
            self._used.add(chosen.name)
            return _name(chosen)
        if shares:
            return shares[0][1][1]
        return _constant(value)


def _combined(kind: type[ast.operator], left: Expression, right: Expression) -> Expression:
    sign, compute = _OPERATORS[kind]
    return Expression(
        f"({left.text} {sign} {right.text})",
        left.names | right.names,
        lambda names: compute(left.value(names), right.value(names)),
    )


def _name(number: Number) -> Expression:
    return Expression(number.name, frozenset((number.name,)), lambda names: names[number.name])


def _remembered(step: Expression) -> Expression:
    """The step's result as an operand: looked up, not calculated again."""
    return Expression(step.text, step.names, lambda values: values[step.text])


def _constant(value: Exact) -> Expression:
    text = str(value.numerator) if value.denominator == 1 else f"({value.numerator} / {value.denominator})"
    return Expression(text, frozenset(), lambda names: value)


def _shares(number: Number) -> list[tuple[Exact, Expression]]:
    """What "20%" may stand for in arithmetic: 0.2, 0.8 and 1.2."""
    share = _combined(ast.Div, _name(number), _constant(100))
    one = _constant(1)
    found = [share, _combined(ast.Sub, one, share), _combined(ast.Add, one, share)]
    return [(expression.value({number.name: number.value}), expression) for expression in found]
