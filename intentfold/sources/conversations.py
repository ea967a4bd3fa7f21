"""People's own conversations: a JSON object of OpenAI-style messages a line (design D12)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from intentfold.dialogue import Dialogue, Role, Turn, to_messages
from intentfold.records import canonical_json, content_hash
from intentfold.sources.loading import parsed
from intentfold.trace import Conversation

# What is neither the user's nor the agent's own words.
_LEFT_OUT = ("system", "developer", "tool", "function")


def read_conversation(line: str) -> tuple[Conversation, Counter[str]]:
    """The conversation of one line, `{"messages": [{"role": …, "content": …}, …], "id": …}`; its `id` may be missing.

    Messages that are not the user's or the agent's, and those without words (tool calls), are left out; messages of one
    side in a row become one: how many of each stands beside the conversation. Raises `ValueError` naming the message at
    fault; words are all that can be tracked, so an image is one.
    """
    line.encode("utf-8")  # what was no UTF-8 stands in the line as lone surrogates
    data = parsed("the line", line)
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        raise ValueError(f"expected an object with a list of messages, got {line[:80]!r}")
    turns: list[Turn] = []
    found: Counter[str] = Counter()
    for number, message in enumerate(data["messages"]):
        where = f"messages.{number}"
        role = _role(message, where)
        if role is None:
            found[f"{message['role']} messages left out"] += 1
            continue
        text = _text(message.get("content"), where).strip()
        if not text:
            found[f"{role} messages without words left out"] += 1
        elif turns and turns[-1].role == role:
            found[f"{role} messages joined to the one before"] += 1
            turns[-1] = Turn(role, f"{turns[-1].content}\n{text}")
        else:
            turns.append(Turn(role, text))
    dialogue = tuple(turns)
    id = data.get("id", own_id(dialogue))
    if isinstance(id, bool) or not isinstance(id, str | int) or not str(id).strip():
        raise ValueError(f"id: expected a string or a whole number, got {id!r}")
    return Conversation(1, str(id), dialogue), found


def own_id(dialogue: Dialogue) -> str:
    """The id of a conversation that has none: a hash of its words."""
    return content_hash(canonical_json(to_messages(dialogue)))


def _role(message: Any, where: str) -> Role | None:
    role = message.get("role") if isinstance(message, dict) else None
    if role in ("user", "assistant"):
        return "user" if role == "user" else "assistant"
    if role in _LEFT_OUT:
        return None
    raise ValueError(f"{where}: expected a message of role user, assistant or {', '.join(_LEFT_OUT)}, got {str(message)[:80]}")


def _text(content: Any, where: str) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise ValueError(f"{where}.content: expected text or a list of parts, got {str(content)[:80]}")
    for number, part in enumerate(content):
        if not (isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)):
            raise ValueError(f"{where}.content.{number}: expected a part of type text, got {str(part)[:80]}")
    return "\n".join(part["text"] for part in content)
