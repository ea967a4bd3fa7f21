"""What an adapter was trained to read and write, beside its weights: asked otherwise it answers at random (design D2)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from intentfold.prompts.templates import Role, role_of, template_hash
from intentfold.prompts.tracker import WINDOW
from intentfold.records import RECORD, canonical_json, from_json, to_json, write_text

FILE = "intentfold.json"


class StampError(ValueError):
    """An adapter that was trained on another template; the message names its folder."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The role that an adapter plays, and the hash of the template that it was trained on."""

    __pydantic_config__ = RECORD

    role: Role
    template: str


def write_stamp(adapter: Path, stamp: Stamp) -> None:
    """Leave the stamp in an adapter's folder."""
    write_text(adapter / FILE, canonical_json(to_json(stamp)) + "\n")


def check_stamp(adapter: Path, codec: str, window: int | None = WINDOW) -> None:
    """Raise `StampError` where the adapter's stamp names another role or template than those that go with `codec` and `window`.

    An adapter without a stamp was not made here; nothing is known about it, and it passes.
    """
    if not (adapter / FILE).is_file():
        return
    stamp = from_json(Stamp, (adapter / FILE).read_bytes())
    asked = Stamp(role_of(codec), template_hash(codec, window))
    if stamp != asked:
        raise StampError(
            f"{adapter}: trained as a {stamp.role} on template {stamp.template}, "
            f"but asked as a {asked.role} with codec {codec}, {'the whole history' if window is None else 'a window'}, "
            f"template {asked.template}: train it anew, or choose its codec and window"
        )
