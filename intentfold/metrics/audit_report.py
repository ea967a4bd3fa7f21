"""An audit by a judge role, and the report of every auditor beside the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intentfold.codec.edits import encode_edits
from intentfold.codec.state import state_lines
from intentfold.intent import IntentState, normalise
from intentfold.metrics.audit import Assessed, agreement, pass_shares
from intentfold.metrics.audit_page import Case
from intentfold.metrics.document import Heading, Table, Text, to_markdown
from intentfold.metrics.statistics import interval
from intentfold.prompts.audit_judge import RUBRIC, Judged, Recovered, audit_judge_prompt, recovery_prompt
from intentfold.records import to_json
from intentfold.runtime.backends import Model
from intentfold.runtime.serving import Failures, Ledger, Serving, serve
from intentfold.runtime.structured import read_structured
from intentfold.trace import Episode

Sample = Sequence[tuple[Episode, int]]


@dataclass(frozen=True, slots=True)
class Recovery:
    """Whether the annotated final goals are what a reader makes of the dialogue; None where its answer could not be read."""

    episode: str
    whole: bool | None


def case(episode: Episode, t: int) -> Case:
    """One sampled turn as people and judges see it."""
    before = episode.turns[t - 1].state if t else IntentState()
    return Case(f"{episode.id}:{t}", episode.drift(t), state_lines(before), encode_edits(episode.turns[t].edits, before))


def judge_turns(sample: Sample, model: Model, serving: Serving, out: Path, failures: Failures, ledger: Ledger) -> list[Assessed]:
    """The judge's verdicts; an answer that cannot be read is none. Raises `BackendError`."""
    judge = serve(model, "judge", serving, out / "judge.jsonl", failures, Judged)
    cases = [case(episode, t) for episode, t in sample]
    prompts = [audit_judge_prompt(one.dialogue, one.state, one.edits) for one in cases]
    answers = judge.complete(prompts, serving.max_tokens)
    ledger.book("judge", prompts, answers)
    found = []
    for one, answer in zip(cases, answers, strict=True):
        try:
            said = read_structured(Judged, answer)
        except ValueError as error:
            found.append(Assessed(one.id, None, None, f"unread: {error}"))
        else:
            found.append(Assessed(one.id, said.fidelity, said.coherence, said.reason))
    return found


def judge_recovery(
    episodes: Sequence[Episode], model: Model, serving: Serving, out: Path, failures: Failures, ledger: Ledger
) -> list[Recovery]:
    """Whether the judge, who sees dialogue and names, writes down the annotated final goals. Raises `BackendError`."""
    judge = serve(model, "judge", serving, out / "recovery.jsonl", failures, Recovered)
    names = [sorted({*e.task.payload.get("parameters", {}), *(g.slot for g in e.task.goals if g.slot)}) for e in episodes]
    prompts = [recovery_prompt(e.drift(), some) for e, some in zip(episodes, names, strict=True)]
    answers = judge.complete(prompts, serving.max_tokens)
    ledger.book("judge", prompts, answers)
    found: list[Recovery] = []
    for episode, answer in zip(episodes, answers, strict=True):
        try:
            said = read_structured(Recovered, answer).requirements
        except ValueError:
            found.append(Recovery(episode.id, None))
            continue
        # A goal without a slot is told by its words alone, under whichever name.
        ours = Counter(normalise(f"{one.name}: {one.value}") for one in said)
        goals = episode.final_state.of_kind("goal")
        theirs = Counter(normalise(item.text) for item in goals)
        free = {normalise(item.text) for item in goals if item.slot is None}
        worded = Counter(
            normalise(one.value) if normalise(one.value) in free else normalise(f"{one.name}: {one.value}") for one in said
        )
        found.append(Recovery(episode.id, theirs in (ours, worded)))
    return found


def audit_report(
    name: str,
    sample: Sample,
    assessed: Mapping[str, Sequence[Assessed]],
    recovered: Mapping[str, Sequence[Recovery]],
    findings: Sequence[Mapping[str, Any]],
    usage: Mapping[str, Any],
    failures: Mapping[str, int],
) -> dict[str, Any]:
    """Everything as plain data: shares by auditor and by family, agreement of every two, recovery, kinds of faults."""
    clusters = {f"{episode.id}:{t}": episode.task.origin for episode, t in sample}
    families = {f"{episode.id}:{t}": episode.task.family for episode, t in sample}
    origins = {episode.id: episode.task.origin for episode, _ in sample}
    report: dict[str, Any] = {"sample": name, "turns": len(sample), "episodes": len(origins), "auditors": {}, "families": {}}
    for auditor, found in assessed.items():
        report["auditors"][auditor] = _plain(pass_shares(found, [clusters[one.id] for one in found]))
        for family in sorted(set(families.values())):
            some = [one for one in found if families[one.id] == family]
            if some:
                shares = _plain(pass_shares(some, [clusters[one.id] for one in some]))
                report["families"].setdefault(family, {})[auditor] = shares
    pairs = [(a, b) for a in assessed for b in assessed if a < b]
    report["agreement"] = {
        f"{a} and {b}": {aspect: to_json(one) for aspect, one in agreement(assessed[a], assessed[b], clusters).items()}
        for a, b in pairs
    }
    report["recovery"] = {
        reader: _plain(
            {
                "whole": interval(
                    [float(one.whole is True) for one in some], [1.0] * len(some), [origins[o.episode] for o in some]
                ),
                "assessed": sum(one.whole is not None for one in some),
            }
        )
        for reader, some in recovered.items()
    }
    kinds = Counter(f"{aspect}: {kind}" for one in findings for aspect, kind in {(a, k) for a, k, _ in one.get("faults", ())})
    report["faults"] = dict(sorted(kinds.items()))
    report["ambiguous"] = sum(bool(one.get("ambiguous")) for one in findings)
    return {**report, "usage": dict(usage), "failures": dict(sorted(failures.items()))}


def _plain(found: Mapping[str, Any]) -> dict[str, Any]:
    def one(value: Any) -> Any:
        if isinstance(value, dict):
            return _plain(value)
        return value if value is None or isinstance(value, int) else to_json(value)

    return {name: one(value) for name, value in found.items()}


def report_text(report: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    rows = [(auditor, *(_share(found[aspect]) for aspect in RUBRIC)) for auditor, found in report["auditors"].items()]
    by_family = [
        (family, auditor, *(_share(found[aspect]) for aspect in RUBRIC))
        for family, auditors in report["families"].items()
        for auditor, found in auditors.items()
    ]
    together = [
        (pair, aspect, _interval(one["same"]), "–" if one["kappa"] is None else f"{one['kappa']:.2f}")
        for pair, aspects in report["agreement"].items()
        for aspect, one in aspects.items()
    ]
    recovery = [(reader, _interval(one["whole"]), str(one["assessed"])) for reader, one in report["recovery"].items()]
    faults = [(kind, str(count)) for kind, count in report["faults"].items()] or [("none", "0")]
    planted = tuple((kind, str(found), str(count)) for kind, (found, count) in report["planted"].items())
    planted = planted or (("none was planted", "", ""),)
    return to_markdown(
        [
            Heading("Audit of simulated dialogues", 1),
            Text(
                f"{report['turns']} edit turns of {report['episodes']} episodes, sample {report['sample']}; 95% intervals "
                "clustered by source task. What an auditor gave no verdict on counts as not passed."
            ),
            Table(("auditor", *RUBRIC), tuple(rows)),
            Table(("family", "auditor", *RUBRIC), tuple(by_family)),
            Heading("Recovery of the annotated final intent from the dialogue"),
            Table(("reader", "whole", "assessed"), tuple(recovery)),
            Heading("Agreement"),
            Table(("auditors", "aspect", "same verdict", "kappa"), tuple(together) or (("one auditor alone", "", "", ""),)),
            Heading("Faults found by the scripted audit"),
            Table(("kind", "turns"), tuple(faults)),
            Table(("planted fault", "found", "planted"), planted),
            Text(f"Turns whose words can as well be read to another end: {report['ambiguous']}."),
            Text(f"Usage of models: {report['usage'] or 'none'}; failed requests: {report['failures'] or 'none'}."),
        ]
    )


def _share(found: Mapping[str, Any]) -> str:
    return f"{_interval(found['passed'])}, {found['assessed']} assessed"


def _interval(found: Mapping[str, Any] | None) -> str:
    return "–" if found is None else f"{found['mean']:.4f} ({found['low']:.4f} to {found['high']:.4f}), n = {found['n']}"
