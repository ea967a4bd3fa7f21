"""The shape of built sets against a table worked by hand, and overlaps that were not declared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from intentfold.construct.sets import MACRO, origins, overlaps, shapes
from intentfold.records import write_jsonl
from intentfold.trace import Episode
from tests.episodes import house
from tests.tiny import script

main = script("data_gen/describe_sets.py").main


def story(name: str, family: str = "one", turns: int | None = None) -> Episode:
    episode = house(name)
    task = replace(episode.task, family=family, origin=name)
    return replace(episode, id=name, task=task, turns=episode.turns[: turns or len(episode.turns)])


def test_means_by_family_and_every_family_weighs_the_same() -> None:
    whole = len(story("a").turns)
    found = {shape.family: shape for shape in shapes("set", [story("a"), story("b", turns=1), story("c", "two", turns=1)])}
    assert found["one"].turns == (whole + 1) / 2 and found["two"].turns == 1
    assert found[MACRO].turns == (found["one"].turns + 1) / 2, "not the mean of all three dialogues"
    assert (found["one"].dialogues, found[MACRO].origins) == (2, 3)
    edits = [edit for episode in (story("a"), story("b", turns=1)) for turn in episode.turns for edit in turn.edits]
    assert found["one"].edits == len(edits) / 2
    assert found["one"].operations["ADD"] == sum(edit.op == "ADD" for edit in edits) / 2


def test_overlaps_are_of_family_and_origin() -> None:
    sets = {"x": origins([story("a"), story("b")]), "y": origins([story("a", "two"), story("b")])}
    assert overlaps(sets) == {("x", "y"): {("one", "b")}}


def run(folder: Path, **more: object) -> None:
    write_jsonl(folder / "x.jsonl", [story("a"), story("b")])
    write_jsonl(folder / "y.jsonl", [story("b"), story("c")])
    config = {"sets": {"x": [str(folder / "x.jsonl")], "y": [str(folder / "y.jsonl")]}, "out": str(folder / "out"), **more}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    main(["--config", str(folder / "config.yaml")])


def test_an_undeclared_overlap_or_a_wrong_size_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="x and y share 1 source tasks undeclared"):
        run(tmp_path)
    with pytest.raises(SystemExit, match="y: 3 source tasks wanted, 2 there"):
        run(tmp_path, declared={"by design": ["y", "x"]}, sizes={"x": 2, "y": 3})
    run(tmp_path, declared={"by design": ["y", "x"]}, sizes={"x": 2, "y": 2})
    assert json.loads((tmp_path / "out" / "overlaps.json").read_text()) == [{"origins": [["one", "b"]], "sets": ["x", "y"]}]
    assert "13.2" in (tmp_path / "out" / "report.md").read_text()


def test_the_folder_of_a_build_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "config.yaml").write_text("families: {tools: 3}\n")
    with pytest.raises(ValueError, match="was made with other arguments"):
        run(tmp_path, declared={"by design": ["y", "x"]})
    assert (tmp_path / "out" / "config.yaml").read_text() == "families: {tools: 3}\n"
