"""The checker's prompt: one output, then one requirement or fact of one intent (LiveAsset, 3.4).

What all questions about an output share stands first (the trunk: dialogue, reply, calls, files), the intent and what is
asked last (the branch), so that many questions share one prefix (design D5). Every line of shown material is indented and
escaped: none of it can pass for a part of the template or a chat-template token.
"""

from __future__ import annotations

from intentfold.asset import ContextualIntent, Fact, Part
from intentfold.codec.escape import escape
from intentfold.codec.verdict import VERDICTS, Judgement, encode_verdict
from intentfold.dialogue import Dialogue, Output, Turn
from intentfold.records import content_hash

SYSTEM = "Judge one requirement: met, unmet: why, or not applicable."
_NAMES = {"user": "User", "assistant": "Agent", "system": "System"}
_LAYOUT = "{dialogue}Reply:\n{reply}\n{calls}{files}"
_QUESTION = "{why}{kind}: {text}{quotation}{privileged}"


def checker_trunk(dialogue: Dialogue, output: Output) -> str:
    """What every question about this output begins with."""
    calls = "".join(
        f"Call {escape(call.name)}: {escape('; '.join(f'{k}={v}' for k, v in call.arguments.items()))} -> {escape(call.result)}\n"
        for call in output.calls
    )
    files = "".join(f"File {escape(file.path)}:\n{_indented(file.text)}\n" for file in output.files)
    return _LAYOUT.format(
        dialogue="".join(f"{_NAMES[turn.role]}:\n{_indented(turn.content)}\n" for turn in dialogue),
        reply=_indented(output.reply),
        calls=calls,
        files=files,
    )


def checker_prompt(
    dialogue: Dialogue,
    output: Output,
    intent: ContextualIntent,
    part: Part,
    *,
    explanation: bool = True,
    privileged: Judgement | None = None,
) -> Dialogue:
    """The messages for one judgement of `part` of `intent` on `output`, which answers the last message of `dialogue`.

    Without `explanation` the checker does not learn when the intent applies (an ablation of LiveAsset, 4.4.1).
    `privileged` puts the right verdict into the prompt, for a self-teacher.
    """
    fact = isinstance(part, Fact)
    question = _QUESTION.format(
        why=f"Why: {escape(intent.explanation)}\n" if explanation and intent.explanation else "",
        kind="Fact" if fact else "Requirement",
        text=escape(part.text),
        quotation=f" (the user: {escape(part.quotation.text)})" if isinstance(part, Fact) else "",
        privileged="" if privileged is None else f"\nRight answer: {encode_verdict(privileged)}",
    )
    return Turn("system", SYSTEM), Turn("user", checker_trunk(dialogue, output) + question)


def checker_template_hash() -> str:
    """Identity of the template; it travels in every example and adapter."""
    return content_hash("\x00".join((SYSTEM, _LAYOUT, _QUESTION, *VERDICTS.values())))


def _indented(text: str) -> str:
    return "\n".join(f"  {escape(line)}" for line in text.strip("\n").split("\n"))
