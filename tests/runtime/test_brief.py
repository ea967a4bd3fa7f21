"""What a task gives its solver, and nothing of what the user wants."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from intentfold.runtime.brief import task_brief
from intentfold.runtime.model_agent import view_prompt
from intentfold.runtime.roles import View
from intentfold.sources.registry import FAMILIES, builtin_task
from tests.episodes import house, table_task


def test_functions_by_name_and_parameter() -> None:
    assert task_brief(table_task()).split("\n", 1)[1] == (
        "book: Book a house.\n- city (string, required): city\n- guests (integer, required): guests\n"
        "- pool (boolean): pool\n- garden (boolean): garden"
    )


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_wish_of_the_user_is_in_a_brief(family: str) -> None:
    for index in range(20):
        task = builtin_task(family, 5, index)
        brief = task_brief(task)
        assert all(goal.text not in brief for goal in task.goals)
        known = {
            "calls": "- ",
            "sql": "CREATE TABLE",
            "code": f"def {task.payload['reference'].get('function')}(",
            "number": "number",
        }
        assert known.get(task.answer_form, "") in brief


def test_rows_of_a_database_stay_out() -> None:
    task = builtin_task("sql", 5, 0)
    assert "INSERT" in "".join(task.payload["database"]["script"])
    assert "INSERT" not in task_brief(task)


def test_tables_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (\n  a INTEGER)")
        connection.execute("INSERT INTO t VALUES (7)")
    connection.close()
    task = replace(builtin_task("sql", 5, 0), payload={"database": {"path": str(path)}})
    assert task_brief(task).endswith(":\nCREATE TABLE t ( a INTEGER)")
    with pytest.raises(sqlite3.Error):
        task_brief(replace(task, payload={"database": {"path": str(tmp_path / "none.sqlite")}}))


def test_an_agent_sees_the_brief_first_and_the_dialogue_as_it_was() -> None:
    story = house()
    system, *rest = view_prompt(View(story.drift(), None, story.task))
    assert system.content.endswith(f"\n\n{task_brief(story.task)}")
    assert tuple(rest) == story.drift()
