"""Backends by description: errors name the field before any work is lost."""

from __future__ import annotations

import pytest

from intentfold.runtime.backends import Backends, Model


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "base: a model of kind in_process needs it"),
        ({"kind": "openai", "base_url": "http://x"}, "model: a model of kind openai needs it"),
        ({"kind": "oracle", "base": "x"}, "base: a model of kind oracle has none, got 'x'"),
        ({"kind": "openai", "base_url": "u", "model": "m", "adapter": "a"}, "adapter: a model of kind openai has none"),
    ],
)
def test_a_description_that_does_not_fit_its_kind(fields, message) -> None:
    with pytest.raises(ValueError, match=message):
        Model(**fields)


def test_what_must_be_there_before_any_work(tmp_path, monkeypatch) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert Model(base=str(tmp_path)).missing() == ""
    assert "must be a folder with config.json" in Model(base=str(tmp_path / "no")).missing()
    assert "must be a folder with adapter_config.json" in Model(base=str(tmp_path), adapter=str(tmp_path)).missing()
    served = Model(kind="openai", base_url="u", model="m", api_key_variable="NO_SUCH_KEY")
    assert "environment variable NO_SUCH_KEY is not set" in served.missing()
    monkeypatch.setenv("NO_SUCH_KEY", "k")
    assert served.missing() == ""


def test_one_base_serves_every_adapter(tmp_path) -> None:
    pytest.importorskip("torch")
    from tests.tiny import tiny_model

    base = str(tiny_model(tmp_path / "base"))
    backends = Backends(batch_size=2, dtype="float32", device="cpu", chat_template_kwargs={})
    first = backends.make(Model(base=base))
    assert backends.make(Model(base=base)) is first


def test_a_kind_that_yaml_reads_as_nothing_is_named() -> None:
    with pytest.raises(ValueError, match=r"kind must be one of .* \(in quotes in YAML\), got None"):
        Model(kind=None)  # type: ignore[arg-type]


def test_a_server_is_asked_as_many_at_a_time_as_a_batch_holds() -> None:
    backends = Backends(batch_size=7, dtype="float32", device="cpu", chat_template_kwargs={})
    assert backends.make(Model(kind="openai", base_url="http://x", model="m")).concurrency == 7  # type: ignore[attr-defined]


def test_what_samples_has_another_seed_in_every_epoch() -> None:
    sampled = Model(kind="openai", base_url="u", model="m", temperature=0.5, seed=4)
    assert [sampled.in_epoch(epoch).seed for epoch in (1, 2, 3)] == [4, 5, 6]
    assert Model(base="b", temperature=1.0).in_epoch(2).seed == 1
    assert Model(kind="lapsing", rate=0.1, seed=2).in_epoch(2).seed == 3
    assert Model(kind="openai", base_url="u", model="m", seed=4).in_epoch(2).seed is None
    assert Model(kind="oracle").in_epoch(2) == Model(kind="oracle")
