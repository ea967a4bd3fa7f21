"""The cache and attention of decoding give what the library's give, and copy nothing for each token."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from transformers import DynamicCache  # noqa: E402
from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: E402

from intentfold import models  # noqa: E402
from intentfold.runtime import cache as ours  # noqa: E402
from tests.tiny import tiny_model  # noqa: E402


@pytest.mark.parametrize("seed", range(5))
def test_rows_grow_leave_and_are_cut_as_in_the_library(tmp_path, seed):
    config = models.load(tiny_model(tmp_path))[0].config
    rng, chance = random.Random(seed), torch.Generator().manual_seed(seed)
    caches = ours.RoomyCache(config), DynamicCache(config=config)
    rows = 6
    for _ in range(40):
        act = rng.choice(("grow", "grow", "grow", "select", "crop"))
        if act == "select" and rows > 2:
            kept = torch.tensor(sorted(rng.sample(range(rows), rng.randint(rows - 1, rows))))
            rows = len(kept)
            for cache in caches:
                cache.batch_select_indices(kept)
        elif act == "crop" and caches[1].get_seq_length() > 3:
            for cache in caches:
                cache.layers[0].crop(-2)
        else:
            new = torch.randn(rows, 2, rng.choice((1, 1, 150)), 4, generator=chance)
            for a, b in zip(caches[0].update(new, -new, 0), caches[1].update(new, -new, 0), strict=True):
                assert torch.equal(a, b)
    assert caches[0].get_seq_length() == caches[1].get_seq_length() > 0


def test_a_token_is_written_where_there_is_room(tmp_path):
    cache = ours.RoomyCache(models.load(tiny_model(tmp_path))[0].config)
    first, _ = cache.update(torch.ones(2, 2, 5, 4), torch.ones(2, 2, 5, 4), 0)
    later = [cache.update(torch.zeros(2, 2, 1, 4), torch.zeros(2, 2, 1, 4), 0)[0] for _ in range(ours.ROOM + 1)]
    assert {keys.data_ptr() for keys in later[:-1]} == {first.data_ptr()}
    assert later[-1].data_ptr() != first.data_ptr()
    assert later[-1].shape == (2, 2, 6 + ours.ROOM, 4) and later[-1][:, :, :5].eq(1).all() and later[-1][:, :, 5:].eq(0).all()


@pytest.mark.parametrize(("rows", "heads", "key_heads"), [(1, 6, 2), (3, 9, 3), (4, 4, 4), (2, 8, 1)])
def test_groups_of_query_heads_attend_as_repeated_keys_do(rows, heads, key_heads, monkeypatch):
    chance = torch.Generator().manual_seed(heads)
    query, key, value = (
        torch.randn(rows, n, t, 16, generator=chance, dtype=torch.float64)
        for n, t in ((heads, 1), (key_heads, 11), (key_heads, 11))
    )
    mask = torch.rand(rows, 1, 1, 11, generator=chance) < 0.6
    mask[..., -1] = True
    module = SimpleNamespace(num_key_value_groups=heads // key_heads, is_causal=True)
    expected, _ = sdpa_attention_forward(module, query, key, value, mask, scaling=0.3)
    if heads > key_heads:
        monkeypatch.setattr(ours, "sdpa_attention_forward", None)  # the library's is not asked
    found, _ = ours._grouped(module, query, key, value, mask, scaling=0.3)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_the_model_attends_as_before_afterwards(tmp_path):
    model, _ = models.load(tiny_model(tmp_path))
    with pytest.raises(KeyError), ours.keys_uncopied(model):
        assert model.config._attn_implementation == ours.GROUPED
        raise KeyError
    assert model.config._attn_implementation == "sdpa"
