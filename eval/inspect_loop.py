"""The closed loop through Inspect: its logs and viewer, epochs (avg@k), retries, resuming, concurrency and token usage.

    python eval/inspect_loop.py --config configs/eval/inspect_loop/scripted.yaml
    inspect view --log-dir runs/inspect/scripted

Needs the extra `inspect`. Leaves Inspect's log in `out`, and results.json: a row a metric, the mean over epochs of each case,
with an interval clustered by source task. Killed or failed and started again, it goes on with the samples that are missing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intentfold.config import check_same_run, parse, plain, record_run
from intentfold.metrics import report
from intentfold.metrics.statistics import interval
from intentfold.models import InProcessOptions
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import canonical_json, read_jsonl, to_json, write_text
from intentfold.runtime.backends import Model
from intentfold.runtime.episodes import spread
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments(InProcessOptions):
    """One run through Inspect.

    Args:
        episodes: JSON lines of episodes
        out: folder of Inspect's logs
        tracker: who folds
        agent: who answers; null for the state executor, which is no model
        condition: a control, or tracker
        epochs: how often each case is run; its score is the mean
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
        if min(self.epochs, self.max_tokens, self.agent_tokens, self.concurrency) < 1:
            raise ValueError("epochs, max_tokens, agent_tokens and concurrency must be at least 1")
        if min(self.limit, self.window, self.retries) < 0:
            raise ValueError("limit, window and retries must be at least 0")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    try:
        from inspect_ai import eval_set
    except ImportError:
        raise SystemExit("inspect-ai is not installed: pip install 'intentfold[inspect]'") from None
    from intentfold.runtime.inspect_task import closed_loop_task, inspect_model

    episodes = spread(read_jsonl(args.episodes, Episode), args.limit)
    window = args.window or None
    roles = {}
    models = {role: model for role, model in {"tracker": args.tracker, "agent": args.agent}.items() if model is not None}
    for role, model in models.items():
        if missing := model.missing(args.codec if role == "tracker" else None):
            raise SystemExit(f"{role}: {missing}")
    check_same_run(args.out, args, free=("concurrency", "retries"))
    record_run(args.out, args)
    for role, model in models.items():
        backend = None if model.kind == "openai" else args.backends().make(model, episodes, args.codec, window)
        roles[role] = inspect_model(model, backend, args.chat_template_kwargs)
    task = closed_loop_task(
        episodes,
        args.condition,
        codec=args.codec,
        window=window,
        max_tokens=args.max_tokens,
        agent_tokens=args.agent_tokens,
        executor=args.agent is None,
        epochs=args.epochs,
    )
    done, logs = eval_set(
        task,
        log_dir=str(args.out),
        model=None,
        model_roles=roles,
        max_samples=args.concurrency,
        max_connections=args.concurrency,
        retry_on_error=args.retries,
        log_buffer=1,  # a sample that has ended is in the log, whatever happens
        metadata={"arguments": plain(args)},
        log_dir_allow_dirty=True,
        display="plain",
    )
    if not done:
        raise SystemExit(f"{args.out}: samples are missing; start again to go on")
    from inspect_ai.log import read_eval_log

    log = read_eval_log(logs[0].location)
    rows = score_rows(log, episodes, args)
    write_text(args.out / "results.json", canonical_json([to_json(row) for row in rows]) + "\n")
    print(report.table(rows))
    print("tokens by role:", {role: usage.total_tokens for role, usage in (log.stats.role_usage or {}).items()})


def score_rows(log: Any, episodes: list[Episode], args: Arguments) -> list[report.Row]:
    """Rows of mean score and CAR: each case is the mean over its epochs; an epoch without a grade earns no full credit."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    full: defaultdict[str, float] = defaultdict(float)
    for sample in log.samples:
        score = sample.scores["task_grade"].value
        if isinstance(score, dict):
            values[sample.id].append(score["value"])
            full[sample.id] += score["full"] / args.epochs
    origins = {episode.id: episode.task.origin for episode in episodes}
    means = {id: sum(found) / len(found) for id, found in values.items()}
    found = {
        "mean_score": interval(list(means.values()), [1.0] * len(means), [origins[id] for id in means]),
        "car": interval([full[id] for id in origins], [1.0] * len(origins), list(origins.values())),
        "coverage": interval([len(values[id]) / args.epochs for id in origins], [1.0] * len(origins), list(origins.values())),
    }
    agent = "executor" if args.agent is None else f"{args.agent.kind} {args.agent.model or args.agent.base}"
    arm = "tracker" if args.condition == "tracker" else report.NO_ARM
    return [report.row(arm, args.condition, metric, one, agent) for metric, one in found.items()]


if __name__ == "__main__":
    main()
