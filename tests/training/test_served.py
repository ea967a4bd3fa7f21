"""The served teacher: its losses against naive ones and the in-process teacher's, and the proofs before the first step."""

# ruff: noqa: E402
from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from intentfold import models
from intentfold.runtime.roles import BackendError
from intentfold.runtime.scoring import TokenScorer
from intentfold.training.preflight import PreflightError
from intentfold.training.served import ServedTeacher, Watch, as_columns, clipped_policy_gradient, coarse_divergence
from intentfold.training.served_preflight import check_served, completion_logprobs, parity
from intentfold.training.teachers import LocalTeacher, TeacherPrompt, first_rows
from tests.served import ScoringServer, serving
from tests.tiny import tiny_model

BETAS = [0.0, 0.3, 1.0]


def whole(p, q, beta):
    """The divergence of distributions given as probabilities, a token after the other."""

    def kl(a, b):
        return sum(x * (math.log(x) - math.log(y)) for x, y in zip(a, b, strict=True) if x)

    mixed = [(1 - beta) * x + beta * y for x, y in zip(p, q, strict=True)]
    return {1.0: kl(p, q), 0.0: kl(q, p)}.get(beta, beta * kl(q, mixed) + (1 - beta) * kl(p, mixed))


def bucketed(probabilities, support):
    kept = [probabilities[id] for id in support]
    return [*kept, sum(probabilities) - sum(kept)]


def distributions(rows=6, vocabulary=12, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [(1.5 * torch.randn(rows, vocabulary, generator=generator)).log_softmax(-1) for _ in range(2)]


@pytest.mark.parametrize("beta", BETAS)
def test_the_loss_is_the_divergence_of_the_two_bucketed_by_hand_and_bounds_the_whole(beta):
    p, q = distributions()
    for row, sampled in enumerate([0, 3, 11, 5, 5, 2]):
        last = 0.0
        for k in (1, 4, 8, 11):
            support = list(dict.fromkeys([*q[row].topk(k).indices.tolist(), sampled]))
            ours, theirs = p[row, support][None], q[row, support][None]
            found = coarse_divergence(ours, theirs, beta).item()
            by_hand = whole(*(bucketed(each[row].exp().tolist(), support) for each in (p, q)), beta)
            assert found == pytest.approx(by_hand, rel=1e-5, abs=5e-6)
            assert last - 5e-6 <= found <= whole(p[row].exp().tolist(), q[row].exp().tolist(), beta) + 5e-6
            last = found
        assert last == pytest.approx(whole(p[row].exp().tolist(), q[row].exp().tolist(), beta), abs=2e-5)


def test_the_policy_gradient_is_expected_to_be_the_reverse_kls():
    logits = torch.randn(9, dtype=torch.float64, requires_grad=True)
    q = torch.randn(9, dtype=torch.float64).log_softmax(-1)
    p = logits.log_softmax(-1)
    reverse = (p.exp() * (p - q)).sum()
    (theirs,) = torch.autograd.grad(reverse, logits, retain_graph=True)
    expected = (p.exp().detach() * clipped_policy_gradient(p, q, p.detach(), 0.2)).sum()
    (ours,) = torch.autograd.grad(expected, logits)
    assert expected.item() == pytest.approx(reverse.item())
    assert torch.allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs", "before", "loss", "moves"),
    [
        (math.log(0.2), math.log(0.4), math.log(0.2), -math.log(2), True),  # as sampled: -A
        (math.log(0.3), math.log(0.4), math.log(0.2), -1.2 * math.log(2), False),  # liked and risen by half: held at 1.2
        (math.log(0.1), math.log(0.4), math.log(0.2), -0.5 * math.log(2), True),  # liked and fallen: pulled back
        (math.log(0.1), math.log(0.1), math.log(0.2), 0.8 * math.log(2), False),  # disliked and fallen: held at 0.8
        (math.log(0.3), math.log(0.1), math.log(0.2), 1.5 * math.log(2), True),  # disliked and risen: pushed down
    ],
)
def test_the_importance_ratio_is_clipped_on_the_side_that_has_gone_far_enough(ours, theirs, before, loss, moves):
    mine = torch.tensor([ours], requires_grad=True)
    found = clipped_policy_gradient(mine, torch.tensor([theirs]), torch.tensor([before]), 0.2)
    found.backward()
    assert found.item() == pytest.approx(loss, rel=1e-5)
    assert bool(mine.grad.abs() > 0) == moves


# The teacher as a whole, on a server whose numbers come from a tiny model


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    student, tokenizer = models.load(tiny_model(folder / "student"))
    teacher, _ = models.load(tiny_model(folder / "teacher", seed=7, layers=3))
    for model in (student, teacher):
        for parameter in model.parameters():
            parameter.data.mul_(3.0)  # far from uniform, as trained models are
    teacher.save_pretrained(folder / "teacher")
    generator = torch.Generator().manual_seed(1)
    rows = [(torch.randint(3, 250, (2, n), generator=generator)).tolist() for n in (9, 5, 14)]
    prompts, completions = [row[0] for row in rows], [[*row[1], tokenizer.eos_token_id] for row in rows]
    return SimpleNamespace(
        folder=folder, student=student, teacher=teacher, tokenizer=tokenizer, prompts=prompts, completions=completions
    )


def scorer(*urls):
    return TokenScorer(urls, "teacher", retries=0, timeout=20.0)


def served(world, url, k, **more):
    return ServedTeacher(TeacherPrompt(world.tokenizer, {}, "plain"), scorer(url), k=k, **more)


def mask(completions):
    longest = max(map(len, completions))
    return torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in completions])


def batch(world, columns):
    kept = mask(world.completions)
    ids = torch.tensor([[*ids, *[0] * (kept.size(1) - len(ids))] for ids in world.completions])
    return {"completion_mask": kept, "completion_ids": ids, **columns}


def hidden(world, model):
    """Last hidden states at the completions, row after row."""
    found = []
    for prompt, said in zip(world.prompts, world.completions, strict=True):
        found.append(model.model(torch.tensor([[*prompt, *said]])).last_hidden_state[0, len(prompt) - 1 : -1])
    return torch.cat(found)


def gradient(world, loss):
    world.student.zero_grad()
    loss.backward()
    found = torch.cat([p.grad.flatten() for p in world.student.parameters() if p.grad is not None])
    world.student.zero_grad()
    return found


@pytest.mark.parametrize("beta", BETAS)
def test_with_the_whole_vocabulary_value_and_gradient_are_the_in_process_teachers(world, beta):
    """Relative to their norm the gradients agree to 1e-4: float32, and tails that stand at 1e-6 at least."""
    trainer = SimpleNamespace(temperature=1.0, beta=beta)
    with serving(ScoringServer(world.teacher, world.tokenizer)) as url:
        remote = served(world, url, k=len(world.tokenizer))
        inputs = batch(world, remote.columns(world.prompts, world.completions))
    ours, entropy, count, ours_N = remote.divergence(trainer, world.student, hidden(world, world.student), inputs, 7)
    ours_gradient = gradient(world, ours)

    local = LocalTeacher(TeacherPrompt(world.tokenizer, {}, "plain"), model=world.teacher)
    local._hidden = lambda trainer, student, inputs: (world.teacher, hidden(world, world.teacher).detach())
    theirs, their_entropy, their_count, theirs_N = local.divergence(
        trainer, world.student, hidden(world, world.student), inputs, 7
    )
    their_gradient = gradient(world, theirs)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-4)
    assert entropy.item() == pytest.approx(their_entropy.item(), rel=1e-5)
    assert count == their_count == sum(map(len, world.completions))
    assert torch.allclose(ours_N, theirs_N, rtol=1e-3, atol=1e-6)
    assert (ours_gradient - their_gradient).norm() < 1e-4 * their_gradient.norm()
    assert their_gradient.norm() > 0.1
    assert torch.equal(remote.says(trainer, world.student, inputs), local.says(trainer, world.student, inputs))


@pytest.mark.parametrize("loss", ["divergence", "policy_gradient"])
def test_the_loss_over_few_tokens_is_the_naive_one(world, loss):
    trainer, k = SimpleNamespace(temperature=1.0, beta=1.0), 5
    with serving(ScoringServer(world.teacher, world.tokenizer)) as url:
        remote = served(world, url, k=k, loss=loss)
        inputs = batch(world, remote.columns(world.prompts, world.completions))
    found, _, count, each_N = remote.divergence(trainer, world.student, hidden(world, world.student), inputs, None)
    weights_N = torch.arange(1.0, 1.0 + count)
    weighted, *_ = remote.divergence(trainer, world.student, hidden(world, world.student), inputs, 7, weights_N)
    naive, outside = [], 0
    for prompt, said in zip(world.prompts, world.completions, strict=True):
        p, q = (completion_logprobs(model, prompt, said) for model in (world.student, world.teacher))
        for place, token in enumerate(said):
            support = set(q[place].topk(k).indices.tolist())
            outside += token not in support
            if loss == "policy_gradient":
                naive.append((p[place, token] - q[place, token]).item())
                continue
            support = sorted({*support, token})
            naive.append(whole(*(bucketed(each[place].double().exp().tolist(), support) for each in (p, q)), 1.0))
    assert outside > 3  # the sampled token is in the support all the same
    assert found.item() == pytest.approx(sum(naive) / len(naive), rel=1e-4)
    assert each_N.tolist() == pytest.approx(naive, rel=1e-3, abs=1e-5)
    assert weighted.item() == pytest.approx(sum(weight * one for weight, one in enumerate(naive, 1)) / 7, rel=1e-4)


def test_what_was_sampled_before_brings_its_importance_ratio(world):
    trainer = SimpleNamespace(temperature=1.0, beta=1.0)
    with serving(ScoringServer(world.teacher, world.tokenizer)) as url:
        remote = served(world, url, k=2, loss="policy_gradient")
        inputs = batch(world, remote.columns(world.prompts, world.completions))
    states = hidden(world, world.student).detach()
    now = world.student.get_output_embeddings()(states).log_softmax(-1)
    sampled = inputs["completion_ids"][inputs["completion_mask"].bool()]
    before = torch.full(inputs["completion_mask"].shape, -5.0)
    found, _, count, _ = remote.divergence(trainer, world.student, states, {**inputs, "sampled_logprobs": before}, None)
    naive = 0.0
    flat_ids = inputs["teacher_ids"][inputs["completion_mask"].bool()]
    flat = inputs["teacher_logprobs"][inputs["completion_mask"].bool()]
    for row, token, ids, logprobs in zip(now, sampled.tolist(), flat_ids.tolist(), flat.tolist(), strict=True):
        ratio, advantage = math.exp(row[token].item() + 5.0), dict(zip(ids, logprobs, strict=True))[token] + 5.0
        naive -= min(ratio * advantage, min(max(ratio, 0.8), 1.2) * advantage)
    assert found.item() == pytest.approx(naive / count.item(), rel=1e-4)


def test_ids_beyond_the_students_vocabulary_are_part_of_the_tail(world):
    rows = len(world.tokenizer)
    trainer = SimpleNamespace(temperature=1.0, beta=1.0)
    remote = served(world, "http://nowhere", k=2)
    states = hidden(world, world.student).detach()[:1]
    inputs = {"completion_mask": torch.tensor([[1]]), "completion_ids": torch.tensor([[5]])}
    padded = as_columns([[{rows + 3: math.log(0.6), 5: math.log(0.3), 6: math.log(0.05)}]], 2)
    found, *_ = remote.divergence(trainer, world.student, states, {**inputs, **padded}, None)
    p = world.student.get_output_embeddings()(states).softmax(-1)[0].tolist()
    naive = whole(bucketed(p, [5, 6]), [0.3, 0.05, 0.65], 1.0)
    assert found.item() == pytest.approx(naive, rel=1e-4)


def test_heads_padded_to_other_sizes_align_in_process():
    weight = torch.arange(12.0).view(6, 2)
    assert first_rows(weight, 6) is weight
    assert torch.equal(first_rows(weight, 4), weight[:4])
    assert first_rows(None, 4) is None


def test_a_temperature_is_refused(world):
    remote = served(world, "http://nowhere", k=2)
    with pytest.raises(PreflightError, match=r"temperature must be 1 with a served teacher, got 0\.7"):
        remote.divergence(SimpleNamespace(temperature=0.7, beta=1.0), world.student, None, {}, None)


def test_another_model_under_the_same_name_is_noticed(world):
    prompt, answer = world.prompts[0], world.completions[0]
    own = completion_logprobs(world.teacher, prompt, answer).gather(-1, torch.tensor(answer)[:, None])[:, 0].tolist()
    watch = Watch(prompt, answer, own, 1e-3)
    with serving(ScoringServer(world.teacher, world.tokenizer)) as url, serving(ScoringServer(world.student, None)) as other:
        teacher = ServedTeacher(TeacherPrompt(world.tokenizer, {}, "plain"), scorer(url, url), k=3, watch=watch)
        columns = teacher.columns(world.prompts, world.completions)
        plain = served(world, url, k=3).columns(world.prompts, world.completions)
        assert all(torch.equal(columns[name], plain[name]) for name in plain)
        teacher.scorer = scorer(url, other)
        with pytest.raises(BackendError, match=rf"^{other}: the same row's log-probabilities are .* another model answers"):
            teacher.columns(world.prompts, world.completions)


# Before the first step


def proved(world, *servers, tokenizer=None, k=4, tolerance=1e-3, max_length=100, weights=None):
    from contextlib import ExitStack

    with ExitStack() as stack:
        urls = [stack.enter_context(serving(server)) for server in servers]
        probes = list(zip(world.prompts, world.completions, strict=True))
        return check_served(
            scorer(*urls), tokenizer or world.tokenizer, probes, k=k, tolerance=tolerance, max_length=max_length, weights=weights
        )


def test_the_teacher_that_is_meant_passes_with_weights_and_without(world):
    watch = proved(world, ScoringServer(world.teacher, world.tokenizer))
    assert (watch.prompt, watch.completion) == (world.prompts[1], world.completions[1])
    logprobs = completion_logprobs(world.teacher, watch.prompt, watch.completion)
    assert watch.logprobs == pytest.approx([row[id].item() for row, id in zip(logprobs, watch.completion, strict=True)])
    two = [ScoringServer(world.teacher, world.tokenizer) for _ in range(2)]
    assert proved(world, *two, weights=world.folder / "teacher") == watch


def test_other_weights_than_those_at_hand_are_found(world):
    with pytest.raises(PreflightError, match=r"log-probabilities are \S+ off those of .*student"):
        proved(world, ScoringServer(world.teacher, world.tokenizer), weights=world.folder / "student")


def test_endpoints_must_agree(world):
    servers = ScoringServer(world.teacher, world.tokenizer), ScoringServer(world.student, world.tokenizer)
    with pytest.raises(PreflightError, match="must serve the same weights in the same dtype"):
        proved(world, *servers)


def test_a_server_that_scores_otherwise_than_it_writes_is_found(world):
    class Twisted(ScoringServer):
        def completion(self, body):
            answer = super().completion(body)
            if "prompt_logprobs" not in body:
                answer["choices"][0]["token_ids"] = [9] * body["max_tokens"]
            return answer

    with pytest.raises(PreflightError, match=r"writes token 9 greedily \(place 0\), but scores \d+ as likelier"):
        proved(world, Twisted(world.teacher, world.tokenizer))


def test_another_tokenizer_is_found_by_its_first_id(world, tmp_path):
    other = tiny_model(tmp_path / "other")
    config = json.loads((other / "tokenizer.json").read_text())
    vocabulary = config["model"]["vocab"]
    vocabulary["A"], vocabulary["B"] = vocabulary["B"], vocabulary["A"]
    (other / "tokenizer.json").write_text(json.dumps(config))
    _, twisted = models.load(other)
    first = min(vocabulary["A"], vocabulary["B"])
    with pytest.raises(PreflightError, match=rf"vocabularies: \[{first}\] is 'B' to the server, 'A' to the student"):
        proved(world, ScoringServer(world.teacher, twisted))


@pytest.mark.parametrize(
    ("cards", "said"),
    [
        ([{"id": "other"}], r"serves \['other'\], expected 'teacher'"),
        ([{"id": "teacher"}, {"id": "sft", "parent": "teacher"}], r"serves LoRA adapters \(sft\).*kill vLLM's engine"),
        ([{"id": "teacher", "max_model_len": 100}], "max_model_len is 100, and max_length 100 needs at least 101"),
    ],
)
def test_what_the_server_lists_must_fit(world, cards, said):
    with pytest.raises(PreflightError, match=said):
        proved(world, ScoringServer(world.teacher, world.tokenizer, cards=cards))


def test_a_low_cap_on_logprobs_says_how_to_start_the_server(world):
    with pytest.raises(BackendError, match="start vLLM with --max-logprobs 30 or more"):
        proved(world, ScoringServer(world.teacher, world.tokenizer, max_logprobs=20), k=30)


def test_parity_looks_at_every_id_that_came_back(world):
    def local(prompt, answer):
        return completion_logprobs(world.teacher, prompt, answer)

    probes = list(zip(world.prompts, world.completions, strict=True))
    with serving(ScoringServer(world.teacher, world.tokenizer)) as url:
        scores = scorer(url).score(world.prompts, world.completions, 4)
    assert parity(scores, probes, local) < 1e-5
    place = scores[2][3]
    place[list(place)[-1]] += 0.25
    assert parity(scores, probes, local) == pytest.approx(0.25, abs=1e-4)
