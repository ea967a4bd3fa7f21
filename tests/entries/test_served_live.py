"""Learned assets with models in every role, played by a scripted server: what each took is counted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from intentfold.prompts import assets, checker
from intentfold.records import read_jsonl, write_jsonl
from intentfold.trace import LearningHistory, Ledger, LiveRun
from tests.served import chat, serving
from tests.tiny import script

PRICES = {"worker": 1000, "checker": 100, "learner": 10}  # tokens of a completion
ROLES = {assets.LEARN: "learner", assets.DESCRIBE: "learner", checker.SYSTEM: "checker"}


class Players:
    def __init__(self) -> None:
        self.asked = Counter[str]()

    def __call__(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("/embeddings"):
            self.asked["embedding"] += 1
            vector = [float(body["input"].count(letter)) for letter in "aeiou"]
            found = [{"object": "embedding", "index": 0, "embedding": vector}]
            return {"object": "list", "model": "e", "data": found, "usage": {"prompt_tokens": 5, "total_tokens": 5}}
        messages = [message["content"] for message in body["messages"]]
        role = ROLES.get(messages[0], "worker")
        self.asked[role] += 1
        text = {
            "learner": "INTENT: It was wrong.\nREQUIRE +1: The user gets what was said."
            if messages[0] == assets.LEARN
            else "Work.",
            "checker": "unmet: not yet" if "done twice" not in messages[1] else "met",
            "worker": json.dumps({"reply": "done twice" if "[Found to be wrong with it]" in messages[-1] else "done once"}),
        }[role]
        return chat(text, PRICES[role] - 1, 1)


@pytest.fixture
def histories(tmp_path: Path) -> Path:
    """Two histories of one user, of the families booking and report_file."""
    whole = tmp_path / "whole"
    families = ["--families", '["booking", "report_file"]']
    script("data_gen/build_histories.py").main(
        ["--out", str(whole), "--users", "6", "--histories", "1", "--workers", "1", *families]
    )
    found = [one for one in read_jsonl(whole / "train.jsonl", LearningHistory) if one.corrections()]
    chosen = [one for one in found if one.user == found[0].user]
    write_jsonl(tmp_path / "histories" / "train.jsonl", chosen)
    ledgers = {one.history: one for one in read_jsonl(whole / "private" / "train.jsonl", Ledger)}
    write_jsonl(tmp_path / "histories" / "private" / "train.jsonl", [ledgers[one.id] for one in chosen])
    return tmp_path / "histories"


def test_every_role_may_be_a_model_and_its_tokens_are_counted(histories: Path, tmp_path: Path) -> None:
    players = Players()
    with serving(players) as url:
        model = json.dumps({"kind": "openai", "base_url": url, "model": "m"})
        arguments = [
            "--histories",
            str(histories),
            "--out",
            str(tmp_path / "out"),
            "--splits",
            '["train"]',
            "--kinds",
            '["replay"]',
        ]
        arguments += ["--methods", '["base", "no_runtime", "live_assets"]', "--checkers", f'{{"served": {model}}}']
        arguments += ["--learner", "model", "--learner_model", model, "--selector", "embedding", "--selector_model", model]
        script("eval/live_assets.py").main([*arguments, "--agent_model", model])
        once = players.asked.copy()
        script("eval/live_assets.py").main([*arguments, "--agent_model", model])
    assert players.asked == once  # nothing was asked twice
    assert set(once) == {"worker", "checker", "learner", "embedding"}
    runs = read_jsonl(tmp_path / "out" / "runs.jsonl", LiveRun)
    assert len(runs) == 3 * 2 * len(read_jsonl(histories / "train.jsonl", LearningHistory))
    for run in runs:
        if run.method == "base":
            assert run.tokens == {"worker": 1000}
        elif run.method == "no_runtime":
            assert run.tokens == {"worker": 1000, "selection": 5}
        else:
            # A first output found unmet and its revision found met; each part of the one situation is asked about twice.
            assert run.tokens["worker"] == 2000
            assert run.tokens["selection"] == 5
            assert run.tokens["checker"] % 200 == 0 < run.tokens["checker"]
            assert (run.revisions, run.passed) == (1, True)
    rows = {(r["arm"], r["condition"], r["metric"]): r for r in json.loads((tmp_path / "out" / "results.json").read_text())}
    where = "replay; model"
    assert rows["base", where, "tokens a run"]["mean"] == 1000
    assert rows["base", where, "tokens a run, checker"]["mean"] is None
    assert rows["no_runtime", where, "tokens a run"]["mean"] == 1005
    assert rows["live_assets, served", where, "tokens a run, worker"]["mean"] == 2000
    assert rows["base", where, "satisfaction"]["agent"] == f"{url}#m"
    corrections = sum(len(one.corrections()) for one in read_jsonl(histories / "train.jsonl", LearningHistory))
    described = len(read_jsonl(histories / "train.jsonl", LearningHistory))
    assert rows["learner", "building", "tokens a user"]["mean"] == 10 * (corrections + described)
    assert rows["embedding", "building", "tokens a user"]["mean"] == 5 * described
    assert {arm for arm, _, metric in rows if metric == "recall@1"} == {"lexical", f"embedding by {url}#m"}
    report = (tmp_path / "out" / "report.md").read_text()
    assert "Models play every role." in report
    assert "The agent is scripted" not in report
