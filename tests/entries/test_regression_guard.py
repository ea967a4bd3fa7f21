"""The regression guard: its suites hold, an idle adapter leaves the text as it was, one that breaks its base is caught."""

from __future__ import annotations

import json
import math

import pytest

from intentfold.graders import grade
from intentfold.metrics.guard import TEXTS, answer_code, executable_tasks, relative

SOLUTIONS = {
    "add": "def add(a, b):\n    return a + b",
    "double": "def double(x):\n    return 2 * x",
    "is_even": "def is_even(n):\n    return n % 2 == 0",
    "last": "def last(items):\n    return items[-1]",
    "largest": "def largest(numbers):\n    return max(numbers)",
    "reverse": "def reverse(text):\n    return text[::-1]",
    "count_a": "def count_a(text):\n    return text.count('a')",
    "shout": "def shout(text):\n    return text.upper()",
    "total": "def total(numbers):\n    return sum(numbers)",
    "square": "def square(x):\n    return x ** 2",
    "length": "def length(items):\n    return len(items)",
    "absolute": "def absolute(x):\n    return abs(x)",
}


def test_every_task_gives_a_right_answer_full_credit_and_a_wrong_one_none() -> None:
    tasks = executable_tasks()
    assert {task.id for task, _ in tasks} == set(SOLUTIONS)
    assert len(set(TEXTS)) == len(TEXTS)
    for task, prompt in tasks:
        assert f"function {task.id}(" in prompt
        assert grade(task, SOLUTIONS[task.id]).full
        name = SOLUTIONS[task.id].splitlines()[0]
        assert not grade(task, f"{name}\n    return None").full


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


def run(folders, tmp_path, adapter: str) -> dict[str, dict]:
    from tests.tiny import script

    out = tmp_path / adapter
    flags = ["--base", folders / "base", "--adapter", folders / adapter, "--out", out, "--max_tokens", 4]
    script("eval/regression_guard.py").main([*map(str, flags), "--dtype", "float32"])
    assert "Regression guard" in (out / "report.md").read_text()
    return {row["suite"]: row for row in json.loads((out / "results.json").read_text())}


def test_an_idle_adapter_and_a_broken_one(folders, tmp_path, capsys) -> None:
    idle = run(folders, tmp_path, "idle")
    assert idle["held_text"]["mean"] == pytest.approx(0.0, abs=1e-6)
    assert idle["held_text"]["verdict"] == "equivalent"
    # Twelve tasks that the base does not solve either: nothing is shown.
    assert idle["executable_tasks"]["verdict"] == "inconclusive"
    assert idle["held_text"]["conclusion"] == "not shown to be unhurt"
    assert "cannot lose any" in capsys.readouterr().out
    broken = run(folders, tmp_path, "broken")
    assert broken["held_text"]["verdict"] == "inferior"
    assert broken["held_text"]["conclusion"] == "hurt: held_text"
    assert math.isfinite(broken["held_text"]["mde"])


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
