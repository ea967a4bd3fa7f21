"""Pickled plain data: what LiveCodeBench packs its private tests in (base64, zlib, pickle of a JSON text)."""

from __future__ import annotations

import base64
import binascii
import io
import pickle
import zlib
from typing import Any, NoReturn

MOST_BYTES = 512 * 2**20
# What the unpickler raises on bytes that are no pickle, or one that was put together by hand.
_BROKEN = (pickle.UnpicklingError, AttributeError, EOFError, IndexError, KeyError, MemoryError, OverflowError, TypeError)


class _PlainData(pickle.Unpickler):
    """Builds texts, numbers, lists and dicts. Anything else needs a global, and none is allowed."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"names {module_name}.{global_name}: only plain data is read")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError(f"names the object {pid!r} outside: only plain data is read")


def unpacked(text: str) -> Any:
    """The plain data behind base64, zlib and pickle; raises `ValueError` where it is anything else or too much."""
    try:
        packed = zlib.decompressobj()
        data = packed.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
        if packed.unconsumed_tail or not packed.eof:
            raise ValueError(f"expected one whole zlib stream of at most {MOST_BYTES} bytes")
        return _PlainData(io.BytesIO(data)).load()
    except (binascii.Error, zlib.error, *_BROKEN) as error:
        raise ValueError(f"expected base64 of zlib of pickled plain data: {error}") from None
