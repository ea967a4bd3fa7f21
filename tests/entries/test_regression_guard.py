"""The regression guard: its suites hold, an idle adapter leaves the text as it was, one that breaks its base is caught."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from intentfold.graders import grade
from intentfold.metrics.guard import TEXTS, answer_code, conclusion, executable_tasks, relative
from intentfold.metrics.statistics import paired
from intentfold.runtime.roles import Completion
from tests.tiny import script

SOLUTIONS = {
    "add(a, b)": "a + b", "double(x)": "2 * x", "is_even(n)": "n % 2 == 0", "last(items)": "items[-1]",
    "largest(numbers)": "max(numbers)", "reverse(text)": "text[::-1]", "count_a(text)": "text.count('a')",
    "shout(text)": "text.upper()", "total(numbers)": "sum(numbers)", "square(x)": "x ** 2", "length(items)": "len(items)",
    "absolute(x)": "abs(x)", "subtract(a, b)": "a - b", "multiply(a, b)": "a * b", "remainder(a, b)": "a % b",
    "whole_part(a, b)": "a // b", "negate(x)": "-x", "increment(x)": "x + 1", "cube(x)": "x ** 3", "half(x)": "x / 2",
    "is_odd(n)": "n % 2 == 1", "is_positive(x)": "x > 0", "is_multiple(a, b)": "a % b == 0", "maximum(a, b)": "max(a, b)",
    "minimum(a, b)": "min(a, b)", "distance(a, b)": "abs(a - b)", "is_equal(a, b)": "a == b",
    "clip(x)": "min(max(x, 0), 10)", "first(items)": "items[0]", "second(items)": "items[1]",
    "smallest(numbers)": "min(numbers)", "ascending(numbers)": "sorted(numbers)",
    "descending(numbers)": "sorted(numbers, reverse=True)", "backwards(items)": "items[::-1]",
    "average(numbers)": "sum(numbers) / len(numbers)", "doubled(numbers)": "[2 * x for x in numbers]",
    "squares(numbers)": "[x * x for x in numbers]", "evens(numbers)": "[x for x in numbers if x % 2 == 0]",
    "positives(numbers)": "[x for x in numbers if x > 0]", "without_first(items)": "items[1:]",
    "without_last(items)": "items[:-1]", "join_lists(a, b)": "a + b", "append(items, x)": "items + [x]",
    "is_in(items, x)": "x in items", "how_often(items, x)": "items.count(x)", "is_empty(items)": "len(items) == 0",
    "product(numbers)": "__import__('math').prod(numbers)", "up_to(n)": "list(range(1, n + 1))",
    "sum_up_to(n)": "n * (n + 1) // 2", "factorial(n)": "1 if n < 2 else n * factorial(n - 1)",
    "whisper(text)": "text.lower()", "letters(text)": "len(text)", "initial(text)": "text[0]", "final(text)": "text[-1]",
    "twice(text)": "text * 2", "glue(a, b)": "a + b", "words(text)": "text.split()", "strip(text)": "text.strip()",
    "no_spaces(text)": "text.replace(' ', '')", "palindrome(text)": "text == text[::-1]",
    "starts_with(text, start)": "text.startswith(start)", "greet(name)": "'Hello ' + name", "to_number(text)": "int(text)",
    "to_text(x)": "str(x)",
}  # fmt: skip


def solution(prompt: str) -> str:
    """The right answer to a task's prompt."""
    call = prompt.removeprefix("Write a Python function ").split(" that ")[0]
    return f"def {call}:\n    return {SOLUTIONS[call]}"


def test_every_task_gives_a_right_answer_full_credit_and_a_wrong_one_none() -> None:
    tasks = executable_tasks()
    assert len({prompt for _, prompt in tasks}) == len({task.id for task, _ in tasks}) == len(tasks) == len(SOLUTIONS)
    assert len(set(TEXTS)) == len(TEXTS)
    for task, prompt in tasks:
        assert f"function {task.id}(" in prompt
        assert grade(task, solution(prompt)).full, task.id
        assert not grade(task, f"{solution(prompt).splitlines()[0]}\n    return None").full, task.id


LOSSES = [
    # Tasks that the adapter loses and gains of all that the base solves, the verdict at the margin of the script.
    (0, 0, "equivalent"),
    (1, 1, "equivalent"),
    (2, 0, "equivalent"),
    (10, 0, "inferior"),
]


@pytest.mark.parametrize(("losses", "gains", "expected"), LOSSES)
def test_the_tasks_are_enough_for_their_margin(losses, gains, expected) -> None:
    size = len(executable_tasks())
    base = [0.0] * gains + [1.0] * (size - gains)
    adapter = [1.0] * (size - losses) + [0.0] * losses
    margin = script("eval/regression_guard.py").Arguments(base=Path("b"), adapter=Path("a"), out=Path("o")).task_margin
    assert paired(adapter, base, range(size), margin).verdict == expected


CONCLUSIONS = [
    (("equivalent", "non-inferior"), 0.5, "unhurt"),
    (("equivalent", "inconclusive"), 0.5, "not shown to be unhurt"),
    (("equivalent", "equivalent"), 0.1, "not shown to be unhurt"),
    (("inferior", "equivalent"), 0.0, "hurt: text"),
    (("inferior", "inferior"), 0.9, "hurt: text, tasks"),
]


@pytest.mark.parametrize(("verdicts", "solved", "expected"), CONCLUSIONS)
def test_what_the_suites_say_together(verdicts, solved, expected) -> None:
    assert conclusion(dict(zip(("text", "tasks"), verdicts, strict=True)), solved, 0.1) == expected


CODE = [
    ("def f(x):\n    return x", "def f(x):\n    return x"),
    ("Sure!\n```python\ndef f(x):\n    return x\n```\nIt works.\n```\nf(1)\n```", "def f(x):\n    return x\n"),
    ("Here it is: def f(x): return x", "def f(x): return x"),
    ("I cannot.", "I cannot."),
]


@pytest.mark.parametrize(("answer", "code"), CODE)
def test_the_code_in_an_answer(answer, code) -> None:
    assert answer_code(answer) == code


def test_relative_perplexity_is_a_geometric_mean() -> None:
    assert relative([2.0, 8.0], [1.0, 1.0]) == pytest.approx(4.0)
    assert relative([3.0], [3.0]) == pytest.approx(1.0)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    torch = pytest.importorskip("torch")
    from peft import LoraConfig, get_peft_model

    from intentfold.models import load
    from tests.tiny import tiny_model

    folder = tmp_path_factory.mktemp("guard")
    base = tiny_model(folder / "base")
    # A base must know something before it can be hurt: which letters are common.
    model, tokenizer = load(base)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for text in TEXTS * 3:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(base)
    for name, scale in (("idle", 0.0), ("broken", 500.0)):
        model = get_peft_model(load(base)[0], LoraConfig(r=4, target_modules=["down_proj"], task_type="CAUSAL_LM"))
        torch.manual_seed(1)
        for parameter_name, parameter in model.named_parameters():
            if "lora_B" in parameter_name:
                torch.nn.init.normal_(parameter, std=scale) if scale else torch.nn.init.zeros_(parameter)
        model.save_pretrained(folder / name)
    return folder


def run(folders, tmp_path, adapter: str, *more) -> dict[str, dict]:
    out = tmp_path / adapter
    flags = ["--base", folders / "base", "--adapter", folders / adapter, "--out", out, "--max_tokens", 4, *more]
    script("eval/regression_guard.py").main([*map(str, flags), "--dtype", "float32"])
    assert "Regression guard" in (out / "report.md").read_text()
    return {row["suite"]: row for row in json.loads((out / "results.json").read_text())}


def test_an_idle_adapter_and_a_broken_one(folders, tmp_path, capsys) -> None:
    idle = run(folders, tmp_path, "idle")
    assert idle["held_text"]["mean"] == pytest.approx(0.0, abs=1e-6)
    assert idle["held_text"]["verdict"] == "equivalent"
    # No task lost, but the base solves none that could be.
    assert idle["executable_tasks"]["verdict"] == "equivalent"
    assert idle["held_text"]["conclusion"] == "not shown to be unhurt"
    assert "cannot be lost by more than the margin" in capsys.readouterr().out
    broken = run(folders, tmp_path, "broken")
    assert broken["held_text"]["verdict"] == "inferior"
    assert broken["held_text"]["conclusion"] == "hurt: held_text"
    assert math.isfinite(broken["held_text"]["mde"])


def test_a_base_that_solves_the_tasks_is_unhurt_beside_itself_and_hurt_by_an_adapter_that_forgets_them(
    folders, tmp_path, monkeypatch
) -> None:
    from intentfold.runtime.in_process import InProcessBackend

    used = []
    use = InProcessBackend.use
    monkeypatch.setattr(InProcessBackend, "use", lambda self, adapter: (used.append(adapter), use(self, adapter))[1])

    def complete(self, prompts, max_tokens):
        knows = used[-1] is None or used[-1].name == "idle"
        return [Completion(solution(prompt[0].content) if knows else "I forgot.", 1, 1, True) for prompt in prompts]

    monkeypatch.setattr(InProcessBackend, "complete", complete)
    idle = run(folders, tmp_path, "idle")
    assert {name: row["verdict"] for name, row in idle.items()} == dict.fromkeys(("held_text", "executable_tasks"), "equivalent")
    assert idle["held_text"]["conclusion"] == "unhurt"
    broken = run(folders, tmp_path, "broken")
    assert broken["executable_tasks"]["verdict"] == "inferior"
    assert broken["held_text"]["conclusion"] == "hurt: held_text, executable_tasks"


def test_two_adapters_on_held_text_alone(folders, tmp_path, capsys) -> None:
    rows = run(folders, tmp_path, "idle", "--against", folders / "broken", "--executable", "false")
    assert rows.keys() == {"held_text"}
    assert rows["held_text"]["verdict"] == "superior"
    assert "that of the other adapter" in capsys.readouterr().out
    same = run(folders, tmp_path / "same", "broken", "--against", folders / "broken", "--executable", "false")
    assert same["held_text"]["mean"] == pytest.approx(0.0, abs=1e-6)
    # Both broke the base: no worse than another is not unhurt.
    assert same["held_text"]["conclusion"] == "hurts no more"


def test_log_likelihoods_are_those_of_the_model(folders) -> None:
    import torch

    from intentfold.runtime.in_process import InProcessBackend

    backend = InProcessBackend(folders / "base")
    ids = backend.tokenizer("abc")["input_ids"]
    with torch.inference_mode():
        logits = backend.model(torch.tensor([ids])).logits[0]
    expected = sum(math.log(float(torch.softmax(logits[n], -1)[ids[n + 1]])) for n in range(len(ids) - 1)) / (len(ids) - 1)
    assert backend.mean_logprobs(["abc"]) == pytest.approx([expected], abs=1e-5)
    with pytest.raises(ValueError, match="at least two tokens"):
        backend.mean_logprobs(["a"])
