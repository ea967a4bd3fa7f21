"""Wording banks of the scripted simulator: templates by act, split into train, dev and test."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from intentfold.trace import Wording

_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")


Bank = Mapping[str, tuple[str, ...]]


@cache
def bank(wording: Wording, per_act: int = 0, prefix: str = "") -> Bank:
    """Act -> templates; of each act the first `per_act`, all of them for 0. `prefix` names another set of banks."""
    path = Path(__file__).parent / "wording" / f"{prefix}{wording}.yaml"
    data = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {act: tuple(templates[: per_act or None]) for act, templates in data.items()}


def say(bank: Bank, act: str, rng: random.Random, **fields: str) -> str:
    """One wording of an act with its fields filled in; raises KeyError naming an unknown act."""
    template = rng.choice(bank[act])
    template = _CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)
    # Fields are filled in one pass: braces inside a value stay as they are.
    return re.sub(r"\{(\w+)\}", lambda match: fields[match[1]], template)
