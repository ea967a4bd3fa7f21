"""Answers of a stated shape: a dataclass gives the schema that a server is asked to hold to and reads what comes back."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter

from intentfold.records import from_json
from intentfold.runtime.roles import Completion

T = TypeVar("T")
# How a server is held to a shape: by its schema, to some JSON object, or by the prompt's words alone.
Structured = Literal["json_schema", "json_object", "none"]


@cache
def response_format(shape: type, structured: Structured) -> dict[str, Any] | None:
    """The request's `response_format` for answers of this shape (OpenAI's API; vLLM has the same)."""
    if structured == "none":
        return None
    if structured == "json_object":
        return {"type": "json_object"}
    schema = TypeAdapter(shape).json_schema()
    return {"type": "json_schema", "json_schema": {"name": shape.__name__.lower(), "strict": True, "schema": schema}}


def read_structured(shape: type[T], completion: Completion) -> T:
    """The answer; words around its outermost object are left aside. Raises `ValueError` with the field at fault."""
    if not completion.stopped:
        raise ValueError(f"cut off after {completion.completion_tokens} tokens")
    begin, end = completion.text.find("{"), completion.text.rfind("}")
    if begin < 0 or end < begin:
        raise ValueError(f"expected a JSON object, got {completion.text[:80]!r}")
    return from_json(shape, completion.text[begin : end + 1])
