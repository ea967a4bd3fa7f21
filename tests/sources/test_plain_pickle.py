"""Packed tests: plain data comes out, and nothing that a pickle could run does."""

from __future__ import annotations

import base64
import os
import pickle
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
def test_plain_data_comes_out(protocol: int) -> None:
    data = ['[{"input": "1"}]', 3, 2.5, True, None, {"a": [1]}, (1, 2)]
    assert unpacked(packed(data, protocol)) == data


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_global_is_ever_looked_up(protocol: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"names (posix|nt)\.mkdir: only plain data is read"):
        unpacked(packed(Harm(tmp_path / "made"), protocol))
    assert not (tmp_path / "made").exists()
    with pytest.raises(ValueError, match="only plain data is read"):
        unpacked(packed(OrderedDict(a=1), protocol))


@pytest.mark.parametrize("text", ["***", base64.b64encode(b"plain").decode(), base64.b64encode(zlib.compress(b"")).decode()])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="expected base64 of zlib of pickled plain data"):
        unpacked(text)


@pytest.mark.parametrize("raw", [b"K\x01K\x02a.", b"\x80\x02}}(K\x01K\x02ub.", b"\x80\x04\x8e" + b"\xff" * 8 + b"."])
def test_a_pickle_put_together_by_hand_is_refused(raw: bytes) -> None:
    # An append to a number, a state given to a dict, bytes longer than any machine holds.
    with pytest.raises(ValueError, match="expected base64 of zlib of pickled plain data"):
        unpacked(base64.b64encode(zlib.compress(raw)).decode())


def test_half_a_stream_is_refused() -> None:
    half = base64.b64decode(packed("0123456789" * 9))[:-8]
    with pytest.raises(ValueError, match="expected one whole zlib stream"):
        unpacked(base64.b64encode(half).decode())


def test_a_bomb_is_not_unfolded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_pickle, "MOST_BYTES", 1000)
    with pytest.raises(ValueError, match="at most 1000 bytes"):
        unpacked(packed("0" * 10_000))
