"""The scripted user and the scripted in-between agent: they put scheduled steps into words.

The user may be anaphoric only where the dialogue resolves it: an answer after a question, an ordinal after a
recap, "scratch that" right after one edit, an old value only while no other active item has it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from intentfold.construct.schedule import Step
from intentfold.construct.wording import Bank, say
from intentfold.intent import Edit, IntentItem, IntentState, fold, normalise, slot_text
from intentfold.runtime.executor import evaluate, parse_value
from intentfold.task import Goal

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
RECAP_LIMIT = 8


@dataclass(slots=True)
class Scene:
    """What both sides have in front of them before the user's next turn."""

    state: IntentState
    ids: dict[str, int] = field(default_factory=dict)  # goal or decoy -> item id
    asked: str | None = None  # the slot that the agent just asked about
    recap: tuple[int, ...] = ()  # item ids in the order that the agent just listed
    last: tuple[Step, ...] = ()  # the steps of the user's turn before, empty after chit-chat


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a user turn: its words, and what makes it hard."""

    words: str
    phenomena: tuple[str, ...]
    alone: bool = False  # cannot be joined with other clauses
    fields: tuple[str, ...] = ()  # what the words quote: a turn that starts with a quotation keeps its case


def apply_step(state: IntentState, ids: dict[str, int], thread: str, step: Step) -> IntentState:
    """The state after one step; `ids` is brought up to date."""
    goal = step.goal
    if step.kind in ("state", "restore"):
        depends = tuple(ids[needed] for needed in goal.depends_on)
        ids[thread] = state.next_id
        edit = Edit(
            "ADD",
            text=goal.text if goal.slot is None else None,
            depends_on=depends,
            slot=goal.slot,
            value=goal.value,
            scope=goal.scope,
            priority=goal.priority,
        )
    elif step.kind in ("change", "back"):
        edit = Edit("REPLACE", id=ids[thread], value=goal.value, text=goal.text if goal.slot is None else None)
    elif step.kind == "withdraw":
        edit = Edit("DELETE", id=ids[thread])
    else:
        edit = Edit("REPRIORITIZE", id=ids[thread], priority=goal.priority)
    return fold(state, [edit])


def word_step(step: Step, thread: str, scene: Scene, bank: Bank, rng: random.Random) -> Clause:
    """Words for one step in this scene."""
    item = scene.state.get(scene.ids.get(thread, 0))
    makers = {
        "state": _state_acts,
        "restore": _restore_acts,
        "change": _change_acts,
        "back": _back_acts,
        "withdraw": _withdraw_acts,
        "reprioritise": _reprioritise_acts,
    }
    acts = makers[step.kind](step, item, scene, rng)
    weights = [weight for weight, _, _, _ in acts]
    _, act, phenomena, fields = rng.choices(acts, weights)[0]
    alone = act in ("undo", "replace_last", "add_answer")
    return Clause(say(bank, act, rng, **fields), phenomena, alone, tuple(fields.values()))


Act = tuple[float, str, tuple[str, ...], dict[str, str]]


def _state_acts(step: Step, item: IntentItem | None, scene: Scene, rng: random.Random) -> list[Act]:
    goal = step.goal
    if goal.slot is None:
        return [(1, "add_text", ("text",), {"text": goal.text.rstrip(".")})]
    fields = {"slot": goal.slot, "value": goal.value or ""}
    if goal.priority is not None:
        return [(1, f"add_{goal.priority}", ("priority",), fields)]
    if goal.scope is not None:
        return [(1, "add_for", ("scope",), {**fields, "scope": goal.scope})]
    if scene.asked == goal.slot:
        return [(4, "add_answer", ("answer",), {"value": goal.value or ""}), (1, "add", (), fields)]
    return [(1, "add", (), fields)]


def _restore_acts(step: Step, item: IntentItem | None, scene: Scene, rng: random.Random) -> list[Act]:
    goal = step.goal
    if step.at_once:
        return [(1, "undo", ("anaphora", "readd"), {})]
    if goal.slot is not None and any(_says(retired, goal) for retired in scene.state.retired) and _unrivalled(goal, scene):
        return [(1, "readd", ("anaphora", "readd"), {"slot": goal.slot})]
    acts = _state_acts(step, item, scene, rng)
    return [(weight, act, (*phenomena, "readd"), fields) for weight, act, phenomena, fields in acts]


def _change_acts(step: Step, item: IntentItem | None, scene: Scene, rng: random.Random) -> list[Act]:
    assert item is not None
    goal = step.goal
    if goal.slot is None:
        return [(1, "replace_text", ("text",), {"old": item.text.rstrip("."), "value": goal.text.rstrip(".")})]
    slot, value, old = goal.slot, goal.value or "", item.value or ""
    acts: list[Act] = [
        (3, "replace_slot", (), {"slot": slot, "value": value}),
        (1.5, "replace_both", (), {"slot": slot, "value": value, "old": old}),
        # The bare wording of an addition: nothing says that something is replaced.
        (1, "add", ("implicit",), {"slot": slot, "value": value}),
    ]
    if _only_holder(item, scene) and not _bare(old) and not _bare(value):
        acts.append((2, "replace_old", ("implicit",), {"value": value, "old": old}))
    if _just_touched(item, scene) and scene.asked is None and not _bare(value):
        acts.append((4, "replace_last", ("anaphora",), {"value": value}))
    if item.id in scene.recap:
        ordinal = ORDINALS[scene.recap.index(item.id)]
        acts.append((5, "replace_ordinal", ("anaphora", "ordinal"), {"ordinal": ordinal, "value": value}))
    return acts


def _back_acts(step: Step, item: IntentItem | None, scene: Scene, rng: random.Random) -> list[Act]:
    assert item is not None
    goal = step.goal
    if step.at_once:
        return [(1, "undo", ("anaphora", "back"), {})]
    acts = [(w, act, (*p, "back"), fields) for w, act, p, fields in _change_acts(step, item, scene, rng)]
    shown = [retired for retired in scene.state.retired if retired.id == item.id]
    if goal.slot is not None and shown and _says(shown[-1], goal):
        acts.append((5, "back_slot", ("anaphora", "back"), {"slot": goal.slot}))
        if not _bare(goal.value or "") and _value_unique_in_retired(goal, scene):
            acts.append((3, "back_value", ("implicit", "back"), {"value": goal.value or ""}))
    return acts


def _withdraw_acts(step: Step, item: IntentItem | None, scene: Scene, rng: random.Random) -> list[Act]:
    assert item is not None
    if step.at_once:
        return [(1, "undo", ("anaphora",), {})]
    if item.slot is None:
        return [(1, "delete_text", ("text",), {"text": item.text.rstrip(".")})]
    acts: list[Act] = [(3, "delete_slot", (), {"slot": item.slot})]
    if _only_holder(item, scene) and not _bare(item.value or ""):
        acts.append((1, "delete_value", ("implicit",), {"value": item.value or ""}))
    if item.id in scene.recap:
        acts.append((3, "delete_ordinal", ("anaphora", "ordinal"), {"ordinal": ORDINALS[scene.recap.index(item.id)]}))
    return acts


def _reprioritise_acts(step: Step, item: IntentItem | None, scene: Scene, rng: random.Random) -> list[Act]:
    assert item is not None and step.goal.priority is not None
    slot = item.slot if item.slot is not None else f"point that {item.text.rstrip('.')}"
    return [(1, step.goal.priority, ("priority",), {"slot": slot})]


def _bare(value: str) -> bool:
    """Values that mean something else when they stand alone."""
    return normalise(value) in ("yes", "no", "true", "false", "on", "off", "none")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _only_holder(item: IntentItem, scene: Scene) -> bool:
    """Whether no other active item could be meant by this item's value."""
    mine = _words(item.value or "")
    return not any(mine & _words(other.value or other.text) for other in scene.state.items if other.id != item.id)


def _unrivalled(goal: Goal, scene: Scene) -> bool:
    """Whether the goal's slot went away with one value only, so far as the tracker still sees."""
    rivals = [r for r in scene.state.retired if r.slot == goal.slot and r.scope == goal.scope]
    went = {(normalise(r.value or r.text), r.priority) for r in rivals}
    return len(went) == 1


def _value_unique_in_retired(goal: Goal, scene: Scene) -> bool:
    mine = _words(goal.value or "")
    rivals = [r for r in scene.state.retired if r.slot != goal.slot] + [i for i in scene.state.items if i.slot != goal.slot]
    return not any(mine & _words(rival.value or rival.text) for rival in rivals)


def _says(item: IntentItem, goal: Goal) -> bool:
    return item.slot == goal.slot and item.value == goal.value and item.scope == goal.scope and item.priority == goal.priority


def _just_touched(item: IntentItem, scene: Scene) -> bool:
    return len(scene.last) == 1 and scene.last[0].kind in ("state", "change", "back") and scene.last[0].goal.slot == item.slot


def compose(clauses: Sequence[Clause], change: bool, bank: Bank, rng: random.Random) -> str:
    """One user turn from its clauses: an opener now and then, joiners, punctuation, and careless typing."""
    text = clauses[0].words
    for clause in clauses[1:]:
        text = text.removesuffix("?") + say(bank, "joiner", rng) + clause.words
    if rng.random() < 0.35:
        act = "opener_change" if change and rng.random() < 0.6 else "opener"
        text = f"{say(bank, act, rng)} {text}"
    if text[-1] != "?" and rng.random() < 0.12:
        text = f"{text}, {say(bank, 'closer', rng)}"
    if rng.random() < 0.75:
        text = capitalise(text, *clauses[0].fields)
    if text[-1] not in "?!." and rng.random() < 0.7:
        text += "." if rng.random() < 0.9 else "!"
    return text


def capitalise(text: str, *quoted: str) -> str:
    """The sentence with a capital letter at its start, unless it starts with a quoted value, which keeps its case."""
    return text if quoted and text.startswith(quoted) else text[:1].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class Reply:
    """An agent turn in between, and what it leaves for the next user turn."""

    text: str
    asked: str | None = None
    recap: tuple[int, ...] = ()
    conclusion: IntentItem | None = None  # id 0: the tracker's runtime gives the id


def agent_reply(
    state: IntentState,
    next_slot: str | None,
    conclusions: Sequence[dict],
    chatted: bool,
    conclusion_share: float,
    bank: Bank,
    rng: random.Random,
) -> Reply:
    """What the scripted agent says after a user turn; it may state a conclusion that a later edit invalidates."""
    parts: list[str] = []
    conclusion = None
    if chatted and rng.random() < 0.6:
        parts.append(say(bank, "agent_chat", rng))
    elif rng.random() < 0.6:
        parts.append(say(bank, "agent_ack", rng))
    ready = _ready_conclusions(state, conclusions)
    if ready and rng.random() < conclusion_share:
        conclusion, basis = rng.choice(ready)
        fields = {"slot": conclusion.slot or "", "value": conclusion.value or "", "basis": basis}
        parts.append(say(bank, "agent_conclude", rng, **fields))
        return Reply(_sentences(parts), conclusion=conclusion)
    listed = tuple(item for item in sorted(state.items, key=lambda item: item.id) if item.kind == "goal")
    if 2 <= len(listed) <= RECAP_LIMIT and rng.random() < 0.15:
        listing = ", ".join(f"{number}) {item.text}" for number, item in enumerate(listed, start=1))
        parts.append(say(bank, "agent_recap", rng, list=listing))
        return Reply(_sentences(parts), recap=tuple(item.id for item in listed))
    if next_slot is not None and rng.random() < 0.5:
        parts.append(say(bank, "agent_ask", rng, slot=next_slot))
        return Reply(_sentences(parts), asked=next_slot)
    return Reply(_sentences(parts or [say(bank, "agent_ack", rng)]))


def _ready_conclusions(state: IntentState, conclusions: Sequence[dict]) -> list[tuple[IntentItem, str]]:
    ready = []
    by_slot = {item.slot: item for item in state.items if item.kind == "goal" and item.scope is None}
    stated = {item.slot for item in state.items if item.kind == "conclusion"}
    for entry in conclusions:
        if entry["slot"] in stated or not all(slot in by_slot for slot in entry["depends_on"]):
            continue
        values = {slot: by_slot[slot].value or "" for slot in entry["depends_on"]}
        value = conclusion_value(entry, values)
        if value is None:
            continue
        depends = tuple(by_slot[slot].id for slot in entry["depends_on"])
        basis = " and ".join(f"{slot} {values[slot]}" for slot in entry["depends_on"])
        text = slot_text(entry["slot"], value)
        ready.append((IntentItem(0, text, "conclusion", depends, entry["slot"], value), basis))
    return ready


def conclusion_value(entry: dict, values: dict[str, str]) -> str | None:
    """The conclusion's value for these slot values; None where its arithmetic does not apply to them."""
    if "template" in entry:
        return re.sub(r"\{([^{}]+)\}", lambda match: values[match[1]], entry["template"])
    try:
        numbers = {slot: str(parse_value("number", value)) for slot, value in values.items()}
        return evaluate(re.sub(r"\{([^{}]+)\}", lambda match: numbers[match[1]], entry["expression"]))
    except (ValueError, ZeroDivisionError):  # no number, or none that can be divided by
        return None


def _sentences(parts: Sequence[str]) -> str:
    done = []
    for part in parts:
        part = capitalise(part.strip())
        done.append(part if part[-1] in ".?!" else part + ".")
    return " ".join(done)
