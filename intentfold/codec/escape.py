"""Escaping for one-line fields: any text in, one printable line out, and exactly that text back."""

from __future__ import annotations

import re
from functools import lru_cache

# What could begin a token that a tokenizer adds to its words (<|im_end|>, <think>, </s>, <｜User｜>, [INST], [/INST]): text
# must never become one, so its first character is written \u003c or \u005b, as JSON writes markup.
_TOKEN = re.compile(r"<(?=[^\W\d_]|[|｜/])|\[(?=/?[A-Z][A-Z_]+\])")
_PLAIN = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BACK = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t", "_": " "}
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)", re.DOTALL)
_LINE_BREAKS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@lru_cache(maxsize=1 << 14)  # a state is written anew every turn, out of the same few texts
def escape(text: str, marks: str = "") -> str:
    """One line without any character of `marks` unescaped; spaces at the ends are kept as `\\_`."""
    out = []
    for position, char in enumerate(text):
        edge = position in (0, len(text) - 1)
        if char in _PLAIN:
            out.append(_PLAIN[char])
        elif (char in "<[" and _TOKEN.match(text, position)) or char in _LINE_BREAKS or "\ud800" <= char <= "\udfff":
            out.append(f"\\u{ord(char):04x}")
        elif char == " " and edge:
            out.append("\\_")
        elif char in marks:
            out.append("\\" + char)
        elif char.isspace() and char != " ":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return "".join(out)


def defuse(text: str) -> str:
    """The text as it is, lines and all, but that nothing in it begins a token that a tokenizer adds to its words."""
    return _TOKEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def unescape(text: str) -> str:
    """The inverse of `escape`. Total: an unknown escape stands for its character, a trailing backslash for itself."""

    def back(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            # A lone surrogate is no text: it could not be written anywhere.
            return "\ufffd" if code[1:3] in ("d8", "d9", "da", "db", "dc", "dd", "de", "df") else chr(int(code[1:], 16))
        return _BACK.get(code, code)

    return _ESCAPE.sub(back, text)


def split_unescaped(text: str, mark: str) -> tuple[str, str] | None:
    """The parts before and after the first unescaped `mark`, or None where there is none."""
    position = 0
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text.startswith(mark, position):
            return text[:position], text[position + len(mark) :]
        else:
            position += 1
    return None
