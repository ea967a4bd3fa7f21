"""The in-process backend on a tiny model, against plain generation."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from tests.tiny import tiny_hybrid, tiny_model

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from intentfold.runtime.in_process import InProcessBackend  # noqa: E402

PROMPTS = [(Turn("system", "Fold."), Turn("user", "abc " * n + "Edits:")) for n in (9, 1, 4, 1, 30, 2)]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """The tiny model with weights so loud that its outputs vary."""
    from transformers import AutoModelForCausalLM

    folder = tiny_model(tmp_path_factory.mktemp("base"))
    model = AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def hybrid(base, tmp_path_factory):
    """A tiny Qwen3.5, whose layers are partly linear attention."""
    return tiny_hybrid(base, tmp_path_factory.mktemp("hybrid"))


def adapter(base, folder, seed):
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    config = LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM")
    get_peft_model(AutoModelForCausalLM.from_pretrained(base), config).save_pretrained(folder)
    return folder


def plainly(backend, prompt, max_tokens):
    """One prompt at a time through `generate`."""
    ids = torch.tensor([backend.prompt_ids(prompt)])
    with torch.inference_mode():
        out = backend.model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=max_tokens, do_sample=False
        )
    return out[0, ids.shape[1] :].tolist()


@pytest.mark.parametrize(("model", "batch_size"), [("base", 1), ("base", 2), ("base", 6), ("hybrid", 1), ("hybrid", 6)])
def test_batches_equal_plain_generation(model, batch_size, request) -> None:
    backend = InProcessBackend(request.getfixturevalue(model), batch_size=batch_size)
    # Rows must end at different places for the batch to shrink: any byte of their outputs may be the stop token.
    stop = plainly(backend, PROMPTS[0], 12)[5]
    backend._stop = frozenset({stop})
    backend.model.generation_config.eos_token_id = stop
    expected = [plainly(backend, prompt, 12) for prompt in PROMPTS]
    assert len({len(ids) for ids in expected}) > 1
    found = backend.complete(PROMPTS, 12)
    assert [c.completion_tokens for c in found] == [len(ids) for ids in expected]
    assert [c.stopped for c in found] == [ids[-1] == stop for ids in expected]
    texts = [backend.tokenizer.decode(ids[:-1] if ids[-1] == stop else ids, skip_special_tokens=True) for ids in expected]
    assert [c.text for c in found] == texts


def test_adapters_switch_on_one_base(base, tmp_path) -> None:
    one, two = adapter(base, tmp_path / "one", 1), adapter(base, tmp_path / "two", 2)
    expected = {folder: [c.text for c in InProcessBackend(base, folder).complete(PROMPTS, 8)] for folder in (None, one, two)}
    assert len({tuple(texts) for texts in expected.values()}) == 3
    backend = InProcessBackend(base)
    names = set()
    for folder in (None, one, two, None, one):
        backend.use(folder)
        assert [c.text for c in backend.complete(PROMPTS, 8)] == expected[folder]
        names.add(backend.name)
    assert len(names) == 3


def test_other_weights_at_the_same_path_are_another_backend(base, tmp_path) -> None:
    folder = adapter(base, tmp_path / "a", 1)
    before = InProcessBackend(base, folder).name
    adapter(base, folder, 2)
    assert InProcessBackend(base, folder).name != before


def test_the_prompt_goes_through_the_chat_template(base) -> None:
    backend = InProcessBackend(base)
    text = backend.tokenizer.decode(backend.prompt_ids(PROMPTS[1]))
    assert text == "<|im_start|>system\nFold.<|im_end|>\n<|im_start|>user\nabc Edits:<|im_end|>\n<|im_start|>assistant\n"


def test_sampling_is_reproducible_for_a_seed_in_any_batch(base) -> None:
    backend = InProcessBackend(base, batch_size=4)
    greedy = [completion.text for completion in backend.complete(PROMPTS, 8)]
    backend.sample(1.0, 1)
    first = [completion.text for completion in backend.complete(PROMPTS, 8)]
    assert first != greedy
    assert "seed 1" in backend.name
    alone = [backend.complete([prompt], 8)[0].text for prompt in PROMPTS]
    assert alone == first
    backend.sample(1.0, 2)
    assert [completion.text for completion in backend.complete(PROMPTS, 8)] != first
    backend.sample(0.0, 0)
    assert [completion.text for completion in backend.complete(PROMPTS, 8)] == greedy


def test_vectors_are_mean_hidden_states(base) -> None:
    backend = InProcessBackend(base)
    vector, tokens = backend.embed("abc")
    ids = torch.tensor([backend.tokenizer("abc")["input_ids"]])
    assert tokens == ids.shape[1] == 3
    with torch.inference_mode():
        hidden = backend.model.model(input_ids=ids).last_hidden_state[0]
    assert vector == pytest.approx(((hidden[0] + hidden[1] + hidden[2]) / 3).tolist(), abs=1e-5)
    with pytest.raises(ValueError, match="at least one token"):
        backend.embed("")


def test_samples_follow_the_softmax(base) -> None:
    backend = InProcessBackend(base)
    row = backend.prompt_ids(PROMPTS[1])
    with torch.inference_mode():
        logits = backend.model(torch.tensor([row])).logits[0, -1]
    expected = torch.softmax(logits / 2.0, -1)
    counts = torch.zeros_like(expected)
    for seed in range(300):
        backend.sample(2.0, seed)
        [[token]] = backend._generate([row], 1, lambda logits, places: None)
        counts[token] += 1
    likely = int(expected.argmax())
    rate = float(expected[likely])
    assert abs(float(counts[likely]) / 300 - rate) < 4 * (rate * (1 - rate) / 300) ** 0.5
    assert int((counts > 0).sum()) > 3


def test_a_row_has_the_time_of_its_batch(base) -> None:
    found = InProcessBackend(base, batch_size=2).complete(PROMPTS[:4], 4)
    spans = sorted({completion.span for completion in found})
    assert len(spans) == 2
    assert spans[0][0] < spans[0][1] <= spans[1][0] < spans[1][1]
