"""The deterministic audit of scripted dialogues: every turn is read by its words and compared with what was scheduled.

The rubric is the one that judges and people get (`metrics/audit.py`). Fidelity: the turn says the scheduled edits and nothing
else, and respects the active requirements. Coherence: its references resolve, it is consistent with the active state, and the
dialogue flows. The reading (`reading.py`, `interpret.py`) sees words and states, never the schedule: only `audit_turn`
compares the two.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from intentfold.construct.interpret import Fault, Footing, interpret
from intentfold.construct.reading import Heard, Said, read_reply, readings, slots_of
from intentfold.construct.wording import Bank
from intentfold.intent import Edit, IntentError, IntentItem, IntentState, canonical, content, fold, fold_leniently, key, normalise
from intentfold.trace import Episode

Contents = Counter[tuple[str | None, ...]]


@dataclass(frozen=True, slots=True)
class Audit:
    """What is wrong with one turn. `ambiguous` says that its words can as well be read to another end."""

    faults: tuple[Fault, ...]
    ambiguous: bool = False

    def passes(self, aspect: str) -> bool:
        """Whether nothing is wrong on that side of the rubric."""
        return all(fault.aspect != aspect for fault in self.faults)


def edit_turns(episode: Episode) -> list[int]:
    """The turns in which the user's goals change: what is said there is what the audit is about."""
    before = [IntentState(), *(turn.state for turn in episode.turns)]
    return [t for t, turn in enumerate(episode.turns) if _goals(before[t]) != _goals(turn.state)]


def audit_turn(episode: Episode, t: int, bank: Bank) -> Audit:
    """Everything that the words of user turn `t`, and of the reply before it, get wrong."""
    turn = episode.turns[t]
    states = [IntentState(), *(one.state for one in episode.turns)]
    before = states[t]
    heard, faults = _heard(episode, t, bank)
    stated, more = _with_conclusion(before, heard)
    faults += more + _flow(episode, t)
    try:
        followed = canonical(fold(before, turn.edits)) == canonical(turn.state)
    except IntentError as error:
        followed, faults = False, [*faults, Fault("coherence", "edit that cannot be made", str(error))]
    if not followed:
        faults.append(Fault("coherence", "state does not follow", "the annotated state is not what its edits make"))
    footing = Footing(stated, states[t - 1] if t else None, before if t else None, heard)
    options = readings(_spoken(episode, t), bank, _slots(episode, before))
    if not options:
        return Audit((*faults, Fault("fidelity", "words that say nothing known", turn.user)))
    read = [_compared(clauses, footing, episode, turn.state) for clauses in options]
    best = min(read, key=lambda one: len(one[1]))
    return Audit((*faults, *best[1]), len({frozenset(_goals(state).items()) for state, _ in read}) > 1)


def recover(episode: Episode, bank: Bank) -> IntentState:
    """The goals that the whole dialogue's words come to, read from nothing: no annotated state is looked at.

    A turn that cannot be read, or a reference that does not resolve, changes nothing.
    """
    state, last, after = IntentState(), None, None
    for t in range(len(episode.turns)):
        heard, _ = _heard(episode, t, bank)
        options = readings(_spoken(episode, t), bank, _slots(episode, state))
        read = [interpret(clauses, Footing(state, last, after, heard)) for clauses in options]
        said = min(read, key=lambda one: len(one[1]))[0] if read else state
        last, state, after = state, said, said
    return state


def same_goals(found: IntentState, annotated: IntentState) -> bool:
    """Whether two states hold the same goals, ids and order aside."""
    return _goals(found) == _goals(annotated)


def _compared(
    clauses: tuple[Said, ...], footing: Footing, episode: Episode, annotated: IntentState
) -> tuple[IntentState, list[Fault]]:
    state, faults = interpret(clauses, footing)
    said, scheduled = (_changes(footing.state, one) for one in (state, annotated))
    for name in sorted({*said, *scheduled}, key=repr):
        what = " ".join(filter(None, name[2:]))
        if name not in said:
            faults.append(Fault("fidelity", "missing edit", f"{what}: scheduled {scheduled[name]}, not said"))
        elif name not in scheduled:
            faults.append(Fault("fidelity", "extra edit", f"{what}: {said[name]} is said, not scheduled"))
        elif said[name] != scheduled[name]:
            faults.append(Fault("fidelity", "wrong value", f"{what}: {said[name]} is said, {scheduled[name]} scheduled"))
    if _contents(state.of_kind("conclusion")) != _contents(annotated.of_kind("conclusion")):
        held, right = (sorted(item.text for item in one.of_kind("conclusion")) for one in (annotated, state))
        faults.append(Fault("coherence", "conclusions out of step", f"annotated {held}, the words leave {right}"))
    formats = {normalise(goal.text) for goal in episode.task.goals if goal.kind == "format"}
    for one in clauses:
        if one.act == "format" and normalise(one.text) not in formats:
            faults.append(Fault("fidelity", "extra edit", f"an output convention that is none of the task's: {one.text!r}"))
    return state, faults


def _changes(before: IntentState, after: IntentState) -> dict[tuple[str, ...], list[str]]:
    """What became of each goal that differs, by what it is about."""
    names = {key(item) for state in (before, after) for item in state.of_kind("goal")}
    changed = {}
    for name in names:
        old, new = ([item for item in state.of_kind("goal") if key(item) == name] for state in (before, after))
        if _contents(tuple(old)) != _contents(tuple(new)):
            changed[name] = [f"{normalise(item.text)} ({item.priority})" for item in new]
    return changed


def _heard(episode: Episode, t: int, bank: Bank) -> tuple[Heard, list[Fault]]:
    """What the reply before turn `t` leaves, and what it gets wrong about the state that it speaks of."""
    if t == 0:
        return Heard(), []
    reply, state = episode.turns[t - 1].reply, episode.turns[t - 1].state
    heard = read_reply(reply, bank, _slots(episode, state))
    faults = [] if heard.readable else [Fault("coherence", "reply that says nothing known", reply)]
    if heard.listed and Counter(map(normalise, heard.listed)) != Counter(normalise(item.text) for item in state.of_kind("goal")):
        faults.append(Fault("coherence", "contradicts the active state", f"the reply lists {list(heard.listed)}"))
    return heard, faults


def _with_conclusion(before: IntentState, heard: Heard) -> tuple[IntentState, list[Fault]]:
    if heard.concluded is None:
        return before, []
    basis = f" and {heard.basis} and ".casefold()
    goals = [item for item in before.of_kind("goal") if item.slot is not None]
    rests = [item.id for item in goals if f" and {item.slot} {item.value} and ".casefold() in basis]
    if not rests:
        return before, [Fault("coherence", "contradicts the active state", f"a conclusion from {heard.basis!r}")]
    slot, value = heard.concluded
    edit = Edit("ADD", kind="conclusion", depends_on=tuple(rests), slot=slot, value=value)
    state, rejected = fold_leniently(before, [edit])
    return state, [Fault("coherence", "contradicts the active state", one.reason) for one in rejected]


def _flow(episode: Episode, t: int) -> list[Fault]:
    said = episode.turns[t].user
    if not said.strip():
        return [Fault("coherence", "does not flow", "the user says nothing")]
    if t == 0 and not said.startswith(f"{episode.task.request} "):
        return [Fault("coherence", "does not flow", "the dialogue does not open with the task's request")]
    if t and normalise(said) == normalise(episode.turns[t - 1].user):
        return [Fault("coherence", "does not flow", "the turn repeats the one before it")]
    return []


def _spoken(episode: Episode, t: int) -> str:
    """The user's words, at the opening without the request for the task."""
    said = episode.turns[t].user
    return said.removeprefix(f"{episode.task.request} ") if t == 0 else said


def _slots(episode: Episode, state: IntentState) -> set[str]:
    """Names that a slot may have: the task's own, those active, and how an active item without a slot is spoken of."""
    payload = episode.task.payload
    held = {item.slot for item in (*state.items, *state.retired) if item.slot is not None}
    points = {f"point that {item.text.rstrip('.')}" for item in state.of_kind("goal") if item.slot is None}
    return slots_of(payload.get("parameters", {}), payload.get("conclusions", ())) | held | points


def _goals(state: IntentState) -> Contents:
    return _contents(state.of_kind("goal"))


def _contents(items: tuple[IntentItem, ...]) -> Contents:
    return Counter(content(item) for item in items)
