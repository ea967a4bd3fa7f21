"""The closed loop through Inspect, where it is installed: roles, epochs, usage, what fails, and that nothing is run twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from intentfold.graders import Grade, grade
from intentfold.records import write_jsonl
from intentfold.runtime.backends import Backends, Model
from intentfold.runtime.executor import execute
from intentfold.runtime.history import goal_items
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.scripted import CannedBackend
from tests.episodes import house, small_house
from tests.served import chat_server
from tests.tiny import script

pytest.importorskip("inspect_ai")
pytestmark = pytest.mark.filterwarnings("ignore")  # other people's packages
EPISODES = [house("h1"), house("h2"), small_house("s1")]


@pytest.fixture
def main():
    return script("eval/inspect_loop.py").main


def write_config(folder, episodes=EPISODES, **changes: object) -> list[str]:
    write_jsonl(folder / "episodes.jsonl", episodes)
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
    assert sum(event.event == "model" for sample in log.samples for event in sample.events) == 45
    usage = json.loads((tmp_path / "logs" / "usage.json").read_text())["tracker"]
    assert usage["output_tokens"] == log.stats.role_usage["tracker"].output_tokens > 0
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


class Played:
    """What each of five models says in the small house; `fails` says for which prompts a role's server is away."""

    def __init__(self, role: str, fails=lambda role, said: False) -> None:
        self.name, self.fails = role, fails

    def complete(self, prompts, max_tokens):
        return [self._say(prompt[-1].content) for prompt in prompts]

    def _say(self, said: str) -> Completion:
        if self.fails(self.name, said):
            raise BackendError("the server is away")
        text = getattr(self, self.name)(said)
        return Completion(text, len(said.split()), len(text.split()), True)

    def tracker(self, said: str) -> str:
        now = said.rpartition("User: ")[2]
        heard = {"Book me a house in a city: Lisbon., I say": "SET city: Lisbon", "Guests: 3., I say": "SET guests: 3"}
        return heard.get(now.strip(), "NONE")

    def simulator(self, said: str) -> str:
        return f"{said.rpartition('Say: ')[2]}, I say"

    def agent(self, said: str) -> str:
        if "Go ahead" not in said or "- guests: 3" not in said:
            return "Noted."
        task = small_house().task
        return execute(task, goal_items(task)).answer

    def judge(self, said: str) -> str:
        return "1-1\n2-2"

    def checker(self, said: str) -> str:
        return "unmet: too many" if "guests" in said.splitlines()[-1] else "met"


def roles(*names: str) -> dict[str, object]:
    return {role: {"kind": "in_process", "base": role} for role in names}


@pytest.fixture
def played(monkeypatch):
    def play(fails=lambda role, said: False):
        monkeypatch.setattr(Backends, "make", lambda self, model, *_: Played(model.base, fails))
        monkeypatch.setattr(Model, "missing", lambda self, codec=None, window=3: "")

    return play


def test_five_roles_each_with_its_usage(main, tmp_path, played) -> None:
    played()
    main(write_config(tmp_path, [small_house("s1")], **roles("tracker", "agent", "simulator", "checker", "judge")))
    found = rows(tmp_path)
    assert {name: row["mean"] for name, row in found.items()} == {
        "mean_score": 1.0, "coverage": 1.0, "car": 1.0, "judged_recovery": 1.0, "judged_recovery coverage": 1.0,
        "checker_passed": 0.0, "checker_passed coverage": 1.0,
    }  # fmt: skip
    assert found["car"]["condition"] == "tracker, simulated user"
    usage = json.loads((tmp_path / "logs" / "usage.json").read_text())
    assert set(usage) == {"tracker", "agent", "simulator", "checker", "judge"}
    assert all(used["input_tokens"] > 0 and used["output_tokens"] > 0 for used in usage.values())
    assert usage["tracker"]["output_tokens"] == 3 + 3 + 1
    [sample] = log_of(tmp_path).samples
    assert sample.scores["checker"].explanation == "guests: 3: too many"
    # The agent has heard the user in the user's own words, and answered each turn.
    said = [turn["content"] for turn in sample.store["outcome"]["dialogue"]]
    assert said == ["Book me a house in a city: Lisbon., I say", "Noted.", "Guests: 3., I say", "Noted.", "Go ahead., I say"]


def test_the_simulator_and_the_judge_are_not_the_agent(main, tmp_path, played) -> None:
    played()
    agents = roles("tracker", "agent") | {"judge": {"kind": "in_process", "base": "agent"}}
    with pytest.raises(ValueError, match="judge: must not be the tested agent itself"):
        main(write_config(tmp_path, [small_house("s1")], **agents))


def numbered(count: int):
    return [small_house(f"s{number}") for number in range(count)]


def test_a_judge_that_fails_on_a_twentieth_leaves_those_ungraded_and_the_rest_unchanged(main, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Model, "missing", lambda self, codec=None, window=3: "")
    make, asked = Backends.make, Counter()

    class Judge:
        name = "judge"

        def __init__(self, away: bool) -> None:
            self.away = away

        def complete(self, prompts, max_tokens):
            asked["judge"] += 1
            if self.away and asked["judge"] % 20 == 7:
                raise BackendError("502")
            return [Completion("1-1", 1, 1, True) for _ in prompts]

    found, scores = {}, {}
    for name, away in (("well", False), ("away", True)):
        asked.clear()
        (tmp_path / name).mkdir()
        monkeypatch.setattr(
            Backends, "make", lambda self, m, *rest, away=away: Judge(away) if m.base == "judge" else make(self, m, *rest)
        )
        main(write_config(tmp_path / name, numbered(40), **roles("judge")))
        found[name] = rows(tmp_path / name)
        scores[name] = {s.id: (s.scores["judge"].value, s.scores["task_grade"].value) for s in log_of(tmp_path / name).samples}
    assert asked["judge"] == 40  # a judge that is away is no reason to run the case again
    assert found["well"]["judged_recovery coverage"]["mean"] == 1.0
    assert found["away"]["judged_recovery coverage"]["mean"] == pytest.approx(0.95)
    assert (found["away"]["judged_recovery"]["n"], found["away"]["judged_recovery"]["mean"]) == (38, 0.5)
    for metric in ("mean_score", "car", "coverage"):
        assert found["away"][metric] == found["well"][metric]
    lost = [json.loads(line) for line in (tmp_path / "away" / "logs" / "ungraded.jsonl").read_text().splitlines()]
    assert [(one["score"], "502" in one["reason"]) for one in lost] == [("judge", True)] * 2
    rest = scores["well"].keys() - {one["episode"] for one in lost}
    assert len(rest) == 38
    assert {id: scores["away"][id] for id in rest} == {id: scores["well"][id] for id in rest}


def test_a_served_role_gets_its_settings_and_what_its_server_refuses_is_ungraded(main, tmp_path) -> None:
    with chat_server(lambda body: 400 if body["seed"] == 4 else "1-1\n2-2") as (url, requests):
        judge = {"kind": "openai", "base_url": url, "model": "j", "temperature": 0.5, "seed": 3}
        settings = {"judge": judge, "epochs": 2, "concurrency": 1, "chat_template_kwargs": {"enable_thinking": False}}
        main(write_config(tmp_path, numbered(2), **settings))
    assert {request["seed"] for request in requests} == {3, 4}
    assert {(r["model"], r["temperature"], r["chat_template_kwargs"]["enable_thinking"]) for r in requests} == {("j", 0.5, False)}
    found = rows(tmp_path)
    assert (found["judged_recovery"]["mean"], found["judged_recovery coverage"]["mean"]) == (1.0, 0.5)
    lost = [json.loads(line) for line in (tmp_path / "logs" / "ungraded.jsonl").read_text().splitlines()]
    assert [(one["epoch"], "refused" in one["reason"]) for one in lost] == [(2, True)] * 2


def test_what_cannot_be_graded_is_unscored_and_what_fails_on_the_way_is_tried_again(main, tmp_path, monkeypatch) -> None:
    import intentfold.metrics.case_scores as scores

    monkeypatch.setattr(scores, "grade", lambda task, a: Grade(None, False, "judge") if task.id == "h1" else grade(task, a))
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


def test_a_case_whose_server_stays_away_ends_no_other_and_is_all_that_a_second_start_runs(main, tmp_path, monkeypatch) -> None:
    asked, complete, away = Counter(), CannedBackend.complete, [True]

    def answered(self, prompts, max_tokens):
        small = "house in a city" in prompts[0][-1].content.rpartition("User: ")[2]
        asked["small" if small else "other"] += 1
        if away[0] and small:
            raise BackendError("503")
        return complete(self, prompts, max_tokens)

    monkeypatch.setattr(CannedBackend, "complete", answered)
    with pytest.raises(SystemExit, match="samples are missing; start again to go on"):
        main(write_config(tmp_path, retries=1))
    assert asked["small"] == 2  # once, and once again
    assert asked["other"] == 12
    away[0] = False
    asked.clear()
    main(write_config(tmp_path, retries=1))
    assert asked["other"] == 2  # the other two turns of the case that was missing
    assert rows(tmp_path)["car"]["mean"] == 1.0
    assert Counter(sample.id for sample in log_of(tmp_path).samples) == {"h1": 1, "h2": 1, "s1": 1}


KILLED = """
import os, sys
from intentfold.runtime.scripted import CannedBackend
from tests.tiny import script

complete, calls = CannedBackend.complete, []

def dying(self, prompts, max_tokens):
    calls.append(prompts)
    if len(calls) == 20:
        os._exit(9)
    return complete(self, prompts, max_tokens)

CannedBackend.complete = dying
script("eval/inspect_loop.py").main(sys.argv[1:])
"""


def test_a_killed_run_is_taken_up_and_no_case_is_run_twice(main, tmp_path, monkeypatch) -> None:
    (tmp_path / "whole").mkdir()
    # Three folds a case and epoch: the 20th call falls into the seventh of sixteen.
    settings = {"concurrency": 1, "epochs": 2, "tracker": {"kind": "lapsing", "rate": 0.4, "seed": 5}}
    main(write_config(tmp_path / "whole", numbered(8), **settings))
    config = write_config(tmp_path, numbered(8), **settings)
    root = Path(__file__).parent.parent.parent
    died = subprocess.run([sys.executable, "-c", KILLED, *config], cwd=root, capture_output=True, text=True, check=False)
    assert died.returncode == 9, died.stderr
    assert not (tmp_path / "logs" / "results.json").exists()
    calls, complete = [], CannedBackend.complete
    monkeypatch.setattr(CannedBackend, "complete", lambda self, p, m: calls.append(p) or complete(self, p, m))
    main(config)
    assert len(calls) == 3 * (16 - 6)
    samples = [(sample.id, sample.epoch) for sample in log_of(tmp_path).samples]
    assert sorted(samples) == sorted((f"s{n}", epoch) for n in range(8) for epoch in (1, 2))
    for file in ("results.json", "usage.json"):
        assert (tmp_path / "logs" / file).read_text() == (tmp_path / "whole" / "logs" / file).read_text()


def test_every_epoch_samples_with_a_seed_of_its_own(main, tmp_path) -> None:
    main(write_config(tmp_path, epochs=3, tracker={"kind": "lapsing", "rate": 0.5, "seed": 4}))
    log = log_of(tmp_path)
    seeds = {(s.epoch, event.config.seed) for s in log.samples for event in s.events if event.event == "model"}
    assert seeds == {(1, 4), (2, 5), (3, 6)}
    wrote = {sample.epoch: sample.store["outcome"]["written"] for sample in log.samples if sample.id == "h1"}
    assert len(set(map(tuple, wrote.values()))) > 1


def test_a_missing_model_ends_before_any_work(main, tmp_path) -> None:
    with pytest.raises(SystemExit, match=r"tracker: no/such must be a folder"):
        main(write_config(tmp_path, tracker={"base": "no/such"}))
    assert not (tmp_path / "logs").exists()


BAD = [
    ({"simulator": {"base": "x"}}, "simulator: talks to a model in the role of the agent"),
    ({"agent": {"base": "x"}, "simulator": {"base": "y"}, "condition": "drift"}, "simulator: talks to a model"),
    ({"judge": {"base": "x"}, "condition": "clean"}, "judge: matches what a tracker holds"),
    ({"checker": {"kind": "oracle"}}, "checker: a oracle tracker answers nothing else"),
    ({"retries": -1}, "retries must be at least 0"),
    ({"batch_size": 8}, "batch_size: Inspect asks a model for one prompt at a time"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_arguments_are_named(main, tmp_path, capsys, changes, message) -> None:
    with pytest.raises(SystemExit):
        main(write_config(tmp_path, **changes))
    assert message in capsys.readouterr().err


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
