"""Records: a file that holds one id twice is refused, wherever it is read."""

from __future__ import annotations

import pytest

from intentfold.records import RecordError, read_jsonl, read_jsonl_quarantining, write_jsonl
from intentfold.task import Goal
from intentfold.trace import Episode
from tests.episodes import house, small_house


def test_a_second_record_of_an_id_is_refused_with_both_lines(tmp_path) -> None:
    path = tmp_path / "episodes.jsonl"
    write_jsonl(path, [house("a"), small_house("b"), small_house("a")])
    with pytest.raises(RecordError, match=r"episodes\.jsonl:3: the id 'a' stands on line 1 already"):
        read_jsonl(path, Episode)
    kept, bad = read_jsonl_quarantining(path, Episode, tmp_path / "quarantine.jsonl")
    assert ([episode.id for episode in kept], bad) == (["a", "b"], 1)
    assert "the id 'a' stands on line 1 already" in (tmp_path / "quarantine.jsonl").read_text()


def test_records_of_other_ids_may_be_equal(tmp_path) -> None:
    write_jsonl(tmp_path / "goals.jsonl", [Goal("1", "x"), Goal("2", "x")])
    assert len(read_jsonl(tmp_path / "goals.jsonl", Goal)) == 2


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path) -> None:
    path = tmp_path / "goals.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "1", "text": "x"}\n{"id": "2", "text": "y"}\n')
    assert [goal.id for goal in read_jsonl(path, Goal)] == ["1", "2"]
    with pytest.raises(RecordError, match=r"goals.jsonl:2: "):
        path.write_bytes(b'{"id": "1", "text": "x"}\n\xef\xbb\xbf{"id": "2", "text": "y"}\n')
        read_jsonl(path, Goal)
