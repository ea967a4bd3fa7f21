"""Traces built with models in the roles of decomposer, proposer and simulator, on good days and on bad ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from intentfold.records import read_jsonl
from intentfold.trace import Episode
from tests.faulty import Fault, faulty
from tests.players import PLAN, Players
from tests.served import serving
from tests.tiny import script

ROOT = Path(__file__).parent.parent.parent
ROLES = ("decomposer", "proposer", "simulator")
LEFT = ("train.jsonl", "dev.jsonl", "test.jsonl", "rejected.jsonl", "report.json")


def flags(url: str, out: Path, **more: object) -> list[str]:
    cast = {role: {"kind": "openai", "base_url": url, "model": role} for role in ROLES}
    serving = {"concurrency": 4, "retries": 8, "prices": {"proposer": [1.0, 10.0]}}
    said = json.dumps({**cast, "serving": serving, **more})
    return ["--out", str(out), "--families", '{"tools": 8}', "--loads", "[1, 3]", "--seed", "5", "--workers", "1", "--cast", said]


def build(url: str, out: Path, **more: object) -> None:
    script("data_gen/build_traces.py").main(flags(url, out, **more))


def left(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in LEFT}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Players]]:
    out, players = tmp_path_factory.mktemp("served") / "out", Players(PLAN)
    with serving(players) as url:
        build(url, out)
    return out, players


def episodes(out: Path) -> list[Episode]:
    return [one for split in ("train", "dev", "test") for one in read_jsonl(out / f"{split}.jsonl", Episode)]


def test_what_models_propose_is_executed_said_and_counted(whole: tuple[Path, Players]) -> None:
    out, players = whole
    found, report = episodes(out), json.loads((out / "report.json").read_text())
    assert len(found) == 8
    for episode in found:
        assert len(episode.stale) == 2 * episode.load
        assert all(one.verified for one in episode.stale)
        assert all("Well, " in turn.user for turn in episode.turns[:-1])
        assert not any("31415" in turn.user for turn in episode.turns)
        assert episode.turns[0].user.startswith(f"{episode.task.request} Well, ")
    made = report["construction"]
    assert made["counts"]["decomposer: accepted"] == 8
    assert made["counts"]["proposer: accepted"] == sum(2 * episode.load for episode in found)
    assert made["counts"]["simulator: accepted"] == sum(len(episode.turns) - 1 for episode in found)
    rejected = [json.loads(line) for line in (out / "rejected.jsonl").read_text().splitlines()]
    assert sum(count for what, count in made["counts"].items() if what.endswith("rejected")) == len(rejected) > 8
    reasons = {one["reason"] for one in rejected}
    assert "is no requirement that the user has" in reasons
    assert "names the number 31415, which it was not told to say" in reasons
    share = made["counts"]["proposer: accepted"] / (made["counts"]["proposer: accepted"] + made["counts"]["proposer: rejected"])
    assert made["accepted"]["proposer"] == share
    # Every answered request is in the ledger, once.
    assert {role: made["usage"][role]["requests"] for role in ROLES} == dict(players.asked)
    usage = made["usage"]["proposer"]
    assert usage["completion_tokens"] == 5 * usage["requests"]
    assert usage["cost"] == pytest.approx((usage["prompt_tokens"] + 10 * usage["completion_tokens"]) / 1e6)
    assert "cost" not in made["usage"]["simulator"]
    assert set(players.formats) == {"decomposer json_schema", "proposer json_schema", "simulator None"}
    assert json.loads((out / "failures.json").read_text()) == {}


def test_behind_a_faulty_server_nothing_is_lost_or_doubled_and_every_failure_is_counted(
    whole: tuple[Path, Players], tmp_path: Path
) -> None:
    faults: Iterator[Fault | None] = cycle(("429", None, None, "broken", None, "500", None, None, "cut", None, None))

    def fault(number: int) -> Fault | None:
        return "dead" if number == 25 else next(faults)

    players = Players(PLAN)
    with serving(players) as upstream, faulty(upstream, fault) as proxy:
        build(proxy.url, tmp_path / "out", cache=str(tmp_path / "cache"))
        did, asked = proxy.did.copy(), players.asked.copy()
        # Another build of the same asks nothing that stands in the cache, and has the same bill.
        build(proxy.url, tmp_path / "again", cache=str(tmp_path / "cache"))
        assert players.asked == asked
    assert left(tmp_path / "out") == left(tmp_path / "again") == left(whole[0])
    counted = {
        kind: sum(n for what, n in json.loads((tmp_path / "out/failures.json").read_text()).items() if what.endswith(f": {kind}"))
        for kind in ("429", "500", "broken JSON", "RemoteProtocolError")
    }
    assert min(did[kind] for kind in ("429", "500", "broken", "cut")) >= 2
    assert did["dead"] == 1
    assert counted == {"429": did["429"], "500": did["500"], "broken JSON": did["broken"], "RemoteProtocolError": did["cut"] + 1}
    total = sum(json.loads((tmp_path / "out" / "failures.json").read_text()).values())
    # While the server was away, connections were refused; those are on record too.
    assert total >= sum(counted.values())


def test_killed_and_begun_again_it_ends_with_the_same_bytes_and_the_same_bill(
    whole: tuple[Path, Players], tmp_path: Path
) -> None:
    out, players = tmp_path / "out", Players(PLAN)
    with serving(players) as url:
        command = [sys.executable, str(ROOT / "data_gen/build_traces.py"), *flags(url, out)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 200
        while sum(players.asked.values()) < 40 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert not (out / "report.json").exists()
        before = sum(players.asked.values())
        assert before >= 40
        build(url, out)
    assert left(out) == left(whole[0])
    # At most the requests that were on their way were asked twice, and the bill has none of them twice.
    assert sum(players.asked.values()) <= sum(whole[1].asked.values()) + 2 * 4


def test_what_is_never_accepted_leaves_the_task_out_or_is_scripted_by_config(tmp_path: Path) -> None:
    players = Players(PLAN)
    players.stubborn = True
    with serving(players) as url:
        cast = {"attempts": 2, "decomposer": None, "simulator": None, "serving": {"structured": "none"}}
        build(url, tmp_path / "none", **cast)
        build(url, tmp_path / "some", scripted_fallback=True, **cast)
    none, some = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("none", "some"))
    assert none["left"] == {"tools: proposals": 8}
    assert episodes(tmp_path / "none") == []
    assert len(episodes(tmp_path / "some")) == 8
    assert some["construction"]["counts"]["proposer: scripted instead"] == sum(2 * e.load for e in episodes(tmp_path / "some"))
    assert none["construction"]["accepted"] == {"proposer": 0.0}
    assert set(players.formats) == {"proposer None"}


def test_a_server_that_stays_away_ends_the_run_and_says_so(tmp_path: Path) -> None:
    with serving(lambda path, body: 400) as url, pytest.raises(SystemExit, match=r"a model does not answer: .*run again"):
        build(url, tmp_path)
    assert not (tmp_path / "report.json").exists()


BAD = [
    ('{"proposer": {"base": "x"}}', "proposer: expected a model of kind openai, got in_process"),
    ('{"serving": {"prices": {"proposer": [1, 1]}}}', "['proposer'] are no served roles"),
    ('{"attempts": 0}', "cast.attempts must be at least 1, got 0"),
    ('{"serving": {"structured": "xml"}}', "structured"),
]


@pytest.mark.parametrize(("cast", "said"), BAD)
def test_a_bad_cast_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], cast: str, said: str) -> None:
    with pytest.raises(SystemExit):
        script("data_gen/build_traces.py").main(["--out", str(tmp_path / "o"), "--families", '{"tools": 1}', "--cast", cast])
    assert said in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
