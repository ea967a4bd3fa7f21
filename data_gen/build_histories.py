"""Build learning histories: simulated users correct an agent's work, every requirement verified by code.

    python data_gen/build_histories.py --config configs/data_gen/build_histories/demo.yaml

Leaves in `out`: {train,dev,test,held_out_family}.jsonl (what both sides saw), `private/` with the ledger of each history
(what was wanted, every executed assessment) and rejected.jsonl, report.json, and report.md with the mix of feedback beside
SWE-chat's. Agent and user are scripted, or models behind an endpoint: what those wrote is journaled in `completions/`, and a
build that a failed server ended goes on where it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, get_args

from tqdm import tqdm

from intentfold.config import check_same_run, parse, record_run
from intentfold.construct.corrective.agent import AgentRates
from intentfold.construct.corrective.build import Cast, Plan, build_user, report, report_text
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.user import BOTH
from intentfold.construct.workers import pool
from intentfold.records import canonical_json, write_jsonl, write_text
from intentfold.runtime.backends import Model
from intentfold.runtime.roles import BackendError, require_separate
from intentfold.trace import Split


@dataclass(frozen=True)
class Arguments:
    """What to build.

    Args:
        out: folder of the build
        users: how many simulated users; the split is by user
        families: families of work
        held_out_families: families that are kept out of train, dev and test
        histories: tasks of each user in each family
        low: fewest requirements of a task
        high: most requirements of a task
        budget: how often a user speaks after its request
        rates: how the scripted agent fares
        both: how often a message that names a discrepancy also states the desired change
        agent: a served model that does the work; scripted by default
        user: a served model that words the user's messages, for an agent that is one; of the wording bank by default
        reader: a served model that audits what the user's model wrote
        allow_shared: let one model play agent and user or reader
        steps: most turns of actions in one piece of work of a model
        max_tokens: most tokens of such a turn
        chat_template_kwargs: of served models
        seed: seed of everything
        workers: processes, 0 for as many as there are CPUs
    """

    out: Path
    users: int
    families: list[str] = field(default_factory=lambda: sorted(FAMILIES))
    held_out_families: list[str] = field(default_factory=list)
    histories: int = 2
    low: int = 3
    high: int = 5
    budget: int = 8
    rates: AgentRates = field(default_factory=AgentRates)
    both: float = BOTH
    agent: Model | None = None
    user: Model | None = None
    reader: Model | None = None
    allow_shared: bool = False
    steps: int = 8
    max_tokens: int = 1024
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    workers: int = 0

    def __post_init__(self) -> None:
        for name in ("families", "held_out_families"):
            if unknown := sorted(set(getattr(self, name)) - set(FAMILIES)):
                raise ValueError(f"{name}: unknown {unknown}, expected some of {sorted(FAMILIES)}")
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name}: each family once, got {getattr(self, name)}")
        if min(self.users, self.histories, self.low, self.budget) < 1 or self.high < self.low or self.workers < 0:
            raise ValueError(
                f"users, histories, low, budget must be at least 1, high at least low, workers at least 0, got {self.users}, "
                f"{self.histories}, {self.low}, {self.budget}, {self.high}, {self.workers}"
            )
        if not 0.0 <= self.both <= 1.0:
            raise ValueError(f"both must be in [0, 1], got {self.both}")
        if not self.families:
            raise ValueError("families is empty: nothing to build")
        if min(self.steps, self.max_tokens) < 1:
            raise ValueError(f"steps and max_tokens must be at least 1, got {self.steps}, {self.max_tokens}")
        if (self.user is None) != (self.reader is None) or (self.user is not None and self.agent is None):
            raise ValueError("user goes with reader, who audits it, and with an agent that is a model: no other understands it")
        models = {"agent": self.agent, "user": self.user, "reader": self.reader}
        for role, model in models.items():
            if model is not None and model.kind != "openai":
                raise ValueError(f"{role}: expected a model of kind openai, got {model.kind}")
        served = {role: f"{model.base_url}#{model.model}" for role, model in models.items() if model is not None}
        if self.agent is not None:
            require_separate(served.pop("agent"), served, allow_shared=self.allow_shared)


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    check_same_run(args.out, args, free=("workers",))
    if (args.out / "report.json").exists():
        print(f"{args.out} is complete")
        return
    for role, model in (("agent", args.agent), ("user", args.user), ("reader", args.reader)):
        if model is not None and (missing := model.missing()):
            raise SystemExit(f"{role}: {missing}")
    record_run(args.out, args)
    counts = (args.users, args.histories, args.low, args.high, args.budget)
    plan = Plan(tuple(args.families), *counts, args.rates, args.both, tuple(args.held_out_families), args.seed)
    roles = (args.agent, args.user, args.reader, args.steps, args.max_tokens, args.chat_template_kwargs)
    cast = Cast(args.out / "completions", *roles)
    try:
        with pool(args.workers) as processes:
            jobs = processes.map(partial(build_user, plan, cast), range(args.users), chunksize=1 if args.agent else 8)
            built = list(tqdm(jobs, total=args.users, desc="users"))
    except BackendError as error:
        raise SystemExit(f"a model does not answer: {error}; what was answered is kept, run again to go on") from error
    pairs = [pair for one in built for pair in one.pairs]
    splits: tuple[Split, ...] = get_args(Split)
    for split in splits:
        part = [(history, ledger) for history, ledger in pairs if history.split == split]
        write_jsonl(args.out / f"{split}.jsonl", [history for history, _ in part])
        write_jsonl(args.out / "private" / f"{split}.jsonl", [ledger for _, ledger in part])
    write_jsonl(args.out / "private" / "rejected.jsonl", [rejection for one in built for rejection in one.rejections])
    found = report(built, plan, cast)
    write_text(args.out / "report.md", report_text(found, cast))
    write_text(args.out / "report.json", canonical_json(found) + "\n")
    print((args.out / "report.md").read_text(encoding="utf-8"))
    print(found["counts"])


if __name__ == "__main__":
    main()
