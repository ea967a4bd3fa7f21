"""Shares of audited turns that pass each side of the rubric, and how far two auditors agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.metrics.statistics import Interval, interval
from intentfold.prompts.audit_judge import RUBRIC
from intentfold.records import RECORD, RecordError, from_json


@dataclass(frozen=True, slots=True)
class Assessed:
    """One turn under the rubric, `id` being `episode:turn`; None where the auditor gave no verdict."""

    __pydantic_config__ = RECORD

    id: str
    fidelity: bool | None
    coherence: bool | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Judgements:
    """What a person recorded on the page of one sample (its hash)."""

    __pydantic_config__ = RECORD

    version: int
    sample: str
    judge: str
    judgements: tuple[Assessed, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two auditors say the same of the turns that both judged; `kappa` is Cohen's (1960), None where chance is 1."""

    __pydantic_config__ = RECORD

    same: Interval | None
    kappa: float | None


def pass_shares(assessed: Sequence[Assessed], clusters: Sequence[str]) -> dict[str, Any]:
    """By aspect, the share that passes with its interval, and how many were assessed; what was not counts as not passed."""
    found: dict[str, Any] = {}
    for aspect in RUBRIC:
        verdicts = [getattr(one, aspect) for one in assessed]
        passed = interval([float(verdict is True) for verdict in verdicts], [1.0] * len(verdicts), clusters)
        found[aspect] = {"passed": passed, "assessed": sum(verdict is not None for verdict in verdicts)}
    return found


def agreement(ours: Sequence[Assessed], theirs: Sequence[Assessed], clusters: Mapping[str, str]) -> dict[str, Agreement]:
    """By aspect, over the turns that both judged; `clusters` maps a turn's id to its source task."""
    other = {one.id: one for one in theirs}
    found = {}
    for aspect in RUBRIC:
        pairs = [(one.id, getattr(one, aspect), getattr(other[one.id], aspect)) for one in ours if one.id in other]
        pairs = [pair for pair in pairs if pair[1] is not None and pair[2] is not None]
        same = [float(a == b) for _, a, b in pairs]
        share = interval(same, [1.0] * len(same), [clusters[id] for id, _, _ in pairs])
        found[aspect] = Agreement(share, _kappa([(a, b) for _, a, b in pairs]))
    return found


def _kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    if not pairs:
        return None
    total = len(pairs)
    yes_a, yes_b = sum(a for a, _ in pairs) / total, sum(b for _, b in pairs) / total
    chance = yes_a * yes_b + (1 - yes_a) * (1 - yes_b)
    return None if chance == 1 else (sum(a == b for a, b in pairs) / total - chance) / (1 - chance)


def read_judgements(path: Path, sample: str, ids: Sequence[str]) -> Judgements:
    """A file that the page saved. Raises `RecordError` where it is of another sample, or judges a turn twice or none of it."""
    try:
        found = from_json(Judgements, path.read_bytes())
    except (OSError, RecordError) as error:
        raise RecordError(f"{path}: {error}") from None
    if found.version != 1 or found.sample != sample:
        raise RecordError(
            f"{path}: expected version 1, sample {sample}, got {found.version}, {found.sample!r}: judge this page anew"
        )
    judged = [one.id for one in found.judgements]
    if len(set(judged)) < len(judged) or not set(judged) <= set(ids):
        raise RecordError(f"{path}: each judged turn must stand in the sample, and once, got {judged[:5]}")
    return found
