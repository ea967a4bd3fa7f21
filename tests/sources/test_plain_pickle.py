"""Packed tests: the text comes out, and nothing that a pickle could run does."""

from __future__ import annotations

import base64
import os
import pickle
import resource
import zlib
from collections import OrderedDict
from pathlib import Path

import pytest

from intentfold.sources import plain_pickle
from intentfold.sources.plain_pickle import unpacked


def packed(data: object, protocol: int = 4) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(data, protocol))).decode()


class Harm:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("text", ["", '[{"input": "é\\n1 🙂"}]', "long " * 100])
def test_the_text_comes_out(protocol: int, text: str) -> None:
    assert unpacked(packed(text, protocol)) == text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_is_ever_called_or_looked_up(protocol: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds (STACK_)?GLOBAL, where one text alone is read"):
        unpacked(packed(Harm(tmp_path / "made"), protocol))
    assert not (tmp_path / "made").exists()
    for data in (["a"], {"a": 1}, 3, None, OrderedDict(a=1), b"a"):
        with pytest.raises(ValueError, match="where one text alone is read"):
            unpacked(packed(data, protocol))


HOSTILE = [
    b"",
    b".",
    b"V\\u12\n.",  # half an escape
    b"X\xff\xff\xff\x7fa.",  # a text longer than the pickle
    b"X\x01\x00\x00\x00\xff.",  # no UTF-8
    b"Pout of here\n.",
    b"K\x01K\x02a.",  # appends to a number
    b"]}b.",  # sets attributes of a list
    b"\x8f(Nee\x90.",
    b"]q\x00h\x00a.",  # a list within itself
    b"V\n" * 3 + b".",
]


@pytest.mark.parametrize("program", HOSTILE)
def test_a_hostile_program_is_refused_by_one_error(program: bytes) -> None:
    with pytest.raises(ValueError, match="expected base64 of zlib of a pickled text"):
        unpacked(base64.b64encode(zlib.compress(program)).decode())


def test_a_place_in_the_memo_takes_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert unpacked(base64.b64encode(zlib.compress(b"Va\nr\x00\x00\x00\x02.")).decode()) == "a"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**16, "kilobytes; the memo would be half a gigabyte"


@pytest.mark.parametrize("text", ["***", "é", base64.b64encode(b"plain").decode(), packed("a")[:-4] + "AAAA"])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="expected base64 of zlib of a pickled text"):
        unpacked(text)


def test_what_follows_the_stream_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one whole zlib stream"):
        unpacked(base64.b64encode(zlib.compress(pickle.dumps("a")) + b"more").decode())


def test_half_a_stream_is_refused() -> None:
    half = base64.b64decode(packed("0123456789" * 9))[:-8]
    with pytest.raises(ValueError, match="expected one whole zlib stream"):
        unpacked(base64.b64encode(half).decode())


def test_a_bomb_is_not_unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_pickle, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="at most 1000 bytes"):
        unpacked(packed("0" * 10_000))
