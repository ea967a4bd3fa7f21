"""Masking personal data in people's own conversations, by patterns.

Covered: e-mail addresses, web addresses with a user name or a query, payment cards (13 to 19 digits with a valid Luhn sum),
IBANs (valid ISO 13616 check digits), phone numbers (a leading + or 0, or in a US pattern; 7 to 15 digits), IPv4 and IPv6
addresses, and US social security numbers. Names, postal addresses, dates of birth and customer numbers have no pattern and are
**not** covered. A value gets one placeholder, such as `[email 1]`, wherever it stands in a conversation, so that what refers to
it still does.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from intentfold.dialogue import Turn
from intentfold.sources.conversations import own_id
from intentfold.trace import Conversation

_START, _END = r"(?<![\w@.+-])", r"(?![\w@])"


def _luhn(found: str) -> bool:
    """Whether the digits have a valid check sum (ISO/IEC 7812-1)."""
    digits = [int(digit) for digit in re.sub(r"\D", "", found)]
    if not 13 <= len(digits) <= 19:
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _iban(found: str) -> bool:
    """Whether the check digits hold (ISO 13616: the rearranged number is 1 modulo 97)."""
    plain = re.sub(r"\s", "", found)
    return 15 <= len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _phone(found: str) -> bool:
    return 7 <= len(re.sub(r"\D", "", found)) <= 15


def _address(found: str) -> bool:
    if len(found) < 7:  # `::2` is a slice more often than a machine
        return False
    try:
        ipaddress.ip_address(found)
    except ValueError:
        return False
    return True


def _any(found: str) -> bool:
    return True


# In this order: what an earlier pattern took, a later one does not see.
PATTERNS: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "link": (re.compile(r"https?://(?:[^\s/@]+@\S+|[^\s?]+\?\S+)"), _any),
    "email": (re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"), _any),
    "iban": (re.compile(rf"{_START}[A-Za-z]{{2}}\d{{2}}(?: ?[A-Za-z0-9]){{11,30}}{_END}"), _iban),
    "card": (re.compile(rf"{_START}\d(?:[ -]?\d){{12,18}}{_END}"), _luhn),
    "social security number": (re.compile(rf"{_START}\d{{3}}-\d{{2}}-\d{{4}}{_END}"), _any),
    "ip address": (
        re.compile(rf"{_START}(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}}|[0-9A-Fa-f]{{0,4}}(?::[0-9A-Fa-f]{{0,4}}){{2,7}}){_END}"),
        _address,
    ),
    "phone": (
        re.compile(
            rf"{_START}(?:\+\d{{1,3}}[ .-]?(?:\(\d{{1,4}}\)[ .-]?)?\d(?:[ ./-]?\d){{4,13}}|0\d{{1,4}}[ /-]?\d(?:[ /-]?\d){{4,10}}"
            rf"|\(\d{{3}}\) ?\d{{3}}[ -]\d{{4}}|\d{{3}}[.-]\d{{3}}[.-]\d{{4}}){_END}"
        ),
        _phone,
    ),
}  # fmt: skip


class Masker:
    """Masks the texts of one conversation; `found` counts different values by kind."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._names: dict[str, str] = {}

    def mask(self, text: str) -> str:
        """The text with a placeholder for each value found."""
        for kind, (pattern, holds) in PATTERNS.items():
            text = pattern.sub(partial(self._replaced, kind, holds), text)
        return text

    def _replaced(self, kind: str, holds: Callable[[str], bool], match: re.Match[str]) -> str:
        """The longest beginning that holds is masked: digits or words may follow a number without a break."""
        found = match[0]
        ends = [end for end in range(len(found), 0, -1) if end == len(found) or not found[end].isalnum()]
        end = next((end for end in ends if holds(found[:end])), 0)
        return f"{self._named(kind, found[:end])}{found[end:]}" if end else found

    def _named(self, kind: str, value: str) -> str:
        same = f"{kind} {re.sub(r'[ ./()-]', '', value.casefold()) if kind in ('card', 'iban', 'phone') else value.casefold()}"
        if same not in self._names:
            self.found[kind] += 1
            self._names[same] = f"[{kind} {self.found[kind]}]"
        return self._names[same]


def mask_conversation(conversation: Conversation) -> tuple[Conversation, Counter[str]]:
    """The conversation with its words and its id masked, and how many different values of each kind there were."""
    masker = Masker()
    dialogue = tuple(Turn(turn.role, masker.mask(turn.content)) for turn in conversation.dialogue)
    # A hash of what was masked would tell whoever guesses it that they are right.
    id = own_id(dialogue) if conversation.id == own_id(conversation.dialogue) else masker.mask(conversation.id)
    return replace(conversation, id=id, dialogue=dialogue), masker.found
