"""The asset store: versions, atomic writes, two writers in two processes."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from intentfold.asset import Assets, Situation
from intentfold.records import RecordError
from intentfold.runtime.asset_store import AssetStore, StaleAssets


def add(name: str):
    return lambda assets: replace(assets, situations=(*assets.situations, Situation(name)))


def names(assets: Assets) -> list[str]:
    return [situation.description for situation in assets.situations]


def test_each_commit_is_a_version_that_stays(tmp_path: Path) -> None:
    store = AssetStore(tmp_path)
    assert store.load("ann") == Assets("ann")
    for name in ("a", "b", "c"):
        store.update("ann", add(name))
    assert store.versions("ann") == [1, 2, 3]
    assert names(store.load("ann")) == ["a", "b", "c"]
    assert names(store.load("ann", 2)) == ["a", "b"]
    assert store.load("bob") == Assets("bob")
    assert sorted(path.name for path in (tmp_path / "ann").iterdir()) == ["000001.json", "000002.json", "000003.json"]


def test_a_change_to_an_old_version_is_refused(tmp_path: Path) -> None:
    store = AssetStore(tmp_path)
    old = store.load("ann")
    store.update("ann", add("a"))
    with pytest.raises(StaleAssets, match="version 1 of ann"):
        store.commit(replace(old, situations=(Situation("mine"),)))
    assert names(store.load("ann")) == ["a"]
    with pytest.raises(FileNotFoundError, match="000007"):
        store.commit(Assets("ann", 7))


def test_a_writer_that_was_late_applies_its_change_to_what_is_there(tmp_path: Path) -> None:
    store = AssetStore(tmp_path)
    calls = []

    def slow(assets: Assets) -> Assets:
        calls.append(assets.version)
        if len(calls) == 1:
            AssetStore(tmp_path).update("ann", add("other"))
        return add("mine")(assets)

    assert names(store.update("ann", slow)) == ["other", "mine"]
    assert calls == [0, 1]
    with pytest.raises(StaleAssets, match="first 1 times"):
        store.update("ann", lambda assets: (AssetStore(tmp_path).update("ann", add("x")), assets)[1], attempts=1)


def test_a_half_written_file_is_not_a_version(tmp_path: Path) -> None:
    store = AssetStore(tmp_path)
    store.update("ann", add("a"))
    (tmp_path / "ann" / "tmp123.partial").write_text('{"user": "an')
    assert names(store.load("ann")) == ["a"]
    (tmp_path / "ann" / "000002.json").write_text('{"user": "an')
    with pytest.raises(RecordError, match=r"000002\.json"):
        store.load("ann")
    (tmp_path / "ann" / "000002.json").write_text('{"user":"bob","version":2}')
    with pytest.raises(RecordError, match="expected version 2 of ann, got 2 of bob"):
        store.load("ann")


@pytest.mark.parametrize("user", ["", "..", "../ann", "a/b", "-a b", "x" * 200])
def test_a_user_is_a_plain_name(tmp_path: Path, user: str) -> None:
    with pytest.raises(ValueError, match="a user's name"):
        AssetStore(tmp_path).load(user)


def write_many(root: Path, writer: str, count: int, gate) -> None:
    gate.wait()
    for number in range(count):
        AssetStore(root).update("ann", add(f"{writer}{number}"))


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(2)
    writers = [context.Process(target=write_many, args=(tmp_path, writer, 25, gate)) for writer in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
        assert writer.exitcode == 0
    store = AssetStore(tmp_path)
    final = names(store.load("ann"))
    assert sorted(final) == sorted(f"{writer}{number}" for writer in "ab" for number in range(25))
    assert store.versions("ann") == list(range(1, 51))
    for writer in "ab":
        mine = [name for name in final if name.startswith(writer)]
        assert mine == [f"{writer}{number}" for number in range(25)]
    assert [names(store.load("ann", version)) for version in (1, 30)] == [final[:1], final[:30]]


@pytest.mark.parametrize("name", ["000002 (copy).json", "3_bak.json", "1e3.json"])
def test_other_files_are_no_versions(tmp_path: Path, name: str) -> None:
    store = AssetStore(tmp_path)
    store.commit(store.load("u0"))
    (tmp_path / "u0" / name).write_text("x", encoding="utf-8")
    assert store.versions("u0") == [1]
    assert store.load("u0").version == 1
