"""Imported dialogues from end to end: import, mine, evaluate by states; no other evaluation takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from intentfold.records import read_jsonl
from intentfold.trace import Episode
from tests.tiny import script

CITIES = [
    f"{first}{second}ville" for first in ("Alder", "Birch", "Cedar", "Elm") for second in ("", "north", "south", "east", "west")
]


def corpus(path: Path) -> Path:
    def message(text: str, **semi: str) -> dict:
        return {"text": text, "metadata": {"train": {"semi": semi, "book": {}}} if semi else {}}

    def dialogue(n: int, city: str) -> dict:
        log = [message(f"I leave from {city} as passenger number {n} of club {n * 7}."), message("When?", departure=city)]
        log += [message(f"On day {n} of the {city} fair, and not before noon."), message("Fine.", departure=city, day=f"day {n}")]
        return {"log": log}

    path.write_text(json.dumps({f"D{n}": dialogue(n, city) for n, city in enumerate(CITIES * 3)}))
    return path


def main(name: str, folder: Path, **config: object) -> None:
    path = folder / f"{Path(name).stem}.yaml"
    path.write_text(yaml.safe_dump(config))
    script(name).main(["--config", str(path)])


def test_import_mine_and_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = tmp_path / "traces"
    common = {"corpus": "multiwoz21", "data": str(corpus(tmp_path / "val.json"))}
    main("data_gen/import_dialogues.py", tmp_path, **common, out=str(traces), leak_budget=1.0)
    report = json.loads((traces / "report.json").read_text())
    assert sum(part["dialogues"] for part in report["counts"].values()) + sum(report["left"].values()) == 60
    assert report["counts"]["train"]["turns"] == 2 * report["counts"]["train"]["dialogues"]
    assert {episode.task.answer_form for episode in read_jsonl(traces / "train.jsonl", Episode)} == {"state"}
    main("data_gen/mine_examples.py", tmp_path, traces=str(traces), out=str(tmp_path / "examples"), splits=["train"])
    mined = len((tmp_path / "examples" / "train.jsonl").read_text().splitlines())
    assert mined == report["counts"]["train"]["turns"]

    arms = {"oracle": {"kind": "oracle"}, "none": {"kind": "null"}}
    path = str(traces / "train.jsonl")
    out = tmp_path / "run"
    main(
        "eval/state_tracking.py",
        tmp_path,
        dialogues=path,
        limit=12,
        out=str(out),
        arms=arms,
        comparisons={"gain": ["oracle", "none"]},
    )
    rows = {(row["arm"], row["metric"]): row for row in json.loads((out / "results.json").read_text())}
    assert rows["oracle", "exact_edits"]["mean"] == rows["oracle", "exact_final_state"]["mean"] == 1
    assert rows["none", "item_f1"]["mean"] == 0
    assert {row["protocol"] for row in rows.values()} == {"state-tracking"}
    assert not {"mean_score", "car", "idg"} & {metric for _, metric in rows}, "nothing is scored"
    assert json.loads((out / "comparisons.json").read_text())["gain, exact_final_state"]["verdict"] == "superior"

    with pytest.raises(ValueError, match=r"serves trackers alone.*eval/state_tracking\.py"):
        main("eval/closed_loop.py", tmp_path, episodes=path, limit=12, out=str(tmp_path / "loop"), arms=arms)


def test_a_corpus_without_a_dialogue_is_no_import(tmp_path: Path) -> None:
    (tmp_path / "val.json").write_text("{}")
    with pytest.raises(SystemExit, match="no dialogue"):
        main(
            "data_gen/import_dialogues.py",
            tmp_path,
            corpus="multiwoz21",
            data=str(tmp_path / "val.json"),
            out=str(tmp_path / "o"),
        )
    assert not (tmp_path / "o" / "report.json").exists()


def test_dialogues_that_leak_beyond_the_budget_are_refused(tmp_path: Path) -> None:
    twins = corpus(tmp_path / "val.json")
    data = json.loads(twins.read_text())
    twins.write_text(json.dumps({f"D{n}": data["D0"] for n in range(60)}))
    with pytest.raises(ValueError, match="leaks from the training part"):
        main("data_gen/import_dialogues.py", tmp_path, corpus="multiwoz21", data=str(twins), out=str(tmp_path / "out"))


def test_trackers_run_under_the_options_that_all_evaluations_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):  # the in-process backend has no float64
        main(
            "eval/state_tracking.py",
            tmp_path,
            dialogues="d",
            out=str(tmp_path / "o"),
            arms={"null": {"kind": "null"}},
            dtype="float64",
        )
    assert "dtype" in capsys.readouterr().err
