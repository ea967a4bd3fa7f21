"""A pickled text: what LiveCodeBench packs its private tests in (base64, zlib, pickle of a JSON text).

The pickle is read and never loaded: a pickle's program can call what it names, and can ask for memory beyond any bound.
"""

from __future__ import annotations

import base64
import pickletools
import zlib

MOST_BYTES = 512 * 2**20
_TEXT = ("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8")
_AROUND = ("PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP")


def unpacked(text: str) -> str:
    """The text behind base64, zlib and pickle; raises `ValueError` where it is anything else or too much."""
    try:
        packed = zlib.decompressobj()
        data = packed.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
        if packed.unconsumed_tail or packed.unused_data or not packed.eof:
            raise ValueError(f"expected one whole zlib stream of at most {MOST_BYTES} bytes")
        found = []
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _TEXT:
                found.append(str(argument))
            elif opcode.name not in _AROUND:
                raise ValueError(f"holds {opcode.name}, where one text alone is read")
        if len(found) != 1:
            raise ValueError(f"holds {len(found)} texts, where one alone is read")
    except (ValueError, zlib.error) as error:
        raise ValueError(f"expected base64 of zlib of a pickled text: {error}") from None
    return found[0]
