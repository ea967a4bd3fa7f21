"""What clauses that were read ask of a state, and what in them leans on nothing.

The meaning of a clause follows from the state in front of the user, from the turn before and from the agent's reply: an
ordinal counts the reply's list, "scratch that" takes back what the turn before changed, an old value names its one holder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from intentfold.construct.reading import ORDINALS, Heard, Said
from intentfold.intent import Edit, IntentItem, IntentState, content, fold_leniently, key, normalise
from intentfold.task import Priority

Aspect = Literal["fidelity", "coherence"]
POINT = "point that "


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a turn: on which side of the rubric, of which kind, and where."""

    aspect: Aspect
    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Footing:
    """What a user's turn stands on: the state in front of it, the goals before and after the turn before, the reply heard."""

    state: IntentState
    before: IntentState | None
    after: IntentState | None
    heard: Heard


def interpret(clauses: Sequence[Said], footing: Footing) -> tuple[IntentState, list[Fault]]:
    """The state that the clauses ask for, and the references among them that do not resolve."""
    state, faults = footing.state, []
    for said in clauses:
        edits, fault = _edits(said, state, footing)
        if fault is not None:
            faults.append(fault)
        state, rejected = fold_leniently(state, edits)
        faults += [Fault("coherence", "edit that cannot be made", f"{one.what}: {one.reason}") for one in rejected]
    return state, faults


Result = tuple[list[Edit], Fault | None]


def _edits(said: Said, state: IntentState, footing: Footing) -> Result:
    act = said.act
    if act in ("add", "add_answer", "add_for", "add_must", "add_preferred", "add_optional"):
        return _stated(said, state, footing)
    if act in ("replace_slot", "replace_both"):
        return _changed(said, state)
    if act in ("must", "preferred", "optional"):
        item, fault = _holder(said.slot, state)
        return ([] if item is None else _reprioritised(item, act)), fault
    if act in ("delete_slot", "delete_value", "delete_text", "delete_ordinal", "replace_old", "replace_ordinal", "replace_text"):
        item, fault = _pointed(said, state, footing)
        if item is None:
            return [], fault
        return [Edit("DELETE", id=item.id)] if act.startswith("delete") else _given(item, said.value), fault
    if act in ("back_slot", "back_value", "readd"):
        return _returned(said, state)
    if act in ("undo", "replace_last"):
        return _leaning(said, state, footing)
    if act == "add_text":
        held = [item for item in _goals(state) if normalise(item.text) == normalise(said.text)]
        return ([] if held else [Edit("ADD", text=said.text)]), None
    if act == "confirm":
        item, fault = _holder(said.slot, state)
        if item is not None and normalise(item.value or "") != normalise(said.value):
            return [], Fault("fidelity", "active requirement not respected", f"{item.text!r} is confirmed as {said.value!r}")
        return [], fault
    return [], None  # chat, mention, confirm_all, ask_status, final, format


def _stated(said: Said, state: IntentState, footing: Footing) -> Result:
    slot, fault = said.slot, None
    if said.act == "add_answer":
        slot = footing.heard.asked
        if not slot:
            return [], Fault("coherence", "answer to a question never asked", said.value)
    scope = said.scope or None
    held = [item for item in _of_slot(slot, state) if scope is None or normalise(item.scope or "") == normalise(scope)]
    priority = _priority(said.act.removeprefix("add_"))
    if not held:
        return [Edit("ADD", slot=slot, value=said.value, scope=scope, priority=priority)], fault
    if len(held) > 1:
        fault = Fault("coherence", "dangling reference", f"{slot!r} has {len(held)} active items")
    return [*_given(held[0], said.value), *(_reprioritised(held[0], priority) if priority else [])], fault


def _changed(said: Said, state: IntentState) -> Result:
    item, fault = _holder(said.slot, state)
    if item is None:
        return [Edit("ADD", slot=said.slot, value=said.value)], fault
    if said.act == "replace_both" and normalise(said.old) != normalise(item.value or ""):
        fault = Fault("coherence", "contradicts the active state", f"{said.slot!r} is {item.value!r}, spoken of as {said.old!r}")
    return _given(item, said.value), fault


def _pointed(said: Said, state: IntentState, footing: Footing) -> tuple[IntentItem | None, Fault | None]:
    """The one active goal that a deletion or replacement points at."""
    if said.act == "delete_slot":
        return _holder(said.slot, state)
    if said.ordinal:
        listed, place = footing.heard.listed, ORDINALS.index(said.ordinal.casefold())
        if place >= len(listed):
            return None, Fault("coherence", "dangling reference", f"the {said.ordinal} of a list of {len(listed)}")
        words = listed[place]
    else:
        words = said.old or said.value or said.text
    wanted = normalise(words)
    found = [item for item in _goals(state) if wanted in (normalise(item.text), normalise(item.value or item.text))]
    if len(found) != 1:
        return None, Fault("coherence", "dangling reference", f"{words!r} names {len(found)} active items")
    return found[0], None


def _returned(said: Said, state: IntentState) -> Result:
    """A former value that comes back, or a withdrawn item."""
    if said.act == "readd":
        gone = [item for item in state.retired if item.kind == "goal" and normalise(item.slot or "") == normalise(said.slot)]
        if not gone:
            return [], Fault("coherence", "dangling reference", f"{said.slot!r} was not withdrawn lately")
        old = gone[-1]
        return [Edit("ADD", slot=old.slot, value=old.value, scope=old.scope, priority=old.priority)], None
    if said.act == "back_slot":
        item, fault = _holder(said.slot, state)
        if item is None:
            return [], fault
        gone = [old for old in state.retired if old.id == item.id]
    else:
        gone = [o for o in state.retired if normalise(o.value or "") == normalise(said.value) and state.get(o.id) is not None]
    if not gone:
        return [], Fault("coherence", "dangling reference", f"no former value {said.value or 'of ' + said.slot!r}")
    item = state.get(gone[-1].id)
    return ([], None) if item is None else (_given(item, gone[-1].value or gone[-1].text), None)


def _leaning(said: Said, state: IntentState, footing: Footing) -> Result:
    """What the turn before changed is taken back, or gets another value."""
    if footing.before is None or footing.after is None:
        return [], Fault("coherence", "dangling reference", f"{said.act} without a turn before")
    before, after = ({key(item): item for item in _goals(one)} for one in (footing.before, footing.after))
    touched = [name for name in {**before, **after} if _same(before.get(name)) != _same(after.get(name))]
    if len(touched) != 1:
        return [], Fault("coherence", "dangling reference", f"{said.act} after a turn that changed {len(touched)} items")
    old, new = before.get(touched[0]), after.get(touched[0])
    if said.act == "replace_last":
        return (
            ([], Fault("coherence", "dangling reference", "what was said last is gone"))
            if new is None
            else (_given(new, said.value), None)
        )
    if new is None:
        assert old is not None
        text = old.text if old.slot is None else None
        return [Edit("ADD", text=text, slot=old.slot, value=old.value, scope=old.scope, priority=old.priority)], None
    if old is None:
        return [Edit("DELETE", id=new.id)], None
    return [*_given(new, old.value or old.text), *(_reprioritised(new, old.priority) if old.priority else [])], None


def _given(item: IntentItem, value: str) -> list[Edit]:
    """The edit that gives an item this value, or these words; none where it reads so already."""
    if normalise(value) == normalise(item.value or item.text):
        return []
    return [Edit("REPLACE", id=item.id, text=value) if item.slot is None else Edit("REPLACE", id=item.id, value=value)]


def _reprioritised(item: IntentItem, priority: str | None) -> list[Edit]:
    named = _priority(priority or "")
    return [] if named is None or item.priority == named else [Edit("REPRIORITIZE", id=item.id, priority=named)]


def _priority(name: str) -> Priority | None:
    choices: tuple[Priority, ...] = ("must", "preferred", "optional")
    return next((one for one in choices if one == name), None)


def _holder(slot: str, state: IntentState) -> tuple[IntentItem | None, Fault | None]:
    found = _of_slot(slot, state)
    if len(found) != 1:
        return None, Fault("coherence", "dangling reference", f"{slot!r} names {len(found)} active items")
    return found[0], None


def _of_slot(slot: str, state: IntentState) -> list[IntentItem]:
    wanted = normalise(slot)
    if wanted.startswith(POINT):
        return [item for item in _goals(state) if normalise(item.text) == normalise(wanted.removeprefix(POINT))]
    return [item for item in _goals(state) if normalise(item.slot or "") == wanted]


def _goals(state: IntentState) -> tuple[IntentItem, ...]:
    return state.of_kind("goal")


def _same(item: IntentItem | None) -> tuple[str | None, ...] | None:
    return None if item is None else content(item)
