"""The agent's prompt: the dialogue as it was, and the active state after it (IntentFlux, section 7.4).

The history stands first and unchanged, what varies between conditions last (design D5): only the last user message
carries the active state.
"""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.codec.state import active_lines
from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import IntentItem
from intentfold.records import content_hash

SYSTEM = "Do what the user wants now. Answer the last message; give the answer alone where a result is asked for."
BRIEF = "\n\n{brief}"
# What a task gives its solver to work with, by the form of its answers (filled by `runtime/brief.py`).
BRIEFS: dict[str, str] = {
    "calls": 'Functions, to be called as JSON: [{{"name": ..., "arguments": {{...}}}}]\n{functions}',
    "sql": "Answer with one SQLite query on these tables:\n{tables}",
    "code": "Answer with Python: the whole function{signature}",
    "number": "Answer with the number.",
}
FUNCTION = "{name}: {description}"
PARAMETER = "- {name} ({type}{required}): {description}{more}"
REQUIRED = ", required"
STATE = "\n\n[What holds now; anything earlier that is not in this list no longer counts]\n{items}"
RECAP = "\n\n[What was said so far, in short]\n{recap}"
FORM = "\n\n[How the answer must look]\n{items}"
REPAIR = "That answer breaks what was asked of its form: {violations}. Give the same answer in the right form and nothing else."


def agent_prompt(
    dialogue: Dialogue,
    items: Sequence[IntentItem] | None,
    *,
    draft: str = "",
    violations: Sequence[str] = (),
    recap: str = "",
    brief: str = "",
) -> Dialogue:
    """The messages for one answer. `items` is the active state, None where the agent has the history alone.

    With `violations` the agent is shown its `draft` and asked once to mend its form. A `recap` takes the place of the
    state; of the items only the conventions are shown with it. `brief` is what the task gives its solver to work with
    (`runtime/brief.py`): it is the same in every condition, and stands first.
    """
    if not dialogue or dialogue[-1].role != "user":
        raise ValueError("the dialogue to answer must end with a user turn")
    last = dialogue[-1].content
    if recap:
        form = active_lines(tuple(item for item in items or () if item.kind == "format"))
        last += RECAP.format(recap=recap) + (FORM.format(items=form) if form else "")
    elif items is not None:
        last += STATE.format(items=active_lines(tuple(items)) or "- nothing")
    system = SYSTEM + (BRIEF.format(brief=brief) if brief else "")
    prompt = (Turn("system", system), *dialogue[:-1], Turn("user", last))
    if not violations:
        return prompt
    return (*prompt, Turn("assistant", draft), Turn("user", REPAIR.format(violations="; ".join(violations))))


def agent_template_hash() -> str:
    """Identity of the template."""
    return content_hash("\x00".join((SYSTEM, BRIEF, *BRIEFS.values(), FUNCTION, PARAMETER, REQUIRED, STATE, RECAP, FORM, REPAIR)))
