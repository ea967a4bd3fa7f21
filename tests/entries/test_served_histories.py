"""Histories built with models in the roles of agent, user and reader, played by a scripted server."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.wording import read
from intentfold.prompts.user import READ, SAY
from intentfold.records import read_jsonl
from intentfold.trace import LearningHistory, Ledger
from tests.served import chat, serving
from tests.tiny import script

BOOKING = FAMILIES["booking"]
KEYS = [criterion.key for criterion in BOOKING.criteria]


class Players:
    """Who answers, by the system message: a careless agent that heeds some words, a user that first invents, a reader."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.left = 10**9
        self.stubborn = False

    def __call__(self, path: str, body: dict[str, Any]) -> dict[str, Any] | int:
        messages = [message["content"] for message in body["messages"]]
        role = "user" if messages[0] == SAY else "reader" if messages[0] == READ else "agent"
        if self.left <= 0:
            return 400
        self.left -= 1
        self.asked[role] += 1
        return chat({"user": self.user, "reader": self.reader, "agent": self.agent}[role](messages))

    def agent(self, messages: list[str]) -> str:
        if not messages[-1].endswith("Go on."):
            said = messages[1].partition("\n\n[")[0]
            cities = re.findall(r"\b(?:Graz|Lille|Bergen|Porto|Gdansk|Turin|Ghent|Brno|Leipzig|Malmo)\b", said)
            ways = [{"from": a, "to": b, "day": "?"} for a, b in (cities[:2], cities[1::-1])]
            return "\n".join(json.dumps({"call": "search_trains", "arguments": way}) for way in ways)
        if "book_train: booked" in messages[-1]:
            return 'And now:\n{"reply": "It is booked."}'
        train, times = re.findall(r"search_trains: (\w+) by .* departs ([\d:, ]+)", messages[-1])[0]
        heard = " ".join(messages[1:])
        arguments = {"train": train, "departs": times.split(", ")[-1], "seat": "middle", "refundable": "refund" in heard.lower()}
        return json.dumps([{"call": "book_train", "arguments": arguments}, {"write": "itinerary.txt", "text": "departs 05:10\n"}])

    def user(self, messages: list[str]) -> str:
        points = re.findall(r"^- (.*)$", messages[1].split("Points:\n")[1].split("\nThese messages")[0], re.MULTILINE)
        message = "Well. " + " ".join(points)
        return message if "These messages were refused" in messages[1] and not self.stubborn else message + " “Not there at all.”"

    def reader(self, messages: list[str]) -> str:
        text = messages[1].split("\nText: ")[1]
        keys = {said.key for words in ("train", "dev", "test") for said in read(text, words) if said.kind in ("wrong", "want")}
        return " ".join(str(KEYS.index(key) + 1) for key in sorted(keys)) or "NONE"


def build(url: str, out: Path, *more: str) -> None:
    models = [
        flag
        for role in ("agent", "user", "reader")
        for flag in (f"--{role}", json.dumps({"kind": "openai", "base_url": url, "model": role}))
    ]
    arguments = ["--out", str(out), "--users", "3", "--families", '["booking"]', "--histories", "1", "--budget", "3"]
    script("data_gen/build_histories.py").main([*arguments, "--workers", "1", *models, *more])


def written(out: Path) -> tuple[list[LearningHistory], list[Ledger]]:
    splits = ("train", "dev", "test")
    histories = [one for split in splits for one in read_jsonl(out / f"{split}.jsonl", LearningHistory)]
    return histories, [one for split in splits for one in read_jsonl(out / "private" / f"{split}.jsonl", Ledger)]


def test_models_play_agent_and_user_and_a_failed_server_loses_nothing(tmp_path: Path) -> None:
    players = Players()
    with serving(players) as url:
        players.left = 7
        with pytest.raises(SystemExit, match=r"a model does not answer: .*run again to go on"):
            build(url, tmp_path / "out")
        assert not (tmp_path / "out" / "report.json").exists()
        players.left = 10**9
        build(url, tmp_path / "out")
        asked = players.asked.copy()
        build(url, tmp_path / "whole")
    # What had been answered before the server failed was not asked again.
    assert players.asked == asked + asked
    for name in ("train.jsonl", "dev.jsonl", "test.jsonl", "private/train.jsonl", "report.json"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    histories, ledgers = written(tmp_path / "out")
    assert len(histories) == 3
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert found["agent"] == "agent"
    assert found["user"] == "user"
    # Nine tokens a completion.
    assert found["tokens"] == {role: 9 * asked[role] for role in ("agent", "user", "reader")}
    corrections = 0
    for history, ledger in zip(histories, ledgers, strict=True):
        for n, exchange in enumerate(history.exchanges):
            assert exchange.output.reply == "It is booked."
            assert [call.name for call in exchange.output.calls] == ["search_trains", "search_trains", "book_train"]
            assert exchange.output.files[0].path == "itinerary.txt"
            assert ledger.errors[n] == ("And now:: expected a JSON object",)
            if exchange.act == "correction":
                corrections += 1
                # The first wording quoted what is not there; the second passed its audit and was delivered.
                assert exchange.user.startswith("Well. ")
                assert "Not there at all." not in exchange.user
                [refused] = ledger.refused[n]
                assert "not in the result: Not there at all." in refused
                assert ledger.raised[n]
        assert len(ledger.errors) == len(ledger.refused) == len(history.exchanges)
    assert corrections == found["messages refused"] > 0
    assert "worded by user" in (tmp_path / "out" / "report.md").read_text()


def test_a_history_whose_message_never_passes_is_given_up_and_recorded(tmp_path: Path) -> None:
    players = Players()
    players.stubborn = True
    with serving(players) as url:
        build(url, tmp_path)
    histories, _ = written(tmp_path)
    assert histories == []
    rejected = [json.loads(line) for line in (tmp_path / "private" / "rejected.jsonl").read_text().splitlines()]
    assert [one["family"] for one in rejected] == ["booking"] * 3
    assert all(len(one["refused"]) == 3 for one in rejected)
    assert json.loads((tmp_path / "report.json").read_text())["histories rejected"] == 3


SERVED = json.dumps({"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"})
BAD = [
    (["--user", SERVED], "user goes with reader"),
    (["--user", SERVED, "--reader", SERVED], "with an agent that is a model"),
    (["--agent", '{"base": "x"}'], "agent: expected a model of kind openai, got in_process"),
    (["--agent", SERVED, "--user", SERVED, "--reader", SERVED], "must not be the tested agent itself"),
    (["--agent", SERVED, "--steps", "0"], "steps and max_tokens must be at least 1"),
]


@pytest.mark.parametrize(("flags", "said"), BAD)
def test_roles_that_do_not_go_together_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    with pytest.raises(SystemExit):
        script("data_gen/build_histories.py").main(["--out", str(tmp_path / "out"), "--users", "1", *flags])
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
