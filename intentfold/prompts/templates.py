"""Which role a codec belongs to, and the identity of that role's template as it is rendered now."""

from __future__ import annotations

from typing import Literal

from intentfold.codec.thinking import STYLES, Style, answer_codec, style_of
from intentfold.prompts.agent import agent_template_hash
from intentfold.prompts.assets import learner_template_hash
from intentfold.prompts.checker import checker_template_hash
from intentfold.prompts.thinking import thinking_template_hash
from intentfold.prompts.tracker import WINDOW, tracker_template_hash
from intentfold.records import content_hash

Role = Literal["tracker", "checker", "learner", "agent"]
_ROLES: dict[str, Role] = {"delta": "tracker", "full": "tracker", "verdict": "checker", "asset": "learner", "answer": "agent"}


def role_of(codec: str) -> Role:
    """The role whose completions are written in this codec. Raises `ValueError` for an unknown codec."""
    answer = answer_codec(codec)
    if answer not in _ROLES:
        raise ValueError(f"codec must be one of {sorted(_ROLES)}, perhaps with +{' or +'.join(STYLES)}, got {codec!r}")
    return _ROLES[answer]


def template_hash(codec: str, window: int | None = WINDOW) -> str:
    """Identity of the template that the role of this codec is rendered with now; `window` is a tracker's, None for all."""
    role, style = role_of(codec), style_of(codec)
    if style is not None:
        return thoughtful_hash(template_hash(answer_codec(codec), window), style)
    if role == "agent":
        return agent_template_hash()
    if role == "tracker":
        return tracker_template_hash("full" if codec == "full" else "delta", window)
    return checker_template_hash() if role == "checker" else learner_template_hash()


def window_of(template: str, codec: str) -> int | None:
    """A window of those whose prompts this template of the codec is, None where it is that of the whole history."""
    return WINDOW if template == template_hash(codec) else None


def thoughtful_hash(template: str, style: Style) -> str:
    """Identity of a role's template, asked to think first."""
    return content_hash(f"{template}\x00{thinking_template_hash(style)}")
