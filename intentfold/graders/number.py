"""Numeric answers: exact comparison of plain numbers, math-verify for small LaTeX and arithmetic forms.

The answer is what stands in the last `\\boxed{...}` or behind the last `####`, whichever comes last, else the
last number of the text. Thousands commas, currency and percent signs and units are ignored: "50%" is 50.
"""

from __future__ import annotations

import logging
import re
from fractions import Fraction

from intentfold.graders.grade import GoldError, Grade, failed, gold, passed
from intentfold.task import SourceTask

_NUMBER = re.compile(
    r"(?<![\w.])(?:[$€£]\s?[-+]|[-+]?(?:[$€£]\s?)?)"
    r"(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,2})?(?!\d|[eE][-+]?\d)(?:\s*/\s*\d+(?![\d/]))?"
)
_LATEX_DRESS = re.compile(r"\\(?:text|mathrm|mbox)\{[^{}]*\}|\\[$%,!;: ]|\\left|\\right|\$|%")
# sympy may run for ever on a tower of powers or a huge factorial: nothing with either gets near it.
_SAFE_FORM = re.compile(r"(?:\d{1,15}|[-+*/().{}\s=]|\\d?frac|\\tfrac|\\sqrt|\\pi|\\cdot|\\times|\\div)+")
_MOST_CHARACTERS = 120
_MOST_DIGITS = 400


def grade_number(task: SourceTask, answer: str) -> Grade:
    """Full credit when the answer's number equals the reference."""
    written = gold(task, "reference.answer", str)
    # A reference is its number and nothing else, so it is read as if it were boxed.
    wanted, wanted_form = _read(written if _marked(written) is not None else f"\\boxed{{{written}}}")
    if wanted is None and wanted_form is None:
        raise GoldError(task, "reference.answer", f"no number in {written!r}")
    got, got_form = _read(answer)
    if got is None and got_form is None:
        return failed("no number in the answer")
    if got is not None and wanted is not None:
        return passed() if got == wanted else failed("another number")
    left = wanted_form or str(wanted)
    return passed() if _equal_forms(left, got_form or str(got)) else failed("another number, or no known form")


def _read(text: str) -> tuple[Fraction | None, str | None]:
    """(value, None) for a plain number, (None, form) for what math-verify may read, else two Nones."""
    text = text.replace("\u2212", "-")  # the typographic minus sign
    marked = _marked(text)
    if marked is None:
        numbers = _NUMBER.findall(text)
        return (_value(numbers[-1]) if numbers else None), None
    clean = _LATEX_DRESS.sub("", marked.replace("\\$", "").replace("{,}", ",")).strip()
    numbers = _NUMBER.findall(clean)
    rest = _NUMBER.sub("", clean, count=1)
    if len(numbers) == 1 and not re.search(r"[\\+*/^(){}!\d]", rest):
        return _value(numbers[0]), None
    bounded = len(clean) <= _MOST_CHARACTERS and clean.count("\\sqrt") <= 2 and "**" not in clean
    if bounded and _SAFE_FORM.fullmatch(clean):
        return None, clean
    return None, None


def _marked(text: str) -> str | None:
    box, bars = text.rfind("\\boxed{"), text.rfind("####")
    if bars > box:
        line = text[bars + 4 :].strip()
        return line.splitlines()[0] if line else ""
    if box < 0:
        return None
    start, depth = box + len("\\boxed{"), 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    return ""


def _value(number: str) -> Fraction | None:
    digits = re.sub(r"[,$€£\s]", "", number)
    if len(digits) > _MOST_DIGITS:
        return None
    numerator, _, denominator = digits.partition("/")
    if denominator and int(denominator) == 0:
        return None
    return Fraction(numerator) / int(denominator or 1)


def _equal_forms(wanted: str, got: str) -> bool:
    # Imported late: it loads sympy, a second that plain numbers needn't wait for.
    from math_verify import parse, verify

    # Without its own time limits, which are signals and so work on a main thread only; _SAFE_FORM stands in
    # for them, and its warnings about that are not for the reader of a report.
    for name in ("math_verify.parser", "math_verify.grader"):
        logging.getLogger(name).setLevel(logging.ERROR)
    left, right = (parse(f"${form}$", parsing_timeout=None) for form in (wanted, got))
    return bool(left and right and verify(left, right, timeout_seconds=None))
