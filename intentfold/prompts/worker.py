"""The working agent's prompt: its tools first, the dialogue as it was, and what it is told beyond that after the last message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from intentfold.asset import ContextualIntent
from intentfold.codec.escape import escape
from intentfold.codec.state import active_lines
from intentfold.dialogue import Dialogue, Output, Turn
from intentfold.intent import IntentItem
from intentfold.prompts.agent import STATE
from intentfold.prompts.checker import checker_trunk

SYSTEM = """You do tasks for a user with tools and files. Write actions and nothing else, each a JSON object:
{{"call": "TOOL", "arguments": {{"NAME": "VALUE"}}}}
{{"write": "PATH", "text": "THE WHOLE TEXT OF THE FILE"}}
{{"reply": "WHAT YOU SAY TO THE USER"}}
After calls you are shown what they returned, and go on. The reply comes last and ends your work. If you must ask the user \
something first, reply with the question alone.
Tools:
{tools}
{brief}"""
TOOL = "- {name}({arguments}): {does}"
INTENTS = "\n\n[What this user wants, learned from earlier work]\n{lines}"
NOTES = "\n\n[Notes from earlier work for this user]\n{lines}"
DRAFT = "\n\n[Your last result. Nothing of it stays, neither bookings nor files: do the whole work again, better]\n{draft}"
UNMET = "\n\n[Found to be wrong with it]\n{lines}"
MET = "\n\n[Found to be right: keep it so]\n{lines}"
CALLED = "{name}: {result}"
WRITTEN = "{path}: written"
NO_ACTION = "not done: {what} ({why})"
RESULTS = "{lines}\nGo on."
NOTHING = "nothing was done"


def tool_line(name: str, arguments: Sequence[str], optional: Sequence[str], does: str) -> str:
    """How a tool is shown; optional arguments stand in brackets."""
    return TOOL.format(name=name, arguments=", ".join([*arguments, *(f"[{one}]" for one in optional)]), does=does)


def worker_prompt(
    dialogue: Dialogue,
    tools: Sequence[str],
    brief: str,
    *,
    intents: Sequence[ContextualIntent] = (),
    notes: Sequence[str] = (),
    draft: Output | None = None,
    unmet: Sequence[tuple[str, str]] = (),
    met: Sequence[str] = (),
    items: Sequence[IntentItem] | None = None,
) -> Dialogue:
    """The messages that begin one piece of work on `dialogue`, which ends with the user's message.

    `tools` are lines of `tool_line`. `unmet` are findings with their reasons about the `draft`, `met` what must stay.
    `items` is the active state, None where there is the history alone.
    """
    if not dialogue or dialogue[-1].role != "user":
        raise ValueError("the dialogue to work on must end with a user turn")
    last = dialogue[-1].content
    if items is not None:
        last += STATE.format(items=active_lines(tuple(items)) or "- nothing")
    if intents:
        last += INTENTS.format(lines="\n".join(line for intent in intents for line in _intent(intent)))
    if notes:
        last += NOTES.format(lines=_lines(notes))
    if draft is not None:
        last += DRAFT.format(draft=checker_trunk((), draft).rstrip("\n"))
    if unmet:
        last += UNMET.format(lines=_lines(f"{text}: {reason}" if reason else text for text, reason in unmet))
    if met:
        last += MET.format(lines=_lines(met))
    system = SYSTEM.format(tools="\n".join(tools), brief=brief)
    return Turn("system", system), *dialogue[:-1], Turn("user", last)


def results_turn(lines: Sequence[str]) -> Turn:
    """What the agent is shown after its actions; each line made by `called`, `written` or `no_action`."""
    return Turn("user", RESULTS.format(lines="\n".join(lines) or NOTHING))


def called(name: str, result: str) -> str:
    """The line of a call."""
    return CALLED.format(name=escape(name), result=escape(result))


def written(path: str) -> str:
    """The line of a file."""
    return WRITTEN.format(path=escape(path))


def no_action(what: str, why: str) -> str:
    """The line of what was no action."""
    return NO_ACTION.format(what=escape(what), why=escape(why))


def _intent(intent: ContextualIntent) -> list[str]:
    return [f"- {escape(intent.explanation)}", *(f"  - {escape(part.text)}" for part in intent.parts)]


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts)
