"""Does an adapter hurt its base model's general skill? Perplexity on held text and small executable tasks, paired.

With `against`, does it hurt it more or less than another adapter does?

    python eval/regression_guard.py --config configs/eval/regression_guard/demo.yaml

Leaves results.json (a row a suite: verdict of the adapter against its base or `against`, with margin, mde and needed_n),
cases.jsonl, report.html and report.md. The suites are fixed and of our own writing; their scores mean nothing alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

from intentfold.config import check_same_run, parse, record_run
from intentfold.dialogue import Turn
from intentfold.graders import grade
from intentfold.metrics.document import Heading, Text
from intentfold.metrics.guard import TEXTS, answer_code, conclusion, executable_tasks, relative
from intentfold.metrics.page import comparison_blocks, file_links, write_document
from intentfold.metrics.statistics import paired, paired_means
from intentfold.models import InProcessOptions
from intentfold.records import canonical_json, to_json, write_jsonl, write_text


@dataclass(frozen=True, kw_only=True)
class Arguments(InProcessOptions):
    """One guard run.

    Args:
        base: folder of the base model
        adapter: folder of the adapter that may have hurt it
        out: folder that the run leaves
        against: folder of the adapter to compare with; the base alone by default
        executable: also run the executable tasks, not the held text alone
        text_margin: nats a token that the adapter may lose on held text
        task_margin: share of the executable tasks that it may lose
        max_tokens: most tokens of an answer
    """

    base: Path
    adapter: Path
    out: Path
    against: Path | None = None
    executable: bool = True
    text_margin: float = 0.05
    task_margin: float = 0.1
    max_tokens: int = 128
    batch_size: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.text_margin, self.task_margin) <= 0 or self.max_tokens < 1:
            raise ValueError("text_margin and task_margin must be above 0; max_tokens at least 1")


def main(argv: list[str] | None = None) -> None:
    args = parse(Arguments, argv, __doc__)
    needed = [(args.base, "config.json"), (args.adapter, "adapter_config.json")]
    needed += [] if args.against is None else [(args.against, "adapter_config.json")]
    for folder, file in needed:
        if not (folder / file).is_file():
            raise SystemExit(f"{folder} must be a folder with {file}")
    check_same_run(args.out, args)
    record_run(args.out, args)
    from intentfold.runtime.in_process import InProcessBackend

    backend = InProcessBackend(args.base, **args.in_process)
    tasks = executable_tasks() if args.executable else []
    logprobs: dict[str, list[float]] = {}
    right: dict[str, list[bool]] = {}
    cases: list[dict[str, Any]] = []
    other = "base" if args.against is None else "other adapter"
    for who, adapter in ((other, args.against), ("adapter", args.adapter)):
        backend.use(adapter)
        logprobs[who] = backend.mean_logprobs(TEXTS)
        answers = backend.complete([(Turn("user", prompt),) for _, prompt in tasks], args.max_tokens)
        grades = [grade(task, answer_code(answer.text)) for (task, _), answer in zip(tasks, answers, strict=True)]
        right[who] = [found.full for found in grades]
        cases += [{"who": who, "text": n, "logprob": value} for n, value in enumerate(logprobs[who])]
        for (task, _), answer, found in zip(tasks, answers, grades, strict=True):
            cases.append({"who": who, "task": task.id, "answer": answer.text, "grade": to_json(found)})

    # Higher is better in both: log-likelihood a token of each paragraph, and tasks solved.
    comparisons = {"held_text": paired_means(logprobs["adapter"], logprobs[other], range(len(TEXTS)), args.text_margin)}
    what = ""
    share = 1.0
    if tasks:
        full = {who: [float(one) for one in found] for who, found in right.items()}
        comparisons["executable_tasks"] = paired(full["adapter"], full[other], range(len(tasks)), args.task_margin)
        share = sum(full[other]) / len(tasks)
        what = (
            f" Of {len(tasks)} executable tasks the {other} solves {sum(right[other])} and the adapter {sum(right['adapter'])}."
        )
    ratio = relative([exp(-p) for p in logprobs["adapter"]], [exp(-p) for p in logprobs[other]])
    verdicts = {name: found.verdict for name, found in comparisons.items()}
    says = conclusion(verdicts, share, args.task_margin, against_adapter=args.against is not None)
    rows = [{"suite": name, "conclusion": says, **to_json(found)} for name, found in comparisons.items()]
    write_text(args.out / "results.json", canonical_json(rows) + "\n")
    write_jsonl(args.out / "cases.jsonl", cases)
    against = f"{args.base}" if args.against is None else f"{args.base}, against {args.against}"
    what = (
        f"{args.adapter} on {against}: {says}. "
        f"Perplexity on {len(TEXTS)} held paragraphs is {ratio:.3f} times that of the {other}.{what}"
    )
    if share <= args.task_margin:
        what += " So few of them cannot be lost by more than the margin: that suite says nothing here."
    nouns = {"held_text": "paragraphs", "executable_tasks": "tasks"}
    blocks = [Heading("Regression guard", 1), Text(what), *comparison_blocks(comparisons, (), nouns), *file_links(args.out)]
    write_document(args.out, "Regression guard", blocks)
    print(what)


if __name__ == "__main__":
    main()
