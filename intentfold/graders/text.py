"""Text by slot coverage: which required slots are realised, and whether anything forbidden is said.

Phrases are compared without case, with runs of white space as one blank, and on word boundaries. Where accepted and
forbidden phrases of one slot overlap ("family friendly", "not family friendly"), the one that starts first wins,
and of two that start together the longer one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from intentfold.graders.grade import GoldError, Grade, gold
from intentfold.task import SourceTask

Phrases = Mapping[str, list[str]]


def grade_text(task: SourceTask, answer: str) -> Grade:
    """Share of slots realised minus share of slots contradicted, in [0, 1]; full when all are and none is.

    A slot under `forbidden` that isn't required (a decoy's) weighs as much as a required one.
    """
    slots = gold(task, "reference.slots", Mapping)  # type: ignore[type-abstract]
    accepted = gold(task, "reference.realisations", Mapping)  # type: ignore[type-abstract]
    forbidden = task.payload["reference"].get("forbidden", {})
    for slot in slots:
        if not accepted.get(slot):
            raise GoldError(task, f"reference.realisations.{slot}", "is missing or empty")
    for field, phrases in (("realisations", accepted), ("forbidden", forbidden)):
        _check(task, field, phrases)
    missing, contradicted = [], []
    plain = _plain(answer)
    for slot in {**slots, **forbidden}:
        wanted = accepted.get(slot, []) if slot in slots else []
        said = _said(plain, tuple(wanted), tuple(forbidden.get(slot, [])))
        if slot in slots and True not in said:
            missing.append(slot)
        if False in said:
            contradicted.append(slot)
    value = max(0.0, (len(slots) - len(missing) - len(contradicted)) / len(slots))
    if not missing and not contradicted:
        return Grade(1.0, True, f"all {len(slots)} slots are realised")
    return Grade(value, False, f"missing: {missing}; contradicted: {contradicted}")


def says(text: str, phrase: str) -> bool:
    """Whether the text holds the phrase, as the grade compares them."""
    return bool(phrase.strip()) and _said(_plain(text), (phrase,), ()) == {True}


def bleu(task: SourceTask, answer: str) -> float:
    """Sentence BLEU of sacrebleu against `reference.references`, in [0, 100]; beside the grade, never part of it."""
    import sacrebleu  # imported late: only reports need it

    return float(sacrebleu.sentence_bleu(answer, gold(task, "reference.references", list)).score)


def _check(task: SourceTask, field: str, phrases: Phrases) -> None:
    for slot, choices in phrases.items():
        if not isinstance(choices, list) or not all(isinstance(one, str) and one.strip() for one in choices):
            raise GoldError(task, f"reference.{field}.{slot}", f"must be a list of phrases, got {choices!r}")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _said(plain: str, accepted: tuple[str, ...], forbidden: tuple[str, ...]) -> set[bool]:
    """True when an accepted phrase occurs, False when a forbidden one does; both, one or none."""
    pattern, is_accepted = _pattern(accepted, forbidden)
    return {is_accepted[found] for found in pattern.findall(plain)}


@functools.lru_cache(maxsize=4096)
def _pattern(accepted: tuple[str, ...], forbidden: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, bool]]:
    is_accepted = {_plain(one): True for one in accepted} | {_plain(one): False for one in forbidden}
    longest_first = sorted(is_accepted, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"), is_accepted
