"""Which role a codec belongs to, and the identity of that role's template as it is rendered now."""

from __future__ import annotations

from typing import Literal

from intentfold.prompts.assets import learner_template_hash
from intentfold.prompts.checker import checker_template_hash
from intentfold.prompts.tracker import WINDOW, tracker_template_hash

Role = Literal["tracker", "checker", "learner"]
_ROLES: dict[str, Role] = {"delta": "tracker", "full": "tracker", "verdict": "checker", "asset": "learner"}


def role_of(codec: str) -> Role:
    """The role whose completions are written in this codec. Raises `ValueError` for an unknown codec."""
    if codec not in _ROLES:
        raise ValueError(f"codec must be one of {sorted(_ROLES)}, got {codec!r}")
    return _ROLES[codec]


def template_hash(codec: str, window: int | None = WINDOW) -> str:
    """Identity of the template that the role of this codec is rendered with now; `window` is a tracker's, None for all."""
    role = role_of(codec)
    if role == "tracker":
        return tracker_template_hash("full" if codec == "full" else "delta", window)
    return checker_template_hash() if role == "checker" else learner_template_hash()
