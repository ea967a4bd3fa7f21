"""The audit as a script: by words, by a judge behind an endpoint, and by people, reported side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intentfold.construct.audit import edit_turns
from intentfold.construct.episode import build_episode
from intentfold.prompts.audit_judge import JUDGE, RECOVER
from intentfold.records import write_jsonl
from intentfold.sources.registry import builtin_task
from intentfold.trace import Episode
from tests.served import chat_server
from tests.tasks import flight_task
from tests.tiny import script


@pytest.fixture(scope="module")
def episodes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Episode]]:
    tasks = [flight_task(), builtin_task("tools", 3, 1)]
    built = [build_episode(task, 1, "dev", "dev", 3) for task in tasks]
    path = tmp_path_factory.mktemp("audit") / "dev.jsonl"
    write_jsonl(path, built)
    return path, built


def audit(path: Path, out: Path, *flags: str) -> dict[str, Any]:
    script("data_gen/audit_traces.py").main(["--traces", f"[{path}]", "--out", str(out), "--turns", "8", *flags])
    return dict(json.loads((out / "report.json").read_text()))


def judge(body: dict[str, Any]) -> str:
    """Approves of every turn but one in words of Lisbon's; recovers what stands at the end of the list of names."""
    system, said = (message["content"] for message in body["messages"])
    if system == RECOVER:
        assert body["response_format"]["json_schema"]["name"] == "recovered"
        return '{"requirements": [{"name": "x", "value": "y"}]}'
    assert system == JUDGE
    if "Lisbon" in said:
        return '{"fidelity": "well"}'
    return '{"fidelity": true, "coherence": false, "reason": "so"}'


def test_auditors_stand_side_by_side(episodes: tuple[Path, list[Episode]], tmp_path: Path) -> None:
    path, built = episodes
    assert sum(len(edit_turns(episode)) for episode in built) >= 8
    with chat_server(judge) as (url, requests):
        model = json.dumps({"kind": "openai", "base_url": url, "model": "m"})
        flags = ("--judge", model, "--page_turns", "2", "--planted", "5")
        first = audit(path, tmp_path, *flags)
        asked = len(requests)
        turns = [json.loads(line)["turn"] for line in (tmp_path / "findings.jsonl").read_text().splitlines()][:8]
        people = {"version": 1, "sample": first["sample"], "judge": "me", "judgements": [
            {"id": turns[0], "fidelity": True, "coherence": False, "note": ""},
            {"id": turns[1], "fidelity": True, "coherence": True, "note": ""},
        ]}  # fmt: skip
        (tmp_path / "mine.json").write_text(json.dumps(people))
        report = audit(path, tmp_path, *flags, "--judgements", f"[{tmp_path / 'mine.json'}]")
        assert len(requests) == asked
    assert report["turns"] == 8
    scripted, served = report["auditors"]["scripted"], report["auditors"]["judge"]
    assert (scripted["fidelity"]["passed"]["mean"], scripted["coherence"]["passed"]["mean"]) == (1.0, 1.0)
    assert served["coherence"]["passed"]["mean"] == 0.0
    assert served["fidelity"]["passed"]["mean"] == served["fidelity"]["assessed"] / 8 < 1
    assert set(report["planted"]) >= {"wrong value", "scheduled, not said", "state out of step"}
    assert all(found == count for found, count in report["planted"].values()), report["planted"]
    assert report["planted"]["scheduled, not said"] == [5, 5]
    assert report["auditors"]["mine (me)"]["coherence"]["passed"]["n"] == 2
    assert report["agreement"]["mine (me) and scripted"]["coherence"]["same"]["mean"] == 0.5
    assert report["recovery"]["scripted"]["whole"]["mean"] == 1.0
    assert (report["recovery"]["judge"]["whole"]["mean"], report["recovery"]["judge"]["assessed"]) == (0.0, 2)
    assert report["usage"]["judge"]["requests"] == asked == first["usage"]["judge"]["requests"]
    page = (tmp_path / "page.html").read_text()
    assert page.count("<section ") == 2
    assert "1.0000" not in page
    assert "mine (me)" in (tmp_path / "report.md").read_text()
    (tmp_path / "mine.json").write_text(json.dumps({**people, "sample": "other"}))
    with pytest.raises(ValueError, match="judge this page anew"):
        audit(path, tmp_path, *flags, "--judgements", f"[{tmp_path / 'mine.json'}]")


def test_an_episode_of_two_files_is_refused(episodes: tuple[Path, list[Episode]], tmp_path: Path) -> None:
    path, built = episodes
    with pytest.raises(SystemExit, match=f"episode {built[0].id} stands in these files twice"):
        script("data_gen/audit_traces.py").main(["--traces", f"[{path}, {path}]", "--out", str(tmp_path / "out"), "--turns", "8"])


def test_what_two_people_saved_under_one_name_both_counts(episodes: tuple[Path, list[Episode]], tmp_path: Path) -> None:
    path, _ = episodes
    first = audit(path, tmp_path)
    turn = json.loads((tmp_path / "findings.jsonl").read_text().splitlines()[0])["turn"]
    files = []
    for person, passes in (("one", True), ("two", False)):
        said = [{"id": turn, "fidelity": passes, "coherence": passes, "note": ""}]
        files.append(tmp_path / person / "judgements.json")
        files[-1].parent.mkdir()
        files[-1].write_text(json.dumps({"version": 1, "sample": first["sample"], "judge": "", "judgements": said}))
    report = audit(path, tmp_path, "--judgements", f"[{files[0]}, {files[1]}]")
    means = {who: found["fidelity"]["passed"]["mean"] for who, found in report["auditors"].items() if who != "scripted"}
    assert means == {"judgements (unnamed)": 1.0, "judgements (unnamed), 2": 0.0}


def test_a_share_below_the_bar_is_an_exit_code(episodes: tuple[Path, list[Episode]], tmp_path: Path) -> None:
    path, _ = episodes
    lines = [line.replace("economy", "steerage") for line in path.read_text().splitlines()]
    # The user's words alone are changed: the schedule stays.
    spoilt = [json.loads(line) for line in lines]
    for whole, bad in zip(map(json.loads, path.read_text().splitlines()), spoilt, strict=True):
        for right, turn in zip(whole["turns"], bad["turns"], strict=True):
            turn.update({"edits": right["edits"], "state": right["state"]})
        bad["task"] = whole["task"]
    write_jsonl(tmp_path / "spoilt.jsonl", spoilt)
    with pytest.raises(SystemExit, match=r"the audit is not passed: \{'fidelity': 0\.\d+\}"):
        audit(tmp_path / "spoilt.jsonl", tmp_path / "out", "--turns", "0", "--least", '{"fidelity": 0.99}')
    assert json.loads((tmp_path / "out/report.json").read_text())["faults"]["fidelity: wrong value"] >= 1
    with pytest.raises(SystemExit, match=r"turns: 900 wanted, \d+ there"):
        audit(path, tmp_path / "more", "--turns", "900")
