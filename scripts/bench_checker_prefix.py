"""Many requirements against one long output: what the checker computes, in process and behind a vLLM server's prefix cache.

    python scripts/bench_checker_prefix.py      (after make install-vllm)

Prints the tokens that separate requests compute (every prompt's own), those that were computed, and the share. In process they
are counted at the embedding; the server's own counters tell how many prompt tokens it looked up and how many it had.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from intentfold.asset import ContextualIntent, Requirement
from intentfold.config import parse
from intentfold.dialogue import File, Output, Turn
from intentfold.prompts.checker import checker_prompt, checker_trunk
from intentfold.runtime.endpoints import beside_api
from intentfold.runtime.openai_api import OpenAIBackend
from intentfold.runtime.roles import Prompt
from intentfold.stages import Stages

ROOT = Path(__file__).parent.parent
DIALOGUE = (Turn("user", "Write the stock list."),)
COUNTERS = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total")


@dataclass(frozen=True)
class Arguments:
    """What to judge.

    Args:
        model: folder of the weights
        requirements: how many, each a question of its own
        tokens: of the output
        port: of the server
        out: folder of its log
    """

    model: Path = Path("models/smollm2-135m-instruct")
    requirements: int = 20
    tokens: int = 2000
    port: int = 8013
    out: Path = Path("runs/checker_prefix")


def main(argv: list[str] | None = None) -> None:
    args, stages = parse(Arguments, argv, __doc__), Stages(ROOT)
    from intentfold.runtime.in_process import InProcessBackend

    backend = InProcessBackend(args.model, batch_size=args.requirements)
    prompts = questions(backend, args)
    lengths = [len(backend.prompt_ids(prompt)) for prompt in prompts]
    branch = max(lengths) - len(backend.tokenizer(checker_trunk(DIALOGUE, long_output(backend, args.tokens)))["input_ids"])
    print(f"{len(prompts)} requirements, an output of {args.tokens} tokens, at most {branch} tokens of a prompt not of its trunk")
    show("in process", sum(lengths), counted(backend, prompts))
    serve = ("--served-model-name", "checker", "--max-model-len", "4096")
    with stages.serving("server", str(args.model), args.port, args.out / "server.log", *serve) as url:
        before = counters(url)
        answers = OpenAIBackend(url, "checker").complete(prompts, 1)
        looked_up, had = (now - then for now, then in zip(counters(url), before, strict=True))
    if looked_up != sum(answer.prompt_tokens for answer in answers):
        raise SystemExit(f"the server looked up {looked_up} tokens for prompts of {sum(one.prompt_tokens for one in answers)}")
    show("served", looked_up, looked_up - had)


def long_output(backend: Any, tokens: int) -> Output:
    """A list that is as long as that, to a line."""
    lines: list[str] = []
    while len(backend.tokenizer("\n".join(lines))["input_ids"]) < tokens:
        lines.append(f"{len(lines) + 1}. shelf {len(lines) * 7 % 90}: {len(lines) * 13 % 50} boxes")
    return Output("The list is done.", files=(File("stock.md", "\n".join(lines)),))


def questions(backend: Any, args: Arguments) -> list[Prompt]:
    output, prompts = long_output(backend, args.tokens), []
    for n in range(args.requirements):
        requirement = Requirement(2 * n + 2, f"Shelf {n} is on the list with its number of boxes.")
        intent = ContextualIntent(2 * n + 1, f"Shelf {n} is counted every week.", (requirement,))
        prompts.append(checker_prompt(DIALOGUE, output, intent, requirement))
    return prompts


def counted(backend: Any, prompts: list[Prompt]) -> int:
    """How many tokens pass through the model's embedding, for one token of every answer."""
    seen: list[int] = []
    hook = backend.model.get_input_embeddings().register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].numel()))
    backend.complete(prompts, 1)
    hook.remove()
    return sum(seen)


def counters(url: str) -> list[int]:
    """Prompt tokens that the server looked up in its prefix cache, and that it had, since it started."""
    with urlopen(beside_api(url, "/metrics")) as answer:
        text = answer.read().decode()
    return [int(sum(float(value) for value in re.findall(rf"^{name}\{{.*\}} (\S+)$", text, re.M))) for name in COUNTERS]


def show(where: str, apart: int, computed: int) -> None:
    print(f"{where}: {apart:,} tokens apart, {computed:,} computed, 1/{apart / computed:.1f}")


if __name__ == "__main__":
    main()
