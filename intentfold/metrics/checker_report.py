"""Judging examples and the rows of a checker's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from intentfold.asset import Verdict
from intentfold.codec.verdict import decode_verdict
from intentfold.example import Example
from intentfold.metrics import checker as metrics
from intentfold.metrics.checker import Judged
from intentfold.metrics.document import Heading, Text
from intentfold.metrics.page import comparison_blocks, file_links, row_table, write_document
from intentfold.metrics.report import Row, row, under
from intentfold.metrics.statistics import Comparison
from intentfold.prompts.checker import checker_template_hash
from intentfold.records import RecordError, canonical_json, read_jsonl, to_json, write_text
from intentfold.runtime.checker import ask, probabilities
from intentfold.runtime.roles import Backend

NO_AGENT = "-"
# The metrics of a checker's rows, as they stand before slices: no comparison may be called so.
METRICS = (
    "macro_f1", "false_unmet", "not_assessed", "reasons_named", "ece", "agreement",
    *(f"{name}_{verdict}" for verdict in metrics.VERDICTS for name in ("precision", "recall", "f1")),
)  # fmt: skip


def read_questions(path: Path) -> list[Example]:
    """The examples of a split. Raises `RecordError` where there are none, or one is not the checker's or of another template."""
    examples = read_jsonl(path, Example)
    if not examples:
        raise RecordError(f"{path}: no examples")
    for number, one in enumerate(examples, start=1):
        found = (one.provenance.codec, one.provenance.template)
        if found != ("verdict", checker_template_hash()):
            expected = f"codec verdict, template {checker_template_hash()}"
            raise RecordError(f"{path}:{number}: expected {expected}, got codec {found[0]}, template {found[1]}: mine them anew")
    return examples


def judge_examples(backend: Backend, examples: Sequence[Example], max_tokens: int) -> list[Judged]:
    """What a checker says about each example, with its probabilities where it gives them. Raises `BackendError`."""
    judged = []
    for one, completion in zip(examples, ask(backend, [one.messages for one in examples], max_tokens), strict=True):
        said, truth = decode_verdict(completion.text), decode_verdict(one.completion)
        if truth is None:
            raise ValueError(f"{one.provenance.episode}: the completion {one.completion[:80]!r} is no verdict")
        reason = "" if said is None else said.reason
        verdict: Verdict | None = None if said is None else said.verdict
        likely = probabilities(completion)
        judged.append(Judged(one.hash(), one.provenance.origin, truth.verdict, verdict, reason, truth.reason, likely))
    return judged


def conditions(splits: Mapping[str, Sequence[Example]]) -> dict[str, list[tuple[str, int]]]:
    """(split, place) of the questions of each condition: each split, its held-out requirements apart, and all together."""
    found: dict[str, list[tuple[str, int]]] = {}
    for split, examples in splits.items():
        found[split] = [(split, place) for place in range(len(examples))]
        novel = [(split, place) for place, one in enumerate(examples) if "novel" in one.provenance.phenomena]
        if novel:
            found[f"{split}, held-out requirements"] = novel
    if len(splits) > 1:
        found["all"] = [where for split in splits for where in found[split]]
    return found


def checker_rows(
    arm: str, condition: str, examples: Sequence[Example], judged: Sequence[Judged], threshold: float | None
) -> list[Row]:
    """Every metric over a condition's questions, macro-F1 and the recall of unmet by slice, and the verdicts at the threshold."""
    rows = [row(arm, condition, "macro_f1", metrics.macro_f1(judged), NO_AGENT)]
    for verdict in metrics.VERDICTS:
        for name, measure in (("precision", metrics.precision), ("recall", metrics.recall), ("f1", metrics.f1)):
            rows.append(row(arm, condition, f"{name}_{verdict}", measure(judged, verdict), NO_AGENT))
    for name, found in (
        ("false_unmet", metrics.false_unmet(judged)),
        ("not_assessed", metrics.not_assessed(judged)),
        ("reasons_named", metrics.reasons_named(judged)),
    ):
        rows.append(row(arm, condition, name, found, NO_AGENT))
    error = metrics.ece(judged)
    if error is not None:
        rows.append(Row(arm, condition, "ece", error, error, error, len(judged), NO_AGENT))
    if threshold is not None:
        at = [metrics.decided(one, threshold) for one in judged]
        for name, found in (
            ("macro_f1", metrics.macro_f1(at)),
            ("recall_unmet", metrics.recall(at, "unmet")),
            ("false_unmet", metrics.false_unmet(at)),
        ):
            rows.append(row(arm, condition, f"{name}, at the threshold", found, NO_AGENT))
    for name, places in _slices(examples).items():
        part = [judged[place] for place in places]
        rows.append(row(arm, condition, f"macro_f1, {name}", metrics.macro_f1(part), NO_AGENT))
        rows.append(row(arm, condition, f"recall_unmet, {name}", metrics.recall(part, "unmet"), NO_AGENT))
    return rows


def _slices(examples: Sequence[Example]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, one in enumerate(examples):
        where = one.provenance
        for name in (f"family {where.family}", f"difficulty {where.load}"):
            found.setdefault(name, []).append(place)
    return dict(sorted(found.items()))


def write_checker_report(folder: Path, what: str, rows: Sequence[Row], comparisons: Mapping[str, Comparison]) -> None:
    """Write results.json, comparisons.json, report.html and report.md."""
    write_text(folder / "results.json", canonical_json([to_json(r) for r in under("checker", rows)]) + "\n")
    write_text(folder / "comparisons.json", canonical_json({name: to_json(c) for name, c in comparisons.items()}) + "\n")
    text = (
        f"{what} Verdicts are those of executed checks. Intervals are at 95%, clustered by user; what could not be read is"
        " right in no case. The condition is the split, those of its questions whose"
        " requirement no training history has, or all splits together. ECE has no interval: it is a sum of distances."
        " What is compared is macro-F1."
    )
    blocks = [Heading("Checker", 1), Text(text), row_table(under("checker", rows)), *comparison_blocks(comparisons, (), "users")]
    write_document(folder, "Checker", [*blocks, *file_links(folder)])
