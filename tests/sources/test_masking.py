"""Personal data that has a pattern is masked, the same value by the same placeholder; what only looks like it is not."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.sources.conversations import own_id
from intentfold.sources.masking import Masker, mask_conversation
from intentfold.trace import Conversation

MASKED = [
    ("Write to jo.doe+x@mail.example.org, please.", "Write to [email 1], please."),
    ("call\n+44 20 7946 0958 or 030 1234567.", "call\n[phone 1] or [phone 2]."),
    ("(555) 123-4567, 555-123-4567", "[phone 1], [phone 1]"),
    ("Card 4111 1111 1111 1111 12/29, or 5500-0000-0000-0004", "Card [card 1] 12/29, or [card 2]"),
    ("4111111111111111, again 4111 1111 1111 1111", "[card 1], again [card 1]"),
    ("IBAN DE89 3704 0044 0532 0130 00 please", "IBAN [iban 1] please"),
    ("AT611904300234573201 from me", "[iban 1] from me"),
    ("ssn 078-05-1120", "ssn [social security number 1]"),
    ("From 192.168.10.4 and 2001:db8::ff00:42:8329", "From [ip address 1] and [ip address 2]"),
    ("https://me:pw@host.example/x and https://host.example/reset?token=abc", "[link 1] and [link 2]"),
    ("A@b.example wrote to a@B.example, not c@b.example", "[email 1] wrote to [email 1], not [email 2]"),
]
KEPT = [
    "Order 4111111111111112 has 16 digits and a wrong sum.", "AB12 CDEF GHIJ KLMN is no account.", "At 10:30:15 on 2024-05-01.",
    "Room 1204, 3 guests, 1,250.00 euros", "Version 1.2.3.4567", "999.999.999.999", "list[::2]", "https://host.example/page",
    "@home",
    "2023 2024 2025", "page 12-34-56",
]  # fmt: skip


@pytest.mark.parametrize(("text", "masked"), MASKED)
def test_values_are_masked(text: str, masked: str) -> None:
    assert Masker().mask(text) == masked


@pytest.mark.parametrize("text", KEPT)
def test_other_numbers_stay(text: str) -> None:
    assert Masker().mask(text) == text


def test_a_conversation_keeps_who_refers_to_what() -> None:
    dialogue = (Turn("user", "Mail a@b.example."), Turn("assistant", "Sent to a@b.example."), Turn("user", "No, c@b.example."))
    masked, found = mask_conversation(Conversation(1, own_id(dialogue), dialogue))
    assert [turn.content for turn in masked.dialogue] == ["Mail [email 1].", "Sent to [email 1].", "No, [email 2]."]
    assert found == {"email": 2}
    # The id is that of the masked words: the words themselves cannot be guessed at.
    assert masked.id == own_id(masked.dialogue) != own_id(dialogue)
    named, _ = mask_conversation(Conversation(1, "for c@b.example", dialogue))
    assert named.id == "for [email 2]"
