"""The closed loop's own cost with scripted roles: episodes under one condition, the loop per turn, and what logging adds.

    python scripts/bench_loop.py --episodes runs/demo/traces/test.jsonl --cases 500

Times are CPU seconds of this process, so that a busy machine changes them little; those of the sandbox, which lives on and
grades code and SQL, are not among them (scripts/bench_grading.py).
Bars: 500 episodes within 3 minutes on 2 cores, 2 ms a turn of the loop itself. Files with fewer episodes are gone through
again under other ids.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from intentfold.config import parse
from intentfold.graders import grade
from intentfold.metrics.state import fold_records
from intentfold.prompts.tracker import tracker_prompt
from intentfold.records import read_jsonl, write_jsonl
from intentfold.runtime.episodes import track, tracker_view
from intentfold.runtime.gate import answer_through_gate
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.scripted import ExecutorAgent, oracle_backend
from intentfold.trace import Episode


@dataclass(frozen=True)
class Arguments:
    """What to measure.

    Args:
        episodes: JSON lines of episodes
        cases: how many episodes are run
    """

    episodes: Path
    cases: int = 500


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    found = read_jsonl(args.episodes, Episode)
    episodes = [replace(found[n % len(found)], id=f"{found[n % len(found)].id}/{n}") for n in range(args.cases)]
    turns = sum(len(episode.turns) for episode in episodes)
    backend, agent = oracle_backend(episodes), ExecutorAgent()

    prompts = [tracker_prompt(e.turns[n - 1].state, e.drift(n)) for e in episodes for n in range(1, len(e.turns))]
    backend_cost = cpu_of(lambda: backend.complete([prompt for prompt in prompts if prompt in backend.texts], 256))
    folds = []
    tracking = cpu_of(lambda: folds.extend(track(episodes, backend)))
    views = [tracker_view(episode, own) for episode, own in zip(episodes, folds, strict=True)]
    answers: list[str] = []
    answering = cpu_of(lambda: answers.extend(one.answer for one in answer_through_gate(agent, views)))
    grading = cpu_of(lambda: [grade(e.task, answer) for e, answer in zip(episodes, answers, strict=True)])
    with tempfile.TemporaryDirectory() as folder:
        journaled = JournaledBackend(backend, Journal(Path(folder) / "completions.jsonl"))
        logged = cpu_of(lambda: track(episodes, journaled))
        records = cpu_of(lambda: write_jsonl(Path(folder) / "folds.jsonl", fold_records(episodes, folds)))

    loop = tracking + answering - backend_cost
    print(f"{args.cases} episodes, {turns} turns; CPU seconds")
    print(
        f"tracking {tracking:.1f}, answers and gate {answering:.1f}, grading {grading:.1f}: {tracking + answering + grading:.1f}"
    )
    print(f"the loop itself, without the scripted tracker and the grades: {1000 * loop / turns:.3f} ms a turn")
    journal, kept = 1000 * (logged - tracking) / turns, 1000 * records / turns
    print(f"logging adds {journal:.3f} ms a turn (journal of completions) and {kept:.3f} (fold records, written at the end)")


def cpu_of(work: Callable[[], object]) -> float:
    """CPU seconds that the work takes."""
    before = time.process_time()
    work()
    return time.process_time() - before


if __name__ == "__main__":
    main()
