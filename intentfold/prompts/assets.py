"""The prompts of asset learning: edits from a step, a description, the choice of situations (LiveAsset, 3.2 and 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.asset import AssetEdit, Situation
from intentfold.codec.asset_edits import LINES, encode_asset_edits, situation_lines
from intentfold.codec.escape import escape
from intentfold.dialogue import CorrectionStep, Dialogue, Output, Turn
from intentfold.prompts.checker import TRUNK, checker_trunk
from intentfold.records import content_hash

LEARN = "Write the edits to the user's intents."
_LEARN = "Intents:\n{assets}\nUser said:\n{messages}\nBefore:\n{before}Correction: {correction}\nAfter:\n{after}{privileged}"
_FIRST = "  nothing before"
_HIDDEN = "  not shown\n"
DESCRIBE = (
    "Describe in one sentence the situation in which the user has these intents: the kind of request, the outcome that is "
    "expected, and why. Write the sentence alone."
)
_DESCRIBE = "Requests:\n{requests}\nIntents:\n{assets}"
SELECT = "Which situations does the request belong to? Write their numbers, best first, separated by spaces, or NONE."
_SELECT = "Situations:\n{situations}\nRequest: {request}"


def learner_prompt(
    situation: Situation, step: CorrectionStep, *, context: bool = True, privileged: Sequence[AssetEdit] | None = None
) -> Dialogue:
    """The messages for one update of a situation.

    Without `context` the results before and after the correction are left out (an ablation of LiveAsset, 4.4.1).
    `privileged` puts the right edits into the prompt, for a self-teacher.
    """
    right = "" if privileged is None else f"\nRight answer:\n{encode_asset_edits(privileged)}"
    earlier = list(step.messages.values())[:-1]
    content = _LEARN.format(
        assets=situation_lines(situation),
        messages="\n".join(f"  {escape(message)}" for message in earlier) or _FIRST,
        before=_shown(step.before) if context else _HIDDEN,
        correction=escape(step.correction),
        after=(_shown(step.after) if context else _HIDDEN).rstrip("\n"),
        privileged=right,
    )
    return Turn("system", LEARN), Turn("user", content)


def learner_template_hash() -> str:
    """Identity of the learner's template: its own words, those of the results in it, and how assets and edits are written."""
    return content_hash("\x00".join((LEARN, _LEARN, _FIRST, _HIDDEN, *TRUNK, LINES)))


def describer_prompt(situation: Situation, requests: Sequence[str]) -> Dialogue:
    """The messages for the description of a situation from its requests and intents."""
    shown = "\n".join(f"  {escape(request)}" for request in requests)
    return Turn("system", DESCRIBE), Turn("user", _DESCRIBE.format(requests=shown, assets=situation_lines(situation)))


def selector_prompt(request: str, situations: Sequence[Situation]) -> Dialogue:
    """The messages for choosing among situations, which are numbered from 1."""
    shown = "\n".join(f"{number} {escape(situation.description)}" for number, situation in enumerate(situations, start=1))
    return Turn("system", SELECT), Turn("user", _SELECT.format(situations=shown, request=escape(request)))


def _shown(output: Output) -> str:
    return checker_trunk((), output)
