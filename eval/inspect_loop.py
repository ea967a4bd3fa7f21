"""The closed loop through Inspect: its logs and viewer, epochs (avg@k), retries, resuming, concurrency and token usage.

    python eval/inspect_loop.py --config configs/eval/inspect_loop/scripted.yaml
    inspect view --log-dir runs/inspect/scripted

Needs the extra `inspect`. Leaves Inspect's log in `out`, results.json (a row a metric: the mean over epochs of each case,
with an interval clustered by source task), usage.json (tokens by role) and ungraded.jsonl (what could not be scored, and
why). Killed or failed and started again, it goes on with the samples that are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intentfold.config import check_same_run, parse, plain, record_run
from intentfold.metrics import report
from intentfold.metrics.case_scores import SCORERS, case_rows
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import canonical_json, read_jsonl, to_json, write_jsonl, write_text
from intentfold.runtime.backends import Model, check_answering
from intentfold.runtime.episodes import spread
from intentfold.runtime.inspect_task import case_scores, inspect_model, inspect_task, usage_by_role
from intentfold.runtime.outcome import ModelRole, run_case
from intentfold.runtime.roles import require_separate
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One run through Inspect.

    Args:
        episodes: JSON lines of episodes
        out: folder of Inspect's logs
        tracker: who folds
        agent: who answers; null for the state executor, which is no model
        simulator: who says the user's turns in words of its own, live with the agent; null to replay them as they stand
        checker: who judges the answer against the oracle's final items, beside the task's grade; null for nobody
        judge: who matches the tracker's last state with the oracle's, beside the task's grade; null for nobody
        condition: a control, or tracker
        epochs: how often each case is run, what samples with another seed each time; its score is the mean
        codec: what the tracker writes
        window: how many messages the tracker sees; 0 for all
        limit: run only so many episodes, spread evenly over the file; 0 for all
        max_tokens: most tokens that a fold may write
        agent_tokens: most tokens that an answer may have
        concurrency: samples, and requests to one model, at a time
        retries: how often a sample that ended in an error is run again
    """

    episodes: Path
    out: Path
    tracker: Model
    agent: Model | None = None
    simulator: Model | None = None
    checker: Model | None = None
    judge: Model | None = None
    condition: Literal["clean", "drift", "no_drift", "oracle_state", "tracker"] = "tracker"
    epochs: int = 1
    codec: Codec = "delta"
    window: int = WINDOW
    limit: int = 0
    max_tokens: int = 128
    agent_tokens: int = 1024
    concurrency: int = 16
    retries: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_answering({role: model for role, model in self.models().items() if role != "tracker"})
        if min(self.epochs, self.max_tokens, self.agent_tokens, self.concurrency) < 1:
            raise ValueError("epochs, max_tokens, agent_tokens and concurrency must be at least 1")
        if self.batch_size != InProcessOptions.batch_size:
            raise ValueError(
                f"batch_size: Inspect asks a model for one prompt at a time (concurrency: how many), got {self.batch_size}"
            )
        if min(self.limit, self.window, self.retries) < 0:
            raise ValueError("limit, window and retries must be at least 0")
        if self.simulator is not None and (self.agent is None or self.condition != "tracker"):
            raise ValueError("simulator: talks to a model in the role of the agent, under the condition tracker")
        if self.judge is not None and self.condition != "tracker":
            raise ValueError("judge: matches what a tracker holds, under the condition tracker")

    def models(self) -> dict[ModelRole, Model]:
        """The roles that have a model."""
        roles: tuple[ModelRole, ...] = ("tracker", "agent", "simulator", "checker", "judge")
        return {role: getattr(self, role) for role in roles if getattr(self, role) is not None}


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    try:
        from inspect_ai import eval_set
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise SystemExit("inspect-ai is not installed: pip install 'intentfold[inspect]'") from None
    episodes = spread(read_jsonl(args.episodes, Episode), args.limit)
    codecs: dict[ModelRole, str] = {"tracker": args.codec, "checker": "verdict"}
    for role, model in args.models().items():
        if missing := model.missing(codecs.get(role), args.window or None):
            raise SystemExit(f"{role}: {missing}")
    backends = {role: args.seeded(model, episodes, args.codec, args.window or None) for role, model in args.models().items()}
    names = {role: make(None).name for role, make in backends.items()}
    require_separate(names.get("agent", "executor"), {r: names[r] for r in ("simulator", "judge") if r in names})
    check_same_run(args.out, args, free=("concurrency", "retries"))
    record_run(args.out, args)
    settings: dict[str, Any] = {"codec": args.codec, "window": args.window or None}
    task = inspect_task(
        f"closed_loop_{args.condition}",
        episodes,
        {role: (model, names[role]) for role, model in args.models().items()},
        lambda episode, roles: run_case(
            episode, args.condition, roles, **settings, max_tokens=args.max_tokens, agent_tokens=args.agent_tokens
        ),
        {title: one for title, one in SCORERS.items() if title == "task_grade" or title in args.models()},
        args.epochs,
    )
    done, logs = eval_set(
        task,
        log_dir=str(args.out),
        model=None,
        model_roles={r: inspect_model(r, m, backends[r], args.chat_template_kwargs) for r, m in args.models().items()},
        max_samples=args.concurrency,
        max_connections=args.concurrency,
        retry_on_error=args.retries,
        continue_on_fail=True,  # one case that fails ends no other
        retry_attempts=1,  # of the whole: start again for that
        retry_immediate=False,
        log_buffer=1,  # a sample that has ended is in the log, whatever happens
        metadata={"arguments": plain(args)},
        log_dir_allow_dirty=True,
        display="plain",
    )
    if not done:
        raise SystemExit(f"{args.out}: samples are missing; start again to go on")
    log = read_eval_log(logs[0].location)
    arm, condition = ("tracker" if args.condition == "tracker" else report.NO_ARM), args.condition
    condition_name = condition if args.simulator is None else f"{condition}, simulated user"
    agent = "executor" if args.agent is None else f"{args.agent.kind} {args.agent.model or args.agent.base}"
    scores = case_scores(log)
    rows = case_rows(arm, condition_name, agent, episodes, scores, args.epochs)
    ungraded = [to_json(one) for one in scores if one.values is None]
    usage = usage_by_role(log)
    write_text(args.out / "usage.json", canonical_json(usage) + "\n")
    write_jsonl(args.out / "ungraded.jsonl", ungraded)
    write_text(args.out / "results.json", canonical_json([to_json(row) for row in rows]) + "\n")
    print(report.table(rows))
    print(f"{len(ungraded)} scores missing; tokens by role:", {role: used["total_tokens"] for role, used in usage.items()})


if __name__ == "__main__":
    main()
