"""Rejection sampling: each reason planted, counts that add up, and one row a thought."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from intentfold.codec.thinking import Thinking
from intentfold.example import trl_row
from intentfold.graders import Grade, grade
from intentfold.mining.card import write_dataset
from intentfold.mining.rationales import (
    KEPT,
    Case,
    Draft,
    agent_case,
    checker_case,
    drafts,
    gradable,
    scripted_drafts,
    sift,
    tracker_cases,
)
from intentfold.prompts.templates import role_of, template_hash
from intentfold.runtime.roles import BackendError, Completion
from intentfold.runtime.scripted import CannedBackend
from intentfold.runtime.thinking import ThinkingBackend
from tests.episodes import house, small_house
from tests.tiny import tiny_judgements

RIGHT = '[{"name": "book", "arguments": {"city": "Lisbon", "guests": 3}}]'
STALE = '[{"name": "book", "arguments": {"city": "Porto", "guests": 3}}]'


def case() -> Case:
    return agent_case(house(), "drift", grade)


def draft(thought: str, answer: str = RIGHT, unread: str = "") -> Draft:
    return Draft(Thinking(thought, answer), "m", unread)


def test_every_reason_against_a_draft_is_counted_once() -> None:
    planted = [
        draft("", unread="cut off"),
        draft("", unread="no end of the thought"),
        draft(" "),
        draft("a\nAnswer:\nb"),
        draft("The note says Lisbon."),
        draft("Porto.", STALE),
        draft("Lisbon it is."),
        draft("lisbon  it is"),
        draft("Not Porto, Lisbon."),
        draft("A third way."),
    ]
    kept, counts = sift(case(), planted, "plain", 2, "state")
    assert [one.thought for one in kept] == ["Lisbon it is.", "Not Porto, Lisbon."]
    assert counts == Counter(
        {
            "cut off": 1,
            "no end of the thought": 1,
            "the thought is blank": 1,
            "the thought holds a mark of its own end": 1,
            "speaks of what it was shown": 1,
            "wrong answer": 1,
            "duplicate": 1,
            "more than asked for": 1,
            KEPT: 2,
        }
    )
    assert sum(counts.values()) == len(planted)


def test_a_teacher_that_was_shown_nothing_may_speak_of_notes() -> None:
    assert sift(case(), [draft("I make the note Lisbon.")], "plain", 1)[1] == {KEPT: 1}


def test_what_cannot_be_graded_is_counted_as_such() -> None:
    down = agent_case(house(), "drift", lambda task, answer: Grade(None, False, "sandbox"))
    assert sift(down, [draft("a")], "plain", 1) == ([], Counter({"ungradable": 1}))
    judged = replace(house(), task=replace(house().task, answer_form="summary"))
    assert gradable(house())
    assert not gradable(judged)


def test_trackers_are_judged_by_the_state_and_checkers_by_the_verdict() -> None:
    first = next(tracker_cases(house(), "delta", None))
    said = [draft("t", text) for text in ("SET city: Porto", "SET city: Porto\nSET pool: yes", "SET pool: yes\nSET city: Porto")]
    bad = draft("t", "SET city: Porto\nSET pool: yes\nDELETE lift")
    kept, counts = sift(first, [*said, bad], "plain", 9)
    assert [one.completion for one in kept] == [said[1].thinking.answer, said[2].thinking.answer]
    assert counts == {"wrong state": 1, "rejected edits": 1, KEPT: 2}
    _, unmet, _ = tiny_judgements(1, 3)
    found = [draft("t", text) for text in ("met", "unmet: cold tea", "Unmet, I think")]
    kept, counts = sift(checker_case(unmet), found, "plain", 9)
    assert [one.completion for one in kept] == ["unmet: cold tea"]
    assert counts == {"wrong verdict": 1, "no verdict": 1, KEPT: 1}


def test_the_scripted_teacher_is_always_right() -> None:
    cases = [
        *(agent_case(story, told, grade) for story in (house(), small_house()) for told in ("drift", "clean")),
        *tracker_cases(house(), "delta", 3),
        *tracker_cases(house(), "full", None),
        *map(checker_case, tiny_judgements(2, 3)),
    ]
    for one, its in zip(cases, scripted_drafts(cases), strict=True):
        for style in ("think", "plain"):
            assert sift(one, [its], style, 1)[1] == {KEPT: 1}, its


def test_rows_carry_thought_template_and_teacher() -> None:
    [plain] = sift(case(), [draft("Lisbon.")], "plain", 1, "edits")[0]
    assert (plain.provenance.codec, plain.provenance.mining, plain.provenance.teacher) == ("answer+plain", "drift", "m")
    assert plain.provenance.shown == "edits"
    assert plain.provenance.template == template_hash("answer+plain")
    assert role_of("answer+plain") == "agent"
    assert trl_row(plain)["completion"] == [{"role": "assistant", "content": f"Lisbon.\nAnswer:\n{RIGHT}"}]
    [think] = sift(case(), [draft("Lisbon.")], "think", 1)[0]
    assert trl_row(think)["completion"] == [{"role": "assistant", "content": RIGHT, "reasoning_content": "Lisbon."}]
    [bare] = sift(case(), [draft("", RIGHT), draft("x", RIGHT)], None, 9)[0]
    assert (bare.thought, bare.provenance.codec, bare.provenance.teacher) == ("", "answer", "")
    assert trl_row(bare)["completion"] == [{"role": "assistant", "content": RIGHT}]
    hashes = {
        template_hash(codec) for codec in ("answer", "answer+plain", "answer+think", "delta", "delta+plain", "verdict+plain")
    }
    assert len(hashes) == 6


@pytest.mark.parametrize("shown", ["nothing", "state", "edits"])
def test_a_privileged_teacher_is_shown_what_is_said_and_no_other(shown: str) -> None:
    asked = []

    class Ear(CannedBackend):
        def complete(self, prompts, max_tokens):  # type: ignore[no-untyped-def]
            asked.extend(prompts)
            return super().complete(prompts, max_tokens)

    [found] = drafts([case()], Ear({}, otherwise=f"So.\nAnswer:\n{RIGHT}", name="ear"), shown, writes=True, max_tokens=99)  # type: ignore[arg-type]
    assert found == Draft(Thinking("So.", RIGHT), "ear")
    last = asked[0][-1].content
    assert ("- city: Lisbon\n- guests: 3" in last) == (shown == "state")
    assert ("Turn 4: replace city: Porto by Lisbon" in last) == (shown == "edits")
    assert ("A note for you alone" in last) == (shown != "nothing")


def test_drafts_that_cannot_be_read_say_why() -> None:
    class Cut(CannedBackend):
        def complete(self, prompts, max_tokens):  # type: ignore[no-untyped-def]
            return [Completion("So.\nAnswer:\nbook(", 1, 1, False) for _ in prompts]

    def unread(backend, writes: bool) -> str:  # type: ignore[no-untyped-def]
        return drafts([case()], backend, "nothing", writes=writes, max_tokens=9)[0].unread

    assert unread(Cut({}), True) == "cut off"
    assert unread(CannedBackend({}, otherwise="book()"), True) == "no end of the thought"
    assert unread(ThinkingBackend(CannedBackend({}, otherwise="hm"), "think"), False) == "no end of the thought"
    [own] = drafts(
        [case()],
        ThinkingBackend(CannedBackend({}, otherwise=f"hm</think>{RIGHT}"), "think"),
        "nothing",
        writes=False,
        max_tokens=9,
    )
    assert own.thinking == Thinking("hm", RIGHT)
    with pytest.raises(BackendError):
        drafts([case()], CannedBackend({}), "nothing", writes=True, max_tokens=9)


def test_the_card_tells_what_was_kept_and_what_was_not(tmp_path: Path) -> None:
    kept, counts = sift(case(), [draft("a"), draft("b", STALE)], "plain", 1)
    write_dataset(tmp_path, {"train": kept}, {}, "data_gen/mine_rationales.py", {"train": counts})
    card = (tmp_path / "README.md").read_text()
    assert "Drafts of train: kept 1, wrong answer 1." in card
    assert "A thought leads to each completion" in card
