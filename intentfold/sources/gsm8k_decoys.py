"""Extra wishes for a word problem, each with what it does to the result."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

DECOYS = 7
_LESS, _MORE, _TIMES, _SHARED = "result - value", "result + value", "result * value", "result / value"
_BANK = (
    ("handling charge", "Also subtract a {value} unit handling charge from the final answer.", _LESS),
    ("given away", "At the very end {value} more are given away, so take them off the result.", _LESS),
    ("reserve", "Hold back a reserve of {value} from the final amount.", _LESS),
    ("loss", "Assume a loss of {value} just before the final count.", _LESS),
    ("set aside", "Set {value} of the final amount aside for later and leave them out.", _LESS),
    ("spares", "Add {value} spare ones to the final answer.", _MORE),
    ("late arrivals", "Someone brings {value} more just before the final count.", _MORE),
    ("bonus", "Put a one-off bonus of {value} on top of the final result.", _MORE),
    ("forgotten", "Count {value} more that were forgotten, on top of the result.", _MORE),
    ("repeats", "The whole thing happens {value} times over, so multiply the result by that.", _TIMES),
    ("groups", "Give me the total for {value} such groups together instead of one.", _TIMES),
    ("shares", "Split the final answer equally among {value} people and tell me one share.", _SHARED),
    ("batches", "Spread the result evenly over {value} batches and give me one batch.", _SHARED),
    ("surcharge", "Raise the final result by {value} percent.", "result * (100 + value) / 100"),
    ("discount", "Take {value} percent off the final result.", "result * (100 - value) / 100"),
)
_AMOUNTS = {_TIMES: (2, 3, 4, 5), _SHARED: (2, 4, 5, 10)}


def draw_decoys(answer: Fraction, rng: random.Random) -> tuple[dict[str, Any], dict[str, str]]:
    """`DECOYS` optional parameters and their adjustments; every value keeps the result of a positive answer positive."""
    parameters: dict[str, Any] = {}
    adjustments: dict[str, str] = {}
    for name, text, adjustment in rng.sample(_BANK, len(_BANK)):
        amounts = _AMOUNTS.get(adjustment, (5, 10, 20, 25) if "100" in adjustment else (2, 3, 4, 5, 7, 10, 12, 15))
        values = [amount for amount in amounts if adjustment != _LESS or amount < answer]
        if values and len(parameters) < DECOYS:
            values = sorted(rng.sample(values, min(4, len(values))))
            parameters[name] = {"type": "number", "values": list(map(str, values)), "optional": True, "spoken": [], "text": text}
            adjustments[name] = adjustment
    return parameters, adjustments
