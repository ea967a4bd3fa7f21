"""The scripts of learned assets on small jobs: histories, examples, SFT, checker and live evaluation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from intentfold.example import Example
from intentfold.metrics.checker import read_threshold
from intentfold.metrics.checker_report import METRICS
from intentfold.mining.card import dataset_hash
from intentfold.prompts.stamp import Stamp, StampError, write_stamp
from intentfold.records import RecordError, read_jsonl, write_jsonl
from intentfold.runtime.asset_store import AssetStore
from intentfold.trace import LearningHistory, Ledger
from tests.tiny import script, tiny_model

KEYS = {"arm", "condition", "metric", "mean", "low", "high", "n", "agent", "protocol", "judge"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    build(folder / "histories")
    mine(folder / "histories", folder / "examples", "--max_examples", "90", "--max_held_out", "30")
    return folder


def build(out: Path, *more: str) -> None:
    arguments = [
        "--out",
        str(out),
        "--users",
        "24",
        "--held_out_families",
        '["scheduling"]',
        "--histories",
        "1",
        "--workers",
        "1",
    ]
    script("data_gen/build_histories.py").main([*arguments, *more])


def mine(histories: Path, out: Path, *more: str) -> None:
    script("data_gen/mine_checker.py").main(["--histories", str(histories), "--out", str(out), *more])


def rows(folder: Path) -> dict[tuple[str, str, str], float | None]:
    found = json.loads((folder / "results.json").read_text())
    assert all(set(row) == KEYS for row in found)
    return {(row["arm"], row["condition"], row["metric"]): row["mean"] for row in found}


def test_histories_are_whole_and_their_private_side_lies_apart(world: Path) -> None:
    folder = world / "histories"
    report = (folder / "report.md").read_text()
    assert "| names a discrepancy |" in report
    assert "SWE-chat (LiveAsset, B.1)" in report
    splits = {}
    for split in ("train", "dev", "test", "held_out_family"):
        histories = read_jsonl(folder / f"{split}.jsonl", LearningHistory)
        ledgers = read_jsonl(folder / "private" / f"{split}.jsonl", Ledger)
        assert [ledger.history for ledger in ledgers] == [history.id for history in histories]
        splits[split] = histories
        text = (folder / f"{split}.jsonl").read_text()
        assert not any(r.explanation in text or r.requirement in text for ledger in ledgers for r in ledger.requirements)
    assert {history.family for history in splits["held_out_family"]} == {"scheduling"}
    assert not {h.user for h in splits["train"]} & {h.user for h in splits["test"]}
    assert "scheduling" not in {history.family for history in splits["train"]}


def test_a_build_is_the_same_bytes_and_is_not_mixed_with_another(world: Path, tmp_path: Path) -> None:
    build(tmp_path / "again")
    for name in ("train.jsonl", "private/test.jsonl", "report.json"):
        assert (tmp_path / "again" / name).read_bytes() == (world / "histories" / name).read_bytes()
    with pytest.raises(ValueError, match="seed was 0, is 1"):
        build(tmp_path / "again", "--seed", "1")


def test_examples_are_balanced_and_carded(world: Path) -> None:
    train = read_jsonl(world / "examples" / "train.jsonl", Example)
    assert len(train) == 90
    counts = [sum(one.completion.startswith(word) for one in train) for word in ("met", "unmet", "not applicable")]
    assert counts == [30, 30, 30]
    card = (world / "examples" / "README.md").read_text()
    assert "# Checker examples" in card
    assert dataset_hash(world / "examples") in card
    held = read_jsonl(world / "examples" / "held_out_family.jsonl", Example)
    assert {one.provenance.family for one in held} == {"scheduling"}
    assert {one.provenance.wording for one in held} == {"test"}
    test = read_jsonl(world / "examples" / "test.jsonl", Example)
    assert any("novel" in one.provenance.phenomena for one in test)
    assert not any("novel" in one.provenance.phenomena for one in train)


def test_learner_examples_are_mined_too(world: Path, tmp_path: Path) -> None:
    mine(world / "histories", tmp_path / "learner", "--role", "learner", "--splits", '["train"]')
    found = read_jsonl(tmp_path / "learner" / "train.jsonl", Example)
    histories = read_jsonl(world / "histories" / "train.jsonl", LearningHistory)
    assert len(found) == sum(len(history.corrections()) for history in histories)
    assert {one.provenance.codec for one in found} == {"asset"}
    assert "# Learner examples" in (tmp_path / "learner" / "README.md").read_text()


BAD = [
    ("data_gen/build_histories.py", ["--users", "0"], "must be at least 1"),
    ("data_gen/build_histories.py", ["--users", "3", "--families", '["cooking"]'], "unknown ['cooking']"),
    ("data_gen/build_histories.py", ["--users", "3", "--families", '["booking", "booking"]'], "each family once"),
    ("data_gen/build_histories.py", ["--users", "3", "--rates.fix", "0.9"], "together must be at most 1"),
    ("data_gen/build_histories.py", ["--users", "3", "--low", "5", "--high", "2"], "high at least low"),
    ("data_gen/mine_checker.py", ["--histories", "x", "--role", "judge"], "role"),
    ("data_gen/mine_checker.py", ["--histories", "x", "--foreign", "-1"], "foreign must not be negative"),
    ("eval/checker.py", ["--examples", "x", "--arms", '{"a": {"kind": "null"}}', "--runs", "0"], "runs"),
    (
        "eval/checker.py",
        ["--examples", "x", "--arms", '{"a": {"kind": "null"}}', "--most_false", "1.5"],
        "most_false must be in [0, 1)",
    ),
    (
        "eval/checker.py",
        ["--examples", "x", "--arms", '{"a": {"kind": "null"}}', "--comparisons", '{"macro_f1": ["a", "a"]}'],
        "comparisons: ['macro_f1'] already stand",
    ),
    ("eval/live_assets.py", ["--histories", "x", "--checkers", '{"a/b": null}'], "checkers: a name is made of letters"),
    (
        "eval/checker.py",
        ["--examples", "x", "--arms", '{"a": {"kind": "lapsing", "rate": 0.1}}'],
        "arms.a: a lapsing tracker",
    ),
    (
        "eval/live_assets.py",
        ["--histories", "x", "--checkers", '{"a": {"kind": "oracle"}}'],
        "checkers.a: a oracle tracker",
    ),
    ("eval/live_assets.py", ["--histories", "x", "--learner", "model"], "learner_model goes with learner 'model'"),
    ("eval/live_assets.py", ["--histories", "x", "--kinds", '["sideways"]'], "kinds"),
    (
        "eval/live_assets.py",
        ["--histories", "x", "--thresholds", '{"trained": "a.json"}'],
        "thresholds.trained: expected an in-process",
    ),
    ("eval/live_assets.py", ["--histories", "x", "--thresholds", '{"executed": "a"}'], "thresholds.executed: expected an in-"),
    ("eval/live_assets.py", ["--histories", "x", "--selector", "embedding"], "selector_model goes with selector"),
    ("eval/live_assets.py", ["--histories", "x", "--selector_model", '{"base": "b"}'], "selector_model goes with selector"),
]


@pytest.mark.parametrize(("path", "flags", "said"), BAD)
def test_bad_arguments_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, flags: list[str], said: str
) -> None:
    with pytest.raises(SystemExit) as end:
        script(path).main(["--out", str(tmp_path / "out"), *flags])
    assert end.value.code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("role", "stamped"), [("checker", "learner"), ("learner", "checker"), ("checker", "tracker")])
def test_an_adapter_of_another_role_is_refused_before_any_work(world: Path, tmp_path: Path, role: str, stamped: str) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    for folder, name in ((tmp_path, "config.json"), (adapter, "adapter_config.json")):
        (folder / name).write_text("{}")
    write_stamp(adapter, Stamp(stamped, "0123456789abcdef"))  # type: ignore[arg-type]
    model = json.dumps({"base": str(tmp_path), "adapter": str(adapter)})
    flags = {
        "checker": ["--checkers", f'{{"trained": {model}}}'],
        "learner": ["--learner", "model", "--learner_model", model],
    }
    arguments = ["--histories", str(world / "histories"), "--out", str(tmp_path / "out"), *flags[role]]
    with pytest.raises(StampError, match=f"trained as a {stamped} .* but asked as a {role}"):
        script("eval/live_assets.py").main(arguments)
    assert not (tmp_path / "out").exists()


def test_examples_of_another_role_or_template_are_refused(world: Path, tmp_path: Path) -> None:
    examples = read_jsonl(world / "examples" / "dev.jsonl", Example)
    for field, value in (("codec", "asset"), ("template", "0123456789abcdef")):
        folder = tmp_path / field
        other = replace(examples[1], provenance=replace(examples[1].provenance, **{field: value}))
        write_jsonl(folder / "dev.jsonl", [examples[0], other])
        arguments = ["--examples", str(folder), "--out", str(tmp_path / f"out {field}"), "--arms", '{"a": {"kind": "null"}}']
        with pytest.raises(RecordError, match=rf"dev.jsonl:2: expected codec verdict, template .*{value}"):
            script("eval/checker.py").main(arguments)


def test_histories_whose_ledgers_do_not_fit_are_refused(world: Path, tmp_path: Path) -> None:
    histories = read_jsonl(world / "histories" / "train.jsonl", LearningHistory)[:2]
    ledgers = read_jsonl(world / "histories" / "private" / "train.jsonl", Ledger)[:2]
    number = next(n for n, found in enumerate(ledgers[1].assessments) if found)
    first = ledgers[1].assessments[number][0]
    turned = replace(first, verdict="met" if first.verdict == "unmet" else "unmet")
    assessments = [*ledgers[1].assessments]
    unassessed = [*assessments[:number], (), *assessments[number + 1 :]]
    assessments[number] = (turned, *assessments[number][1:])
    bad = {
        "other family": (replace(ledgers[1], family="cooking"), f"expected {histories[1].id} of .* of cooking"),
        "short": (replace(ledgers[1], raised=ledgers[1].raised[:-1]), "raised: expected one of each of"),
        "unassessed": (replace(ledgers[1], assessments=tuple(unassessed)), "expected assessments of"),
        "raises what is no wish": (replace(ledgers[1], raised=(("tea",), *ledgers[1].raised[1:])), r"\['tea'\] are not of its"),
        "turned verdict": (replace(ledgers[1], assessments=tuple(assessments)), f"exchange {number}: expected .* by its check"),
    }
    for name, (ledger, said) in bad.items():
        folder = tmp_path / name
        write_jsonl(folder / "train.jsonl", histories)
        write_jsonl(folder / "private" / "train.jsonl", [ledgers[0], ledger])
        with pytest.raises(RecordError, match=said):
            mine(folder, tmp_path / f"examples {name}", "--splits", '["train"]')
        with pytest.raises(RecordError, match=said):
            arguments = ["--histories", str(folder), "--out", str(tmp_path / f"live {name}"), "--splits", '["train"]']
            script("eval/live_assets.py").main(arguments)


def test_scripted_checkers_set_the_scale(world: Path, tmp_path: Path) -> None:
    arms = '{"right": {"kind": "oracle"}, "lazy": {"kind": "null"}}'
    arguments = ["--examples", str(world / "examples"), "--out", str(tmp_path), "--arms", arms, "--runs", "2"]
    script("eval/checker.py").main([*arguments, "--comparisons", '{"gain": ["right", "lazy"]}'])
    found = rows(tmp_path)
    # ECE needs probabilities.
    assert {metric.split(", ")[0] for _, _, metric in found} - {"gain"} == {*METRICS} - {"ece"}
    for split in ("test", "held_out_family"):
        assert found["right", split, "macro_f1"] == 1.0
        assert found["right", split, "reasons_named"] == 1.0
        assert found["right", split, "agreement"] == 1.0
        assert found["lazy", split, "macro_f1"] == pytest.approx(0.5 / 3)
        assert found["lazy", split, "recall_unmet"] == 0.0
        assert found["right", split, "gain"] == pytest.approx(1 - 0.5 / 3)
    novel = sum("novel" in one.provenance.phenomena for one in read_jsonl(world / "examples" / "test.jsonl", Example))
    counts = {(row["condition"], row["metric"]): row["n"] for row in json.loads((tmp_path / "results.json").read_text())}
    assert counts["test, held-out requirements", "macro_f1"] == counts["test, held-out requirements", "gain"] == novel
    assert counts["all", "gain"] == counts["test", "gain"] + counts["held_out_family", "gain"]
    assert json.loads((tmp_path / "comparisons.json").read_text())["gain, held_out_family"]["verdict"] == "superior"
    page = (tmp_path / "report.html").read_text()
    assert "gain, held_out_family: the first is better" in page
    assert " users)." in page
    assert '<a href="reliability.png">' in page


def test_scripted_live_assets_and_baselines(world: Path, tmp_path: Path) -> None:
    arguments = ["--histories", str(world / "histories"), "--out", str(tmp_path), "--splits", '["train"]', "--limit", "4"]
    script("eval/live_assets.py").main([*arguments, "--kinds", '["replay", "near"]'])
    found = rows(tmp_path)
    where = "replay; fix 0.6, half-fix 0.2, regression 0.1"
    means = {arm: found[arm, where, "satisfaction"] for arm in ("base", "no_runtime", "live_assets, executed")}
    assert means["base"] < means["no_runtime"] < means["live_assets, executed"]  # type: ignore[operator]
    lift = means["live_assets, executed"] - means["no_runtime"]  # type: ignore[operator]
    assert found["live_assets, executed", where, "lift over no_runtime"] == pytest.approx(lift)
    assert ("lexical", "selection", "recall@5") in found
    assert f"live_assets, executed, {where}, lift over base: the first" in (tmp_path / "report.html").read_text()
    store = AssetStore(tmp_path / "assets")
    histories = read_jsonl(world / "histories" / "train.jsonl", LearningHistory)
    user = histories[0].user
    sources = {source for situation in store.load(user).situations for source in situation.sources}
    assert sources <= {history.id for history in histories if history.user == user}
    assert sources
    # Assets of other histories in the same folder give way to what was learned now.
    learned = store.load(user).situations
    store.commit(replace(store.load(user), situations=()))
    script("eval/live_assets.py").main([*arguments, "--kinds", '["replay", "near"]'])
    assert store.load(user).situations == learned
    report = (tmp_path / "report.md").read_text().replace("\\_", "_")
    assert "The agent is scripted: no model" in report
    assert "no_explanation cannot move: neither the scripted agent nor the executed checks read explanations." in report
    assert ("no_explanation (cannot move)", where, "satisfaction") in found
    assert ("no_explanation", where, "satisfaction") not in found
    # Notes hold no intents: what they say is not followed, rather than never found.
    assert found["skill", where, "selected"] is None
    steps = [found["live_assets, executed", where, name] for name in ("selected", "identified", "identified given selected")]
    assert 0.5 < steps[0] <= 1.0  # type: ignore[operator]
    assert steps[1] == pytest.approx(steps[0] * steps[2])  # type: ignore[operator]


def test_a_tiny_checker_is_trained_evaluated_and_put_into_the_loop(world: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from intentfold.runtime.in_process import InProcessBackend
    from intentfold.training.preflight import PreflightError

    base = tiny_model(tmp_path / "base")
    common = ["--base", str(base), "--data", str(world / "examples"), "--rows_per_step", "8", "--micro_batch", "4"]
    common += ["--dtype", "float32", "--lora_r", "8", "--steps", "2", "--max_length", "4096"]
    with pytest.raises(PreflightError, match=r"the examples are for the checker \(codec verdict\), the run trains a tracker"):
        script("train/sft.py").main([*common, "--out", str(tmp_path / "wrong")])
    script("train/sft.py").main([*common, "--out", str(tmp_path / "sft"), "--role", "checker"])
    assert (tmp_path / "sft" / "adapter" / "adapter_model.safetensors").is_file()
    arms = json.dumps({"base": {"base": str(base)}, "sft": {"base": str(base), "adapter": str(tmp_path / "sft" / "adapter")}})
    arguments = ["--examples", str(world / "examples"), "--arms", arms, "--limit", "6", "--max_tokens", "4", "--dtype", "float32"]
    script("eval/checker.py").main([*arguments, "--out", str(tmp_path / "eval")])
    found = rows(tmp_path / "eval")
    assert found["sft", "test", "ece"] is not None
    assert ("sft", "test", "recall_unmet, at the threshold") in found
    # The threshold is read from the evaluation's own file, which knows whose it is.
    thresholds = {arm: str(tmp_path / "eval" / f"reliability.{arm}.json") for arm in ("base", "sft")}
    assert read_threshold(Path(thresholds["base"]), InProcessBackend(base).name) > 0
    assert (tmp_path / "eval" / "reliability.png").is_file()
    small = tmp_path / "small"
    for name in ("train.jsonl", "private/train.jsonl"):
        cls = Ledger if name.startswith("private") else LearningHistory
        write_jsonl(small / name, read_jsonl(world / "histories" / name, cls)[:2])
    arguments = ["--histories", str(small), "--splits", '["train"]', "--kinds", '["replay"]', "--runs", "1", "--max_tokens", "4"]
    checkers = json.dumps({"tiny": {"base": str(base)}})
    methods = ["--methods", '["no_runtime", "live_assets"]', "--dtype", "float32"]
    script("eval/live_assets.py").main([*arguments, *methods, "--checkers", checkers, "--out", str(tmp_path / "live")])
    where = "replay; fix 0.6, half-fix 0.2, regression 0.1"
    live, bare = (rows(tmp_path / "live")[arm, where, "satisfaction"] for arm in ("live_assets, tiny", "no_runtime"))
    assert rows(tmp_path / "live")["live_assets, tiny", where, "tokens a run, checker"] > 0  # type: ignore[operator]
    # A checker that answers nonsense assesses nothing: no revision, no pass, and what the agent did stands.
    assert live == bare
    assert rows(tmp_path / "live")["live_assets, tiny", where, "passed with unmet, of all runs"] == 0.0
    report = (tmp_path / "live" / "report.md").read_text()
    assert "No model plays worker, selection, learner: no tokens are counted for that." in report
    asked = [*arguments, *methods, "--checkers", checkers, "--out", str(tmp_path / "at_threshold"), "--thresholds"]
    with pytest.raises(RecordError, match=r"reliability.sft.json: the threshold is that of .*adapter.*, not of"):
        script("eval/live_assets.py").main([*asked, json.dumps({"tiny": thresholds["sft"]})])
    script("eval/live_assets.py").main([*asked, json.dumps({"tiny": thresholds["base"]}), "--out", str(tmp_path / "at")])
    assert (tmp_path / "at" / "results.json").is_file()
