"""How well a checker judges: precision, recall and F1 by verdict, calibration, thresholds, reasons, agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from intentfold.asset import Verdict
from intentfold.metrics.statistics import Comparison, Interval, Ratios, interval, mean_ratio, paired_mean_ratios
from intentfold.records import RECORD, RecordError, from_json
from intentfold.runtime.checker import decide
from intentfold.runtime.selection import words

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
BINS = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """One question with its executed verdict and what the checker said (None: not assessed, right in no case).

    `probabilities` are the checker's own, of met, unmet and not applicable; empty where it gives none.
    """

    __pydantic_config__ = RECORD

    id: str
    cluster: str
    truth: Verdict
    said: Verdict | None
    reason: str
    right_reason: str
    probabilities: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Bin:
    """One bin of a reliability plot: how sure the checker was on average, and how often it was right."""

    __pydantic_config__ = RECORD

    low: float
    high: float
    confidence: float
    accuracy: float
    n: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """What was found out about one checker: its name, its threshold for unmet (None without probabilities), its bins."""

    __pydantic_config__ = RECORD

    checker: str
    threshold: float | None
    bins: tuple[Bin, ...]


def read_threshold(path: Path, checker: str) -> float:
    """The threshold that `eval/checker.py` chose for a checker of this name and left at `path` (reliability.ARM.json).

    Raises `RecordError` where the file is of another checker or holds no threshold.
    """
    found = from_json(Reliability, path.read_bytes())
    if found.checker != checker:
        raise RecordError(f"{path}: the threshold is that of {found.checker}, not of {checker}")
    if found.threshold is None:
        raise RecordError(f"{path}: {checker} gave no probabilities, so no threshold was chosen")
    return found.threshold


def precision(judged: Sequence[Judged], verdict: Verdict) -> Interval | None:
    """Of those that got this verdict, the share that deserved it. None where none got it."""
    right, said = _hits(judged, verdict), [float(one.said == verdict) for one in judged]
    return interval(right, said, _clusters(judged))


def recall(judged: Sequence[Judged], verdict: Verdict) -> Interval | None:
    """Of those that deserve this verdict, the share that got it; not assessed is a miss. None where none deserves it."""
    return interval(_hits(judged, verdict), [float(one.truth == verdict) for one in judged], _clusters(judged))


def f1(judged: Sequence[Judged], verdict: Verdict) -> Interval | None:
    """2 TP / (2 TP + FP + FN), as a ratio of sums over the questions."""
    return interval(*_f1_parts(judged, verdict), _clusters(judged))


def macro_f1(judged: Sequence[Judged]) -> Interval | None:
    """The mean of F1 over the verdicts that occur."""
    return mean_ratio(_f1_ratios(judged), _clusters(judged))


def macro_f1_gain(a: Sequence[Judged], b: Sequence[Judged], margin: float) -> Comparison:
    """The paired difference a − b in macro-F1 over the same questions in the same order."""
    if [one.id for one in a] != [one.id for one in b]:
        raise ValueError("paired questions must be the same, in the same order")
    return paired_mean_ratios(_f1_ratios(a), _f1_ratios(b), _clusters(a), margin)


def false_unmet(judged: Sequence[Judged]) -> Interval | None:
    """Of those that are not unmet, the share that was called so."""
    size = [float(one.truth != "unmet") for one in judged]
    return interval([float(s and one.said == "unmet") for s, one in zip(size, judged, strict=True)], size, _clusters(judged))


def not_assessed(judged: Sequence[Judged]) -> Interval | None:
    """The share that could not be read."""
    return interval([float(one.said is None) for one in judged], [1.0] * len(judged), _clusters(judged))


def reasons_named(judged: Sequence[Judged]) -> Interval | None:
    """Of unmet requirements that were found, the share whose reason names the discrepancy.

    Reading: it does if it holds at least half of the words of the executed check's reason that say something.
    """
    found = [one for one in judged if one.truth == one.said == "unmet"]
    named = [float(_names(one.reason, one.right_reason)) for one in found]
    return interval(named, [1.0] * len(found), _clusters(found))


def agreement(runs: Sequence[Sequence[Judged]]) -> Interval | None:
    """The share of questions on which all runs say the same verdict; not assessed in all of them is no agreement."""
    columns = list(zip(*runs, strict=True))
    same = [float(column[0].said is not None and len({one.said for one in column}) == 1) for column in columns]
    return interval(same, [1.0] * len(same), [column[0].cluster for column in columns])


def reliability(judged: Sequence[Judged]) -> list[Bin]:
    """Bins of equal width by how sure the checker was of the verdict that it thinks likeliest; empty bins left out."""
    piles: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for one in judged:
        if one.probabilities:
            sure = max(one.probabilities)
            likeliest = VERDICTS[one.probabilities.index(sure)]
            piles[min(BINS - 1, int(sure * BINS))].append((sure, likeliest == one.truth))
    return [
        Bin(
            place / BINS,
            (place + 1) / BINS,
            sum(sure for sure, _ in pile) / len(pile),
            sum(right for _, right in pile) / len(pile),
            len(pile),
        )
        for place, pile in enumerate(piles)
        if pile
    ]


def ece(judged: Sequence[Judged]) -> float | None:
    """Expected calibration error: the mean distance of confidence and accuracy over the bins, weighted by their size."""
    bins = reliability(judged)
    total = sum(one.n for one in bins)
    return sum(one.n * abs(one.confidence - one.accuracy) for one in bins) / total if total else None


def decided(judged: Judged, threshold: float) -> Judged:
    """The question with its verdict by probabilities: unmet from `threshold` on, else the likelier of the other two.

    What could not be read stays not assessed, as it does at run time.
    """
    if judged.said is None:
        return judged
    verdict = decide(judged.probabilities, threshold)
    return Judged(
        judged.id,
        judged.cluster,
        judged.truth,
        verdict,
        judged.reason if verdict == judged.said else "",
        judged.right_reason,
        judged.probabilities,
    )


def choose_threshold(validation: Sequence[Judged], most_false: float) -> float:
    """The lowest threshold for unmet at which at most `most_false` of what is not unmet is called so.

    It is taken among the probabilities that occur; 1 + a little (never unmet) where even the highest lets too many through.
    Raises `ValueError` where the validation part has no probabilities or nothing that is not unmet.
    """
    others = sorted((one.probabilities[1] for one in validation if one.truth != "unmet" and one.probabilities), reverse=True)
    if not others:
        raise ValueError("a threshold needs probabilities of questions that are not unmet")
    allowed = int(most_false * len(others))
    wrong = others[allowed] if allowed < len(others) else -1.0
    above = [one.probabilities[1] for one in validation if one.probabilities and one.probabilities[1] > wrong]
    return min(above, default=1.0 + 1e-9)


def _hits(judged: Sequence[Judged], verdict: Verdict) -> list[float]:
    return [float(one.truth == one.said == verdict) for one in judged]


def _f1_parts(judged: Sequence[Judged], verdict: Verdict) -> tuple[list[float], list[float]]:
    sizes = [float(one.truth == verdict) + float(one.said == verdict) for one in judged]
    return [2 * hit for hit in _hits(judged, verdict)], sizes


def _f1_ratios(judged: Sequence[Judged]) -> Ratios:
    return [_f1_parts(judged, verdict) for verdict in VERDICTS]


def _names(reason: str, right: str) -> bool:
    wanted = set(words(right))
    return 2 * len(wanted & set(words(reason))) >= len(wanted)


def _clusters(judged: Sequence[Judged]) -> list[str]:
    return [one.cluster for one in judged]
