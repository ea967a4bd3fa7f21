"""Audit simulated dialogues on a sample of edit turns: fidelity, coherence, and what of the final intent can be recovered.

    python data_gen/audit_traces.py --config configs/data_gen/audit_traces/scripted.yaml

Scripted dialogues are audited by their words (`construct/audit.py`), any by a judge role; people judge on the page that the
audit leaves, and what they save is read with --judgements and reported beside, with agreement. Leaves in `out`: findings.jsonl,
page.html, report.md and report.json; a judge's answers are journaled.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.audit import audit_turn, edit_turns, recover, same_goals
from intentfold.construct.planting import PLANTERS
from intentfold.construct.wording import bank
from intentfold.metrics.audit import Assessed, read_judgements
from intentfold.metrics.audit_page import audit_page
from intentfold.metrics.audit_report import Recovery, audit_report, case, judge_recovery, judge_turns, report_text
from intentfold.records import canonical_json, content_hash, read_jsonl, write_jsonl, write_text
from intentfold.runtime.backends import Model
from intentfold.runtime.roles import BackendError
from intentfold.runtime.serving import DEFAULT_SERVING, Failures, Ledger, Serving, bill, check_served
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments:
    """One audit.

    Args:
        traces: files of episodes
        out: folder that is made
        turns: how many edit turns are sampled, all for 0
        page_turns: how many of them people are shown
        planted: in how many of them faults are planted, one of each kind, to tell what share the scripted audit finds
        scripted: audit by the wording bank; false for dialogues that a model worded, which it cannot read
        judge: a served model that judges by the same rubric, and recovers the final intent
        serving: how it is asked
        judgements: files that the page saved
        least: aspect -> least share that must pass the scripted audit, or the exit code is 1
        seed: seed of the sample
    """

    traces: list[Path]
    out: Path
    turns: int = 1000
    page_turns: int = 60
    planted: int = 0
    scripted: bool = True
    judge: Model | None = None
    serving: Serving = DEFAULT_SERVING
    judgements: list[Path] = field(default_factory=list)
    least: dict[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.turns, self.page_turns, self.planted) < 0:
            raise ValueError(
                f"turns, page_turns and planted must be at least 0, got {self.turns}, {self.page_turns}, {self.planted}"
            )
        if not self.scripted and self.judge is None:
            raise ValueError("judge: dialogues that are not scripted need one")
        if unknown := sorted(set(self.least) - {"fidelity", "coherence"}):
            raise ValueError(f"least: unknown {unknown}, expected fidelity, coherence")
        if (self.least or self.planted) and not self.scripted:
            raise ValueError("least and planted: hold for the scripted audit, which is not made")
        check_served({"judge": self.judge}, self.serving)


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args, free=("judgements",))
    episodes: dict[str, Episode] = {}
    for path in args.traces:
        for episode in read_jsonl(path, Episode):
            if episodes.setdefault(episode.id, episode) is not episode:
                raise SystemExit(f"{path}: episode {episode.id} stands in these files twice")
    everything = [(episode, t) for episode in episodes.values() for t in edit_turns(episode)]
    if not everything:
        raise SystemExit(f"{[str(path) for path in args.traces]}: no turn that edits")
    if len(everything) < args.turns:
        raise SystemExit(f"turns: {args.turns} wanted, {len(everything)} there")
    sample = random.Random(args.seed).sample(everything, args.turns or len(everything))
    name = content_hash(canonical_json([[episode.hash(), t] for episode, t in sample]))
    record_run(args.out, args)
    whole = list({episode.id: episode for episode, _ in sample}.values())
    assessed: dict[str, list[Assessed]] = {}
    recovered: dict[str, list[Recovery]] = {}
    findings: list[dict[str, Any]] = []
    if args.scripted:
        assessed["scripted"], recovered["scripted"] = [], []
        for episode, t in tqdm(sample, desc="turns"):
            audit = audit_turn(episode, t, bank(episode.wording))
            said = "; ".join(f"{fault.kind}: {fault.detail}" for fault in audit.faults)
            assessed["scripted"].append(Assessed(f"{episode.id}:{t}", audit.passes("fidelity"), audit.passes("coherence"), said))
            faults = [[fault.aspect, fault.kind, fault.detail] for fault in audit.faults]
            findings.append({"turn": f"{episode.id}:{t}", "faults": faults, "ambiguous": audit.ambiguous})
        for episode in tqdm(whole, desc="recovery"):
            recovered["scripted"].append(
                Recovery(episode.id, same_goals(recover(episode, bank(episode.wording)), episode.final_state))
            )
    planted: dict[str, list[bool]] = {}
    for episode, t in tqdm(sample[: args.planted], desc="planted"):
        for kind, plant in PLANTERS.items():
            words = bank(episode.wording)
            bad = plant(episode, t, words, random.Random(f"{args.seed}/{kind}/{episode.id}/{t}"))
            if bad is not None:
                planted.setdefault(kind, []).append(bool(audit_turn(bad, t, words).faults))
    failures, ledger = Failures(args.out / "failures.jsonl"), Ledger()
    if args.judge is not None:
        try:
            asked = (args.judge, args.serving, args.out, failures, ledger)
            assessed["judge"] = judge_turns(sample, *asked)
            recovered["judge"] = judge_recovery(whole, *asked)
        except BackendError as error:
            raise SystemExit(f"the judge does not answer: {error}; what was answered is kept, run again to go on") from error
        findings += [{"turn": one.id, "judge": [one.fidelity, one.coherence, one.note]} for one in assessed["judge"]]
    shown = sample[: args.page_turns]
    for path in args.judgements:
        people = read_judgements(path, name, [f"{episode.id}:{t}" for episode, t in shown])
        who = f"{path.stem} ({people.judge or 'unnamed'})"
        others = sum(one == who or one.startswith(f"{who}, ") for one in assessed)  # the page saves under one name
        assessed[f"{who}, {others + 1}" if others else who] = list(people.judgements)
    write_jsonl(args.out / "findings.jsonl", findings)
    write_text(args.out / "page.html", audit_page(name, [case(episode, t) for episode, t in shown]))
    usage = bill([ledger.used], args.serving.prices)
    report = audit_report(name, sample, assessed, recovered, findings, usage, dict(failures.counts()))
    report["planted"] = {kind: [sum(found), len(found)] for kind, found in planted.items()}
    write_text(args.out / "report.md", report_text(report))
    write_text(args.out / "report.json", canonical_json(report) + "\n")
    print(report_text(report))
    low = {aspect: report["auditors"]["scripted"][aspect]["passed"]["mean"] for aspect in args.least}
    if short := {aspect: share for aspect, share in low.items() if share < args.least[aspect]}:
        raise SystemExit(f"the audit is not passed: {short}, at least {args.least} expected")


if __name__ == "__main__":
    main()
