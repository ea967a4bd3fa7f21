"""The checker's prompt: one output, then one requirement or fact of one intent (LiveAsset, 3.4).

What all questions about an output share stands first (the trunk: dialogue, reply, calls, files), the intent and what is
asked last (the branch), so that many questions share one prefix (design D5). Every line of shown material is indented and
escaped: none of it can pass for a part of the template or a chat-template token.
"""

from __future__ import annotations

from intentfold.asset import ContextualIntent, Fact, Part, Requirement
from intentfold.codec.escape import escape
from intentfold.codec.verdict import VERDICTS, Judgement, encode_verdict
from intentfold.dialogue import Dialogue, Observation, Output, Turn
from intentfold.records import content_hash

SYSTEM = "Judge one requirement: met, unmet: why, or not applicable."
# Version of how what is shown is escaped, indented and joined: a model trained on one cannot read another.
LINES = "1"
_NAMES = {"user": "User", "assistant": "Agent", "system": "System"}
_TURN = "{name}:\n{text}\n"
_CALL = "Call {name}: {arguments} -> {result}\n"
_ARGUMENT = "{name}={value}"
_FILE = "File {path}:\n{text}\n"
_LAYOUT = "{dialogue}Reply:\n{reply}\n{calls}{files}"
_WHY = "Why: {explanation}\n"
_KINDS = {Fact: "Fact", Requirement: "Requirement"}
_QUOTATION = " (the user: {words})"
_QUESTION = "{why}{kind}: {text}{quotation}{privileged}"
# Everything that a trunk holds beside what is shown in it; the learner's prompt is made of trunks too.
TRUNK = (LINES, *(f"{role} {name}" for role, name in _NAMES.items()), _TURN, _CALL, _ARGUMENT, _FILE, _LAYOUT)


def checker_trunk(dialogue: Dialogue, output: Output) -> str:
    """What every question about this output begins with."""
    return _LAYOUT.format(
        dialogue="".join(_TURN.format(name=_NAMES[turn.role], text=_indented(turn.content)) for turn in dialogue),
        reply=_indented(output.reply),
        calls="".join(map(_call, output.calls)),
        files="".join(_FILE.format(path=escape(file.path), text=_indented(file.text)) for file in output.files),
    )


def _call(call: Observation) -> str:
    arguments = "; ".join(_ARGUMENT.format(name=name, value=value) for name, value in call.arguments.items())
    return _CALL.format(name=escape(call.name), arguments=escape(arguments), result=escape(call.result))


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
    question = _QUESTION.format(
        why=_WHY.format(explanation=escape(intent.explanation)) if explanation and intent.explanation else "",
        kind=_KINDS[type(part)],
        text=escape(part.text),
        quotation=_QUOTATION.format(words=escape(part.quotation.text)) if isinstance(part, Fact) else "",
        privileged="" if privileged is None else f"\nRight answer: {encode_verdict(privileged)}",
    )
    return Turn("system", SYSTEM), Turn("user", checker_trunk(dialogue, output) + question)


def checker_template_hash() -> str:
    """Identity of the template; it travels in every example and adapter."""
    return content_hash("\x00".join((SYSTEM, *TRUNK, _WHY, *_KINDS.values(), _QUOTATION, _QUESTION, *VERDICTS.values())))


def _indented(text: str) -> str:
    return "\n".join(f"  {escape(line)}" for line in text.strip("\n").split("\n"))
