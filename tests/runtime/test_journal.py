"""The journal: nothing lost, nothing done twice."""

from __future__ import annotations

import pytest

from intentfold.dialogue import Turn
from intentfold.graders import Grade
from intentfold.records import RecordError
from intentfold.runtime.journal import Journal, JournaledBackend, journaled_grade
from intentfold.runtime.roles import BackendError, Completion
from tests.episodes import table_task

PROMPTS = [(Turn("user", "x" * n),) for n in range(10)]


class Failing:
    """Echoes the length of the prompt; fails at the given call, having finished one prompt of it."""

    def __init__(self, fails_at: int | None = None, name: str = "model") -> None:
        self.name, self.fails_at, self.calls, self.asked = name, fails_at, 0, 0

    def complete(self, prompts, max_tokens):
        self.calls += 1
        done = [Completion(str(len(prompt[0].content)), 1, 1, True) for prompt in prompts]
        if self.calls == self.fails_at:
            self.asked += 1
            raise BackendError("connection lost", {1: done[1]})
        self.asked += len(prompts)
        return done


def test_a_run_that_failed_asks_only_for_what_is_missing(tmp_path) -> None:
    first = Failing(fails_at=2)
    with pytest.raises(BackendError, match="connection lost") as error:
        JournaledBackend(first, Journal(tmp_path / "j"), chunk=3).complete(PROMPTS, 8)
    # What came back stands at its place among the caller's prompts, whatever chunk it was in.
    assert len(error.value.finished) == 4
    assert all(completion.text == str(place) for place, completion in error.value.finished.items())
    again = Failing()
    progress = []
    found = JournaledBackend(again, Journal(tmp_path / "j"), chunk=3, progress=progress.append).complete(PROMPTS, 8)
    assert [completion.text for completion in found] == [str(n) for n in range(10)]
    assert first.asked == 4
    assert again.asked == 6
    assert sum(progress) == 10


def test_other_models_and_limits_are_not_mixed_up(tmp_path) -> None:
    journal = Journal(tmp_path / "j")
    for name, limit in (("a", 8), ("b", 8), ("a", 9)):
        backend = Failing(name=name)
        JournaledBackend(backend, journal).complete(PROMPTS, limit)
        assert backend.asked == 10


def test_equal_prompts_are_asked_once(tmp_path) -> None:
    backend = Failing()
    found = JournaledBackend(backend, Journal(tmp_path / "j")).complete([PROMPTS[2]] * 3, 8)
    assert [completion.text for completion in found] == ["2", "2", "2"]
    assert backend.asked == 1


def test_a_line_cut_by_a_kill_is_dropped_and_a_bad_one_named(tmp_path) -> None:
    path = tmp_path / "j"
    Journal(path).write({"a": 1, "b": 2})
    path.write_bytes(path.read_bytes()[:-3])
    journal = Journal(path)
    assert journal.entries == {"a": 1}
    journal.write({"c": 3})
    assert Journal(path).entries == {"a": 1, "c": 3}
    path.write_text('["a", 1]\nnonsense\n["c", 3]\n')
    with pytest.raises(RecordError, match=r"j:2: expected \[key, value\]"):
        Journal(path)


def test_grades_are_kept_but_not_those_that_could_not_be_given(tmp_path) -> None:
    asked = []

    def grade(task, answer):
        asked.append(answer)
        return Grade(None, False, "sandbox failed") if answer == "lost" else Grade(1.0, True, "fine")

    for _ in range(2):
        journal = Journal(tmp_path / "j")
        assert journaled_grade(journal, table_task(), "good", grade) == Grade(1.0, True, "fine")
        assert journaled_grade(journal, table_task(), "lost", grade).value is None
    assert asked == ["good", "lost", "lost"]


@pytest.mark.parametrize("line", ["5", "null", '"ab"', '{"a": 1, "b": 2}', "[[1], 2]", "[1, 2, 3]", "[" * 100_000])
def test_a_line_that_is_no_entry_is_named(tmp_path, line: str) -> None:
    (tmp_path / "j.jsonl").write_text(f'["a", 1]\n{line}\n', encoding="utf-8")
    with pytest.raises(RecordError, match=r"j\.jsonl:2: expected \[key, value\]"):
        Journal(tmp_path / "j.jsonl")
