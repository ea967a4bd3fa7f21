"""The closed loop through Inspect, where it is installed: scores, epochs, usage, and that a second start repeats nothing."""

from __future__ import annotations

import json

import pytest
import yaml

from intentfold.graders import Grade, grade
from intentfold.records import write_jsonl
from intentfold.runtime.backends import Model
from intentfold.runtime.roles import BackendError
from intentfold.runtime.scripted import CannedBackend
from tests.episodes import house, small_house
from tests.tiny import script

pytest.importorskip("inspect_ai")
pytestmark = pytest.mark.filterwarnings("ignore")  # other people's packages


@pytest.fixture
def main():
    return script("eval/inspect_loop.py").main


def write_config(folder, **changes: object) -> list[str]:
    write_jsonl(folder / "episodes.jsonl", [house("h1"), house("h2"), small_house("s1")])
    config = {"episodes": str(folder / "episodes.jsonl"), "out": str(folder / "logs"), "tracker": {"kind": "oracle"}, **changes}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return ["--config", str(folder / "config.yaml")]


def rows(folder) -> dict[str, dict]:
    return {row["metric"]: row for row in json.loads((folder / "logs" / "results.json").read_text())}


def log_of(folder):
    from inspect_ai.log import list_eval_logs, read_eval_log

    logs = [read_eval_log(info.name) for info in list_eval_logs(str(folder / "logs"))]
    return next(log for log in logs if log.status == "success")


def test_epochs_usage_and_a_second_start(main, tmp_path) -> None:
    config = write_config(tmp_path, epochs=3)
    main(config)
    found = rows(tmp_path)
    assert (found["mean_score"]["mean"], found["mean_score"]["n"], found["car"]["mean"]) == (1.0, 3, 1.0)
    log = log_of(tmp_path)
    assert len(log.samples) == len({(sample.id, sample.epoch) for sample in log.samples}) == 9
    # 6 + 6 + 3 folds in each of 3 epochs.
    assert log.stats.role_usage["tracker"].output_tokens > 0
    assert sum(event.event == "model" for sample in log.samples for event in sample.events) == 45
    asked = []
    complete, CannedBackend.complete = CannedBackend.complete, lambda *arguments: asked.append(arguments)
    try:
        main(config)
    finally:
        CannedBackend.complete = complete
    assert not asked
    assert rows(tmp_path) == found


def test_controls_need_no_tracker(main, tmp_path) -> None:
    main(write_config(tmp_path, condition="drift"))
    assert rows(tmp_path)["car"]["mean"] == pytest.approx(1 / 3)


def test_what_cannot_be_graded_is_unscored_and_what_fails_on_the_way_is_tried_again(main, tmp_path, monkeypatch) -> None:
    import intentfold.runtime.inspect_task as adapter

    monkeypatch.setattr(adapter, "grade", lambda task, a: Grade(None, False, "judge") if task.id == "h1" else grade(task, a))
    calls, complete = [], CannedBackend.complete

    def flaky(self, prompts, max_tokens):
        calls.append(prompts)
        if len(calls) == 2:
            raise BackendError("the server went away")
        return complete(self, prompts, max_tokens)

    monkeypatch.setattr(CannedBackend, "complete", flaky)
    main(write_config(tmp_path))
    found = rows(tmp_path)
    assert (found["mean_score"]["mean"], found["mean_score"]["n"]) == (1.0, 2)
    assert found["coverage"]["mean"] == pytest.approx(2 / 3)
    assert found["car"]["mean"] == pytest.approx(2 / 3)
    assert len(calls) > 15


def test_a_missing_model_ends_before_any_work(main, tmp_path) -> None:
    with pytest.raises(SystemExit, match=r"tracker: no/such must be a folder"):
        main(write_config(tmp_path, tracker={"base": "no/such"}))
    assert not (tmp_path / "logs").exists()


def test_a_folder_holds_one_run_and_says_what_made_it(main, tmp_path) -> None:
    main(write_config(tmp_path))
    assert yaml.safe_load((tmp_path / "logs" / "config.yaml").read_text())["epochs"] == 1
    assert (tmp_path / "logs" / "versions.json").is_file()
    main(write_config(tmp_path, concurrency=2))
    with pytest.raises(ValueError, match="epochs was 1, is 2"):
        main(write_config(tmp_path, epochs=2))


def test_an_adapter_of_another_codec_is_refused(main, tmp_path, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(Model, "missing", lambda self, codec=None: asked.append((self.kind, codec)) or "no")
    with pytest.raises(SystemExit, match="tracker: no"):
        main(write_config(tmp_path, codec="full"))
    assert asked == [("oracle", "full")]
