"""Thinking from end to end on small jobs: mining by every kind of teacher, training each role, agents alone."""

# ruff: noqa: E402
from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from intentfold.example import Example
from intentfold.prompts.stamp import StampError, check_stamp
from intentfold.prompts.templates import template_hash
from intentfold.records import read_jsonl, write_jsonl
from intentfold.runtime.roles import BackendError
from intentfold.training.preflight import PreflightError
from tests.episodes import house, small_house
from tests.served import Request, chat_server
from tests.tiny import script, tiny_checker_dataset, tiny_dataset, tiny_model, tiny_thoughts

RIGHT = '[{"name": "book", "arguments": {"city": "Lisbon", "guests": 3}}]'
SMALL = ["--rows_per_step", "4", "--micro_batch", "2", "--dtype", "float32", "--lora_r", "8", "--max_length", "2048"]
SMALL += ["--log_steps", "1"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    tiny_model(folder / "base")
    stories = [make(f"{make.__name__}{n}") for n in range(3) for make in (house, small_house)]
    write_jsonl(folder / "traces" / "train.jsonl", stories)
    write_jsonl(folder / "traces" / "dev.jsonl", stories[:2])
    tiny_checker_dataset(folder / "judgements", 4)
    return folder


def mine(world: Path, out: Path, *more: str) -> dict[str, list[Example]]:
    common = ["--source", str(world / "traces"), "--out", str(out), "--dtype", "float32"]
    script("data_gen/mine_rationales.py").main([*common, *more])
    return {split: read_jsonl(out / f"{split}.jsonl", Example) for split in ("train", "dev")}


def train(world: Path, data: Path, out: Path, *more: str) -> None:
    common = ["--base", str(world / "base"), "--thoughts", str(data), "--out", str(out), *SMALL, "--steps", "2"]
    script("train/thinking.py").main([*common, *more])


def test_scripted_mining_leaves_the_same_bytes_and_tells_what_it_kept(world: Path, tmp_path: Path) -> None:
    found = mine(world, tmp_path / "a")
    mine(world, tmp_path / "b")
    assert (tmp_path / "a" / "train.jsonl").read_bytes() == (tmp_path / "b" / "train.jsonl").read_bytes()
    assert [one.provenance.mining for one in found["train"]] == ["drift"] * 6 + ["clean"] * 6
    assert {one.provenance.codec for one in found["train"]} == {"answer+plain"}
    assert "Drafts of train: cases without any 0, kept 12, ungradable 0." in (tmp_path / "a" / "README.md").read_text()
    assert "tracker" not in (tmp_path / "a" / "README.md").read_text().split("```")[0]
    before = (tmp_path / "a" / "README.md").stat().st_mtime_ns
    mine(world, tmp_path / "a")
    assert (tmp_path / "a" / "README.md").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("role", "more", "codec", "rows"),
    [
        ("agent", ["--told", '["clean"]', "--style", "none"], "answer", 6),
        ("agent", ["--told", '["drift"]', "--style", "think", "--max_cases", "2"], "answer+think", 2),
        ("tracker", ["--codec", "full", "--window", "0"], "full+plain", 27),
    ],
)
def test_what_is_asked_for_is_mined(world: Path, tmp_path: Path, role: str, more: list[str], codec: str, rows: int) -> None:
    found = mine(world, tmp_path, "--role", role, *more)["train"]
    assert {one.provenance.codec for one in found} == {codec}
    assert len(found) == rows
    assert ("Think first" in found[0].messages[0].content) == codec.endswith("plain")


def served(url: str, **more: object) -> str:
    return json.dumps({"kind": "openai", "base_url": url, "model": "m", **more})


def test_a_served_teacher_is_sampled_and_sifted(world: Path, tmp_path: Path) -> None:
    def answer(body: Request) -> str:
        seed, last = body["seed"], body["messages"][-1]["content"]
        assert "[A note for you alone]\n- city: Lisbon\n- guests: 3\n[End of the note" in last
        return [f"So Lisbon.\nAnswer:\n{RIGHT}", f"As the note says.\nAnswer:\n{RIGHT}", "Porto.\nAnswer:\n[]", RIGHT][seed - 5]

    with chat_server(answer) as (url, requests):
        teacher = [
            "--teacher",
            served(url, temperature=0.8),
            "--samples",
            "4",
            "--keep",
            "2",
            "--seed",
            "5",
            "--shown",
            "state",
            "--max_tokens",
            "88",
        ]
        found = mine(world, tmp_path, *teacher)
    assert {one.thought for one in found["train"]} == {"So Lisbon."}
    assert {one.provenance.shown for one in found["train"]} == {"state"}
    assert {one.provenance.teacher for one in found["train"]} == {f"{url}#m at 0.8, seed 5"}
    # Prompts of the same words are asked once: two drifting stories, one clean request, and dev's are among train's.
    assert len(requests) == 4 * 3
    assert {(r["temperature"], r["max_tokens"]) for r in requests} == {(0.8, 88)}
    card = (tmp_path / "README.md").read_text()
    for reason in ("kept 12", "no end of the thought 12", "speaks of what it was shown 12", "wrong answer 12"):
        assert reason in card.split("Drafts of dev")[0]


def test_a_teacher_that_thinks_is_taken_by_its_thoughts(world: Path, tmp_path: Path) -> None:
    with chat_server(lambda body: f"<think>\nMine alone.\n</think>\n\n{RIGHT}") as (url, requests):
        found = mine(world, tmp_path, "--teacher", served(url, thinking="think"), "--style", "think")
    assert {one.thought for one in found["train"]} == {"Mine alone."}
    assert "First write how" not in requests[0]["messages"][0]["content"]


def test_a_teacher_that_dies_leaves_no_dataset_and_is_asked_for_the_rest_alone(world: Path, tmp_path: Path) -> None:
    left = [2]

    def dying(body: Request) -> str | int:
        left[0] -= 1
        return f"So.\nAnswer:\n{RIGHT}" if left[0] >= 0 else 400

    with chat_server(dying) as (url, requests):
        teacher = ["--teacher", served(url, temperature=1.0), "--batch_size", "1", "--samples", "2", "--keep", "2"]
        with pytest.raises(BackendError):
            mine(world, tmp_path / "killed", *teacher)
        assert not (tmp_path / "killed" / "README.md").exists()
        answered = len((tmp_path / "killed" / "completions.jsonl").read_text().splitlines())
        assert answered == 2
        left[0] = 1000
        requests.clear()
        mine(world, tmp_path / "killed", *teacher)
        assert len(requests) == 2 * 3 - answered
        mine(world, tmp_path / "whole", *teacher)
    for split in ("train", "dev"):
        files = (tmp_path / folder / f"{split}.jsonl" for folder in ("killed", "whole"))
        assert len({path.read_bytes() for path in files}) == 1


def test_an_in_process_teacher_that_cannot_write_leaves_an_error_not_a_dataset(world: Path, tmp_path: Path) -> None:
    teacher = json.dumps({"base": str(world / "base")})
    with pytest.raises(ValueError, match="no examples to write"):
        mine(world, tmp_path, "--teacher", teacher, "--max_tokens", "4", "--max_cases", "1")
    assert not (tmp_path / "README.md").exists()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--samples", "2"], "the scripted teacher has one draft"),
        (["--shown", "edits"], "the scripted teacher has one draft"),
        (["--teacher", '{"base": "x"}', "--samples", "2"], "a teacher without a temperature writes the same each time"),
        (["--teacher", '{"kind": "oracle"}'], "teacher: a oracle tracker answers nothing else"),
        (["--role", "tracker", "--style", "none"], "style: a tracker that does not think is mined by another script"),
        (["--role", "checker", "--told", "[clean]"], "told: only for role agent, got ['clean'] for a checker"),
        (["--role", "agent", "--codec", "full"], "codec: only for role tracker, got full for a agent"),
        (["--role", "checker", "--window", "0"], "window: only for role tracker, got 0 for a checker"),
        (["--keep", "0"], "samples, keep, max_tokens must be at least 1"),
    ],
)
def test_mining_is_told_what_makes_no_sense(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], reason: str
) -> None:
    with pytest.raises(SystemExit) as exit:
        mine(world, tmp_path, *more)
    assert exit.value.code == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("role", ["agent", "tracker", "checker"])
def test_each_role_learns_and_is_stamped(world: Path, tmp_path: Path, role: str) -> None:
    source = ["--source", str(world / "judgements")] if role == "checker" else []
    mine(world, tmp_path / "data", "--role", role, *source, "--max_cases", "6")
    train(world, tmp_path / "data", tmp_path / "run", "--role", role)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    codec = {"agent": "answer+plain", "tracker": "delta+plain", "checker": "verdict+plain"}[role]
    assert (metrics["role"], metrics["template"]) == (role, template_hash(codec))
    assert metrics["clean_rows"] == {"agent": 3}.get(role, 0)  # 0.3 of the rows, beside 6 drifting ones
    assert metrics["rows"] == {"agent": 9}.get(role, 6)
    check_stamp(tmp_path / "run" / "adapter", codec)
    with pytest.raises(StampError, match="but asked as a"):
        check_stamp(tmp_path / "run" / "adapter", codec.removesuffix("+plain"))


def test_a_cold_start_of_answers_goes_on_to_thoughts_and_no_other_role_does(world: Path, tmp_path: Path) -> None:
    mine(world, tmp_path / "answers", "--style", "none", "--told", '["clean"]')
    cold = ["--base", str(world / "base"), "--data", str(tmp_path / "answers"), "--role", "agent", *SMALL, "--steps", "1"]
    script("train/sft.py").main([*cold, "--out", str(tmp_path / "cold")])
    check_stamp(tmp_path / "cold" / "adapter", "answer")
    tiny_thoughts(tmp_path / "thoughts")
    train(world, tmp_path / "thoughts", tmp_path / "run", "--init_adapter", str(tmp_path / "cold" / "adapter"))
    tiny_dataset(tmp_path / "folds")
    other = ["--base", str(world / "base"), "--data", str(tmp_path / "folds"), *SMALL, "--steps", "1"]
    script("train/sft.py").main([*other, "--out", str(tmp_path / "tracker")])
    with pytest.raises(StampError, match="trained as a tracker"):
        train(world, tmp_path / "thoughts", tmp_path / "no", "--init_adapter", str(tmp_path / "tracker" / "adapter"))
    with pytest.raises(PreflightError, match="hold no thoughts"):
        train(world, tmp_path / "answers", tmp_path / "no")
    with pytest.raises(PreflightError, match="the examples are for the agent"):
        train(world, tmp_path / "thoughts", tmp_path / "no", "--role", "tracker")
    tiny_thoughts(tmp_path / "native", style="think")
    with pytest.raises(PreflightError, match="the chat template drops the reasoning"):
        train(world, tmp_path / "native", tmp_path / "no")
    assert not (tmp_path / "no" / "metrics.json").exists()


def test_the_share_of_clean_rows(tmp_path: Path) -> None:
    tiny_thoughts(tmp_path / "thoughts")
    examples = read_jsonl(tmp_path / "thoughts" / "train.jsonl", Example)
    mixed = script("train/thinking.py").mixed
    for share, rows in ((0.0, 0), (0.2, 2), (0.5, 8)):
        found = mixed(examples, share, random.Random(0))
        assert sum(one.provenance.mining == "clean" for one in found) == rows
        assert [one for one in examples if one in found] == found
    with pytest.raises(ValueError, match=r"clean_share: only an agent has clean requests, got 0.7 for a tracker"):
        script("train/thinking.py").Arguments(base=Path("b"), out=Path("o"), thoughts=Path("t"), role="tracker", clean_share=0.7)
    with pytest.raises(ValueError, match=r"clean_share: 0.7 beside 8 drifting examples takes 19 clean ones, the dataset has 8"):
        mixed(examples, 0.7, random.Random(0))


def test_opd_has_no_agent(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        script("train/opd.py").main(["--base", "b", "--out", str(tmp_path), "--steps", "1", "--role", "agent", "--data", "d"])
    assert "role" in capsys.readouterr().err


# Agents alone


def standalone(world: Path, out: Path, agents: dict[str, object], *more: str) -> list[dict[str, object]]:
    common = ["--episodes", str(world / "traces" / "dev.jsonl"), "--out", str(out), "--dtype", "float32"]
    script("eval/standalone.py").main([*common, "--agents", json.dumps(agents), *more])
    return json.loads((out / "results.json").read_text())


def test_agents_alone_before_and_after(world: Path, tmp_path: Path) -> None:
    def answer(body: Request) -> str:
        if body["model"] == "before":
            return RIGHT if len(body["messages"]) == 2 else "[]"  # right on clean requests alone
        if body["temperature"] and body["seed"] == 1:
            return "I go on and on"
        return f"Turn 1: Lisbon\nAnswer:\n{RIGHT}"

    with chat_server(answer) as (url, requests):
        before, after = (json.loads(served(url, model=name)) for name in ("before", "after"))
        agents = {"before": before, "after": after | {"thinking": "plain"}}
        pair = ["--comparisons", '{"gain": ["after", "before"]}', "--samples", "2", "--temperature", "0.5", "--max_tokens", "77"]
        rows = standalone(world, tmp_path, agents, *pair)
        asked = len(requests)
        assert {(r["temperature"], r["max_tokens"]) for r in requests} == {(0.0, 77), (0.5, 77)}
        (tmp_path / "results.json").unlink()
        assert standalone(world, tmp_path, agents, *pair) == rows  # from the journals
        assert len(requests) == asked
    found = {(r["arm"], r["condition"], r["metric"]): r["mean"] for r in rows}
    assert found["before", "clean", "mean_score"] == found["after", "clean", "mean_score"] == 1.0
    assert (found["before", "drift", "mean_score"], found["after", "drift", "mean_score"]) == (0.0, 1.0)
    assert (found["before", "drift", "avg@2"], found["after", "drift", "avg@2"]) == (0.0, 0.5)
    assert found["before", "drift", "idg"] == 1.0
    assert found["after", "drift", "unended_thoughts"] == pytest.approx(1 / 3)
    assert (found["after", "drift", "gain, greedy"], found["after", "drift", "gain, avg@2"]) == (1.0, 0.5)
    assert {r["protocol"] for r in rows} == {"standalone"}
    comparisons = json.loads((tmp_path / "comparisons.json").read_text())
    assert comparisons.keys() == {f"gain, {c}, {m}" for c in ("clean", "drift") for m in ("greedy", "avg@2")}
    assert comparisons["gain, drift, greedy"]["margin"] == 0.03
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    assert len(cases) == 2 * 2 * 3 * 2
    lost = [case for case in cases if not case["closed"]]
    assert {(case["arm"], case["run"], case["thought"]) for case in lost} == {("after", 2, "I go on and on")}
    assert "Agents alone" in (tmp_path / "report.md").read_text()


def test_a_tiny_model_thinks_alone_in_process(world: Path, tmp_path: Path) -> None:
    rows = standalone(world, tmp_path, {"tiny": {"base": str(world / "base"), "thinking": "plain"}}, "--max_tokens", "8")
    found = {(r["condition"], r["metric"]): r["mean"] for r in rows}
    assert found["drift", "unended_thoughts"] == 1.0
    assert found["drift", "mean_score"] == found["drift", "avg@3"] == 0.0


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--comparisons", '{"gain": ["a", "x"]}'], "comparisons.gain: expected two of the agents"),
        (["--conditions", '["drift"]'], "conditions: gaps are against clean"),
        (["--agents", '{"a": {"base": "x", "temperature": 1.0}}'], "agents.a: temperature and seed are this script's own"),
        (["--agents", '{"a": {"kind": "lapsing", "rate": 0.5}}'], "agents.a: a lapsing tracker answers nothing else"),
        (["--temperature", "0.0"], "temperature above 0"),
    ],
)
def test_the_evaluation_is_told_what_makes_no_sense(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], reason: str
) -> None:
    with pytest.raises(SystemExit) as exit:
        standalone(world, tmp_path, {} if "--agents" in more else {"a": {"base": "x"}}, *more)
    assert exit.value.code == 2
    assert reason in capsys.readouterr().err


def test_trackers_and_checkers_that_think_are_scored_by_their_own_scripts(world: Path, tmp_path: Path) -> None:
    arms = ["--arms", json.dumps({"tiny": {"base": str(world / "base"), "thinking": "plain"}}), "--dtype", "float32"]
    episodes = ["--episodes", str(world / "traces" / "dev.jsonl"), "--out", str(tmp_path / "loop"), "--max_tokens", "4"]
    script("eval/closed_loop.py").main([*arms, *episodes, "--teacher_forced", "false"])
    about = json.loads((tmp_path / "loop" / "about.json").read_text())
    assert about["rejected"]["tiny"] == {"the thought does not end": 9}  # a turn each
    asked = ["--examples", str(world / "judgements"), "--out", str(tmp_path / "checker"), "--splits", '["dev"]']
    script("eval/checker.py").main([*arms, *asked, "--max_tokens", "4"])
    rows = json.loads((tmp_path / "checker" / "results.json").read_text())
    assert {row["mean"] for row in rows if row["metric"] == "not_assessed"} == {1.0}
