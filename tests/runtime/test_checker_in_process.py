"""The checker on a local model: many questions about one output share their trunk, and probabilities are the model's own."""

# ruff: noqa: E402
from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from intentfold.asset import ContextualIntent, Requirement
from intentfold.codec.verdict import VERDICTS
from intentfold.dialogue import File, Output, Turn, to_messages
from intentfold.prompts.checker import checker_prompt, checker_trunk
from intentfold.runtime.checker import Checker, ModelJudge, probabilities
from intentfold.runtime.in_process import InProcessBackend
from intentfold.runtime.journal import Journal, journaled
from intentfold.runtime.roles import Scorer
from intentfold.runtime.scripted import CannedBackend
from tests.tiny import ROOT, tiny_model

DIALOGUE = (Turn("user", "Write it."),)
REAL = ROOT / "models" / "smollm2-135m-instruct"


def questions(count: int, output: Output) -> list:
    prompts = []
    for n in range(count):
        intent = ContextualIntent(2 * n + 1, f"Because of {n}.", (Requirement(2 * n + 2, f"Number {n} is there."),))
        prompts.append(checker_prompt(DIALOGUE, output, intent, intent.parts[0]))
    return prompts


@pytest.fixture(scope="module")
def backend(tmp_path_factory) -> InProcessBackend:
    return InProcessBackend(tiny_model(tmp_path_factory.mktemp("tiny")), batch_size=32)


def counted(backend: InProcessBackend, work) -> int:
    """How many tokens pass through the model's embedding during `work`."""
    seen = 0

    def count(module, inputs, output) -> None:
        nonlocal seen
        seen += inputs[0].numel()

    hook = backend.model.get_input_embeddings().register_forward_hook(count)
    try:
        work()
    finally:
        hook.remove()
    return seen


OPTIONS = list(VERDICTS.values())


@pytest.mark.parametrize("scored", [False, True])
def test_twenty_questions_about_a_long_output_compute_at_most_an_eighth(backend: InProcessBackend, scored: bool) -> None:
    """An output of 2,000 tokens, branches of at most 100 (the tiny tokenizer's tokens are bytes)."""
    output = Output("Done.", files=(File("a.md", "x" * 1920),))
    prompts = questions(20, output)
    rows = [backend.prompt_ids(prompt) for prompt in prompts]
    trunk = checker_trunk(DIALOGUE, output)
    assert len(trunk) <= 2000
    assert max(len(row) for row in rows) - len(trunk) <= 300  # the chat template's own words among them
    assert all(len(prompt[1].content) - len(trunk) <= 100 for prompt in prompts)

    def work(some) -> None:
        backend.complete_scored(some, 1, OPTIONS) if scored else backend.complete(some, 1)

    apart = sum(counted(backend, lambda prompt=prompt: work([prompt])) for prompt in prompts)
    together = counted(backend, lambda: work(prompts))
    assert together <= apart / 8, (together, apart)
    if scored:  # the probabilities are read on the way: no token more
        assert together == counted(backend, lambda: backend.complete(prompts, 1))


def test_questions_about_several_outputs_find_together_in_any_order(backend: InProcessBackend, tmp_path: Path) -> None:
    outputs = [Output("Done.", files=(File("a.md", letter * 900),)) for letter in "xyz"]
    prompts = [prompt for output in outputs for prompt in questions(8, output)]
    random.Random(1).shuffle(prompts)
    served = journaled(backend, Journal(tmp_path / "completions.jsonl"), chunk=16)
    assert isinstance(served, Scorer)
    seen = counted(backend, lambda: served.complete_scored(prompts, 1, OPTIONS))
    rows = [backend.prompt_ids(prompt) for prompt in prompts]
    trunk, own = len(checker_trunk(DIALOGUE, outputs[0])), max(map(len, rows)) - len(checker_trunk(DIALOGUE, outputs[0]))
    # Three trunks, each once, and what each question has of its own.
    assert seen <= 3 * (trunk + own) + 24 * own
    assert seen < sum(map(len, rows)) / 3
    alone = [backend.complete_scored([prompt], 1, OPTIONS)[0] for prompt in prompts]
    for one, other in zip(served.complete_scored(prompts, 1, OPTIONS), alone, strict=True):
        assert (one.text, one.prompt_tokens) == (other.text, other.prompt_tokens)
        assert one.option_logprobs == pytest.approx(other.option_logprobs, abs=1e-4)


def test_probabilities_are_those_of_each_prompt_alone(backend: InProcessBackend) -> None:
    prompts = [*questions(3, Output("Fine.")), *questions(2, Output("Something else, and longer."))]
    together = backend.complete_scored(prompts, 3, OPTIONS)
    assert [one.text for one in together] == [one.text for one in backend.complete(prompts, 3)]
    for prompt, completion in zip(prompts, together, strict=True):
        found = probabilities(completion)
        ids = torch.tensor([backend.prompt_ids(prompt)])
        with torch.inference_mode():
            logits = backend.model(input_ids=ids).logits[0, -1]
        first = [backend.tokenizer(text, add_special_tokens=False)["input_ids"][0] for text in VERDICTS.values()]
        assert found == pytest.approx(tuple(torch.softmax(logits[first], -1).tolist()), abs=1e-5)
        assert sum(found) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="options must begin with different tokens"):
        backend.complete_scored(prompts, 1, ["met", "me"])


class Writes:
    """Writes one text, whatever the model behind thinks, and tells what it thinks."""

    def __init__(self, backend: InProcessBackend, text: str) -> None:
        self.backend, self.text, self.name = backend, text, "writes"

    def complete(self, prompts, max_tokens):
        return [replace(one, text=self.text) for one in self.backend.complete(prompts, max_tokens)]

    def complete_scored(self, prompts, max_tokens, options):
        return [replace(one, text=self.text) for one in self.backend.complete_scored(prompts, max_tokens, options)]


def test_a_threshold_decides_between_verdicts_and_not_about_nonsense(backend: InProcessBackend) -> None:
    output = Output("Fine.")
    intents = [ContextualIntent(1, "Why.", (Requirement(2, "It is there."),))]

    def verdict(text: str, threshold: float) -> str | None:
        judge = ModelJudge(Writes(backend, text), threshold=threshold, max_tokens=2)
        return Checker(judge, intents).check(output).findings[0].verdict

    assert verdict("met", 0.0) == "unmet"
    assert verdict("unmet: it is not", 2.0) in ("met", "not_applicable")
    assert verdict("lorem ipsum", 0.0) is None
    assert verdict("lorem ipsum", 2.0) is None
    with pytest.raises(ValueError, match="the backend canned gives no probabilities"):
        ModelJudge(CannedBackend({}, name="canned"), threshold=0.5)


@pytest.mark.skipif(not (REAL / "tokenizer.json").is_file(), reason="no SmolLM2 here")
def test_the_trunk_is_a_token_prefix_of_every_branch_and_verdicts_begin_apart() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(REAL)
    output = Output("Done.", files=(File("a.md", "# Title\nSome text.\n"),))
    for trunk_output in (output, Output("x"), Output("Ends with a space ")):
        prompts = questions(4, trunk_output)
        rows = [
            tokenizer.apply_chat_template(to_messages(prompt), add_generation_prompt=True, return_dict=False)
            for prompt in prompts
        ]
        bare = (prompts[0][0], Turn("user", checker_trunk(DIALOGUE, trunk_output)))
        end = tokenizer("<|im_end|>\n", add_special_tokens=False)["input_ids"]
        trunk = tokenizer.apply_chat_template(to_messages(bare), return_dict=False)[: -len(end)]
        # The line break that ends the trunk may be one token with what follows: all but it is shared.
        assert all(row[: len(trunk) - 1] == trunk[:-1] for row in rows)
    firsts = [tokenizer(text, add_special_tokens=False)["input_ids"][0] for text in VERDICTS.values()]
    assert len(set(firsts)) == 3
