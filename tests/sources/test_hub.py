"""Benchmarks from a hub become the files that the loaders read; without a network the error says what to do."""

from __future__ import annotations

import json
import re

import pytest

from intentfold.sources.hub import from_hub
from intentfold.sources.loading import SourceError
from intentfold.sources.real import load
from tests.tiny import script

ROWS = {
    "train": [{"question": "Ann has 3 boxes of 4 pens. How many pens?", "answer": "3*4=<<3*4=12>>12 pens\n#### 12"}],
    "test": [{"question": "Bo buys 5 hats at $6 each. What does he pay?", "answer": "5*6=<<5*6=30>>30\n#### 30"}],
}


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A dataset of rows as `datasets` reads it, here from a folder; nothing of it is cached outside the test."""
    folder = tmp_path / "org" / "sums"
    folder.mkdir(parents=True)
    for split, rows in ROWS.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    return folder


def test_rows_of_a_hub_are_loaded_as_upstream_files(hub, tmp_path) -> None:
    report = load("gsm8k", f"hub:{hub}")
    assert [task.payload["reference"]["answer"] for task in report.tasks] == ["12", "30"]
    (tmp_path / "gsm8k").mkdir()
    for split, rows in ROWS.items():
        (tmp_path / "gsm8k" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert report.tasks == load("gsm8k", tmp_path / "gsm8k").tasks
    (hub / "train.jsonl").unlink()
    assert load("gsm8k", f"hub:{hub}").tasks == report.tasks, "what was fetched is not fetched again"


def test_a_script_lays_it_down_for_builds(hub, tmp_path, capsys) -> None:
    script("scripts/get_benchmark.py").main(["--name", "gsm8k", "--hub", f"hub:{hub}", "--data", str(tmp_path / "data")])
    assert len(load("gsm8k", tmp_path / "data" / "gsm8k").tasks) == 2
    assert "2 tasks" in capsys.readouterr().out


def test_a_split_that_is_not_there_is_named(hub) -> None:
    (hub / "test.jsonl").unlink()
    with pytest.raises(SourceError, match=re.escape("without ['test']: got ['train']")):
        load("gsm8k", f"hub:{hub}")


@pytest.mark.parametrize("address", ["hub:", "hub:@v1", "hub:nobody/nothing@"])
def test_an_address_without_its_parts_is_refused(address, tmp_path) -> None:
    with pytest.raises(SourceError, match="expected hub:ORG/DATASET"):
        from_hub("gsm8k", address, tmp_path)


@pytest.mark.parametrize("name", ["gsm8k", "bfcl"])
def test_without_a_network_the_error_names_the_folder_to_give(name, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    with pytest.raises(
        SourceError, match=f"hub:nobody/nothing@v1: cannot be fetched .*give the folder that holds {name}'s files"
    ):
        from_hub(name, "hub:nobody/nothing@v1", tmp_path)
    assert not list(tmp_path.rglob("fetched"))
