"""People's own conversations: imported, tracked, and never scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intentfold.dialogue import Turn
from intentfold.records import RecordError, read_jsonl, write_jsonl
from intentfold.runtime.backends import Backends, Model
from intentfold.runtime.roles import Completion
from intentfold.trace import Conversation, Episode
from tests.served import chat_server
from tests.tiny import script

LINES = [
    {"id": "one", "messages": [
        {"role": "system", "content": "You book flights."},
        {"role": "user", "content": "A flight to Lisbon."},
        {"role": "user", "content": "For three."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "{}", "tool_call_id": "1"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": [{"type": "text", "text": "Porto,"}, {"type": "text", "text": "not Lisbon."}], "name": "x"},
    ]},
    {"messages": [
        {"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Book Oslo."},
        {"role": "assistant", "content": "Done."},
    ]},
]  # fmt: skip
BAD = [
    ("{not json", "Expecting property name"),
    ('["a"]', "expected an object with a list of messages"),
    ('{"messages": []}', "user and agent must alternate, the user at least once, got []"),
    ('{"messages": [{"role": "assistant", "content": "Hi"}]}', "the user at least once"),
    ('{"messages": [{"role": "pirate", "content": "Arr"}]}', "messages.0: expected a message of role user"),
    ('{"messages": ' + "[" * 100_000, "maximum recursion depth exceeded"),
    ('{"id": "\\ud800", "messages": [{"role": "user", "content": "x"}]}', "surrogates not allowed"),
    ('{"id": ' + "9" * 5000 + "}", "Exceeds the limit"),
    ('{"messages": [7]}', "messages.0: expected a message of role"),
    (
        '{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}',
        "messages.0.content.0: expected a part of type text, got {'type': 'image_url'",
    ),
    ('{"messages": [{"role": "user", "content": 3}]}', "messages.0.content: expected text or a list of parts, got 3"),
    ('{"messages": [{"role": "user", "content": "\\ud800"}]}', "surrogates not allowed"),
    ('{"id": true, "messages": [{"role": "user", "content": "x"}]}', "id: expected a string or a whole number, got True"),
    (
        '{"id": "one", "messages": [{"role": "user", "content": "again"}, {"role": "tool", "content": ""}]}',
        "the id 'one' stands on line 1 already",
    ),
]


def imported(folder: Path, *lines: str, flags: tuple[str, ...] = ()) -> Path:
    (folder / "in.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    given = ["--conversations", str(folder / "in.jsonl"), "--out", str(folder / "out"), *flags]
    script("data_gen/import_conversations.py").main(given)
    return folder / "out"


def test_an_import_keeps_the_words_of_both_sides_and_counts_the_rest(tmp_path) -> None:
    out = imported(tmp_path, *map(json.dumps, LINES), *(line for line, _ in BAD))
    first, second = read_jsonl(out / "conversations.jsonl", Conversation)
    assert first.id == "one"
    assert first.dialogue == (
        Turn("user", "A flight to Lisbon.\nFor three."), Turn("assistant", "Noted."), Turn("user", "Porto,\nnot Lisbon."),
    )  # fmt: skip
    assert first.exchanges == (("", "A flight to Lisbon.\nFor three."), ("Noted.", "Porto,\nnot Lisbon."))
    assert second.exchanges == (("Hello!", "Book Oslo."),)
    assert len(second.id) == 16
    assert json.loads((out / "counts.json").read_text()) == {
        "conversations": 2, "user turns": 3, "lines set aside": len(BAD), "system messages left out": 1,
        "tool messages left out": 1, "assistant messages without words left out": 1, "user messages joined to the one before": 1,
    }  # fmt: skip
    quarantined = [json.loads(line) for line in (out / "quarantine.jsonl").read_text().splitlines()]
    assert [one["line"] for one in quarantined] == list(range(3, 3 + len(BAD)))
    for one, (line, reason) in zip(quarantined, BAD, strict=True):
        assert reason in one["reason"]
        assert one["text"] == line
    before = (out / "conversations.jsonl").read_bytes()
    assert (imported(tmp_path, *map(json.dumps, LINES)) / "conversations.jsonl").read_bytes() == before
    assert not (out / "quarantine.jsonl").exists()


def test_personal_data_is_masked_on_request_also_in_what_is_set_aside(tmp_path) -> None:
    said = {"id": "jo@b.example", "messages": [{"role": "user", "content": "I am jo@b.example, call +44 20 7946 0958"}]}
    bad = ['{"messages": [{"role": "pirate", "content": "jo@b.example"}]}', "jo@b.example"]
    out = imported(tmp_path, json.dumps(said), *bad, flags=("--mask", "true"))
    [one] = read_jsonl(out / "conversations.jsonl", Conversation)
    assert (one.id, one.dialogue[0].content) == ("[email 1]", "I am [email 1], call [phone 1]")
    counts = json.loads((out / "counts.json").read_text())
    assert (counts["email values masked"], counts["phone values masked"], counts["lines set aside"]) == (1, 1, 2)
    assert "role user, assistant" in (out / "quarantine.jsonl").read_text()
    assert not [path for path in out.rglob("*") if path.is_file() and "jo@" in path.read_text()]


SAID = [
    ("A flight to Lisbon, for three.", [("SET city: Lisbon", "to Lisbon"), ("SET seats: three", "for three")]),
    ("Porto instead. And lounge access?", [("SET city: Porto", "Porto instead")]),
    ("Yes, the first offer, at noon. Seats are optional.",
     [("SET time: noon", "at noon"), ("REPRIORITIZE seats: optional", "Seats are optional"), ("DELETE city", "the first offer")]),
]  # fmt: skip


class Annotator:
    """What stands in SAID by the user's words; a first answer about Porto is wrong in ways that are told."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.wrong = [
            "no JSON",
            '{"edits": [{"line": "SET city: Oslo", "quote": "Porto"}]}',
            '{"edits": [{"line": "SET city: Porto", "quote": "Faro"}]}',
            '{"edits": [{"line": "DELETE meal", "quote": "Porto"}]}',
            '{"edits": [{"line": "ADD conclusion x: Porto", "quote": "Porto"}]}',
        ]  # fmt: skip

    def __call__(self, body) -> str:
        said = body["messages"][1]["content"]
        self.asked.append(said)
        assert body["response_format"]["json_schema"]["name"] == "annotation"
        user = said.split("\nUser: ")[1].split("\n\nThese answers")[0]
        if user.startswith("Porto") and self.wrong:
            return self.wrong.pop(0)
        edits = dict(SAID).get(user, [("SET x: nobody said it", user)])
        return json.dumps({"edits": [{"line": line, "quote": quote} for line, quote in edits]})


def dialogue(*users: str) -> str:
    turns = [turn for user in users for turn in (("user", user), ("assistant", "Noted."))]
    return json.dumps({"messages": [{"role": role, "content": said} for role, said in turns]})


def test_an_annotator_writes_edits_that_fold_and_are_quoted(tmp_path) -> None:
    annotator = Annotator()
    with chat_server(annotator) as (url, requests):
        flags = (
            "--annotator",
            json.dumps({"kind": "openai", "base_url": url, "model": "m"}),
            "--attempts",
            "6",
            "--license",
            "cc0-1.0",
        )
        out = imported(tmp_path, dialogue(*(user for user, _ in SAID)), dialogue("Surprise me."), flags=flags)
        asked = len(requests)
        before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
        imported(tmp_path, dialogue(*(user for user, _ in SAID)), dialogue("Surprise me."), flags=flags)
        # What had been answered was not asked again, nor counted twice.
        assert len(requests) == asked
        assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    [episode] = [one for split in ("train", "dev", "test") for one in read_jsonl(out / f"{split}.jsonl", Episode)]
    assert [sorted(item.text for item in turn.state.items) for turn in episode.turns] == [
        ["city: Lisbon", "seats: three"], ["city: Porto", "seats: three"], ["seats: three", "time: noon"],
    ]  # fmt: skip
    assert episode.turns[2].state.items[0].priority == "optional"
    assert (episode.task.license, episode.task.answer_form) == ("cc0-1.0", "state")
    reasons = [json.loads(line)["reason"] for line in (out / "rejected.jsonl").read_text().splitlines()]
    assert [reason for reason in reasons if "nobody said it" not in reason] == [
        "expected a JSON object, got 'no JSON'", "the value 'Oslo' was not said",
        "SET city: Porto: the quote is not in the user's turn: 'Faro'",
        "DELETE meal: no active item, or more than one, is named 'meal'", "conclusion: expected what the user wants, no more",
    ]  # fmt: skip
    counts = json.loads((out / "counts.json").read_text())
    assert (counts["conversations annotated"], counts["conversations given up"], counts["edits"]) == (1, 1, 6)
    assert counts["annotations rejected"] == 5 + 6
    assert counts["usage"]["annotator"]["requests"] == asked
    assert any("- no JSON: expected a JSON object" in asked for asked in annotator.asked)


def test_nothing_that_could_be_read_is_an_error(tmp_path) -> None:
    with pytest.raises(SystemExit, match=r"no conversation could be read; .*quarantine.jsonl says why"):
        imported(tmp_path, "{}")


def test_a_conversation_is_no_episode(tmp_path) -> None:
    out = imported(tmp_path, *map(json.dumps, LINES))
    with pytest.raises(RecordError, match="field task: Field required"):
        read_jsonl(out / "conversations.jsonl", Episode)
    flags = [
        "--episodes",
        str(out / "conversations.jsonl"),
        "--out",
        str(tmp_path / "run"),
        "--arms",
        '{"none": {"kind": "null"}}',
    ]
    with pytest.raises(SystemExit, match=r"no episodes \(2 bad lines\)"):
        script("eval/closed_loop.py").main(flags)


@pytest.mark.parametrize("roles", [("user", "user"), ("system", "user"), ("assistant",), ()])
def test_a_conversation_alternates(roles) -> None:
    with pytest.raises(ValueError, match="user and agent must alternate"):
        Conversation(1, "x", tuple(Turn(role, "x") for role in roles))


class Heard:
    """Sets the city that the user's last words name, and shows what it was asked."""

    name = "heard"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, prompts, max_tokens):
        self.asked += [prompt[-1].content for prompt in prompts]
        return [Completion(self._write(prompt[-1].content.rpartition("User: ")[2]), 1, 1, True) for prompt in prompts]

    def _write(self, said: str) -> str:
        return next((f"SET city: {city}\nnonsense" for city in ("Porto", "Lisbon", "Oslo") if city in said), "NONE")


def test_a_tracker_shows_the_state_after_every_turn(tmp_path, capsys, monkeypatch) -> None:
    out = imported(tmp_path, *map(json.dumps, LINES))
    heard = Heard()
    monkeypatch.setattr(Backends, "make", lambda self, model, *rest: heard)
    monkeypatch.setattr(Model, "missing", lambda self, codec=None, window=3: "")
    flags = ["--conversations", str(out / "conversations.jsonl"), "--out", str(tmp_path / "run"), "--tracker", '{"base": "b"}']
    main = script("eval/track_conversations.py").main
    main(flags)
    shown = capsys.readouterr().out
    assert "=== one\n\nUser: A flight to Lisbon.\nFor three.\ncity: Lisbon\n(rejected nonsense: not an edit)" in shown
    assert "User: Porto,\nnot Lisbon.\ncity: Porto" in shown
    states = [json.loads(line) for line in (tmp_path / "run" / "states.jsonl").read_text().splitlines()]
    assert [(one["turn"], one["state"]) for one in states] == [(0, ["city: Lisbon"]), (1, ["city: Porto"]), (0, ["city: Oslo"])]
    # The greeting that the user answered is part of what the tracker sees.
    assert any("Agent: Hello!\nUser: Book Oslo." in asked for asked in heard.asked)
    asked = len(heard.asked)
    main(flags)
    assert len(heard.asked) == asked == 3


def test_the_oracle_has_nothing_to_say_about_a_conversation(tmp_path, capsys) -> None:
    write_jsonl(tmp_path / "c.jsonl", [Conversation(1, "x", (Turn("user", "x"),))])
    flags = ["--conversations", str(tmp_path / "c.jsonl"), "--out", str(tmp_path / "run"), "--tracker", '{"kind": "oracle"}']
    with pytest.raises(SystemExit):
        script("eval/track_conversations.py").main(flags)
    assert "tracker: there is no oracle to follow, expected in_process or openai, got 'oracle'" in capsys.readouterr().err
