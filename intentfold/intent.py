"""The active intent state: items, edits, and the pure functions `fold`, `align` and `diff`.

The state is a set of items under ADD, REPLACE, DELETE and REPRIORITIZE (IntentFlux, section 3.1; REPLACE is
DELETE + ADD with the item's identity kept, section 8.1). Nothing here does I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from intentfold.records import RECORD, content_hash
from intentfold.task import Priority

Kind = Literal["goal", "format", "conclusion"]
Op = Literal["ADD", "REPLACE", "DELETE", "REPRIORITIZE"]
RETIRED_SHOWN = 4


class IntentError(ValueError):
    """A state or edit that breaks the rules; the message names the item."""


@dataclass(frozen=True, slots=True)
class IntentItem:
    """One atomic requirement, output convention or conclusion.

    `id` is given by the runtime and never used twice. `text` is what the agent reads; an item with a slot
    reads `slot: value` unless it has words of its own.
    """

    __pydantic_config__ = RECORD

    id: int
    text: str
    kind: Kind = "goal"
    depends_on: tuple[int, ...] = ()
    slot: str | None = None
    value: str | None = None
    scope: str | None = None
    priority: Priority | None = None

    def __post_init__(self) -> None:
        if (self.slot is None) != (self.value is None):
            raise IntentError(f"item {self.id}: slot and value go together, got {self.slot!r} and {self.value!r}")
        if self.slot == "":
            raise IntentError(f"item {self.id}: slot must not be empty")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to a state.

    ADD gives everything but the id; a negative entry -k in `depends_on` names the k-th ADD of the same batch.
    REPLACE gives `id` and the new `value` (of an item with a slot) or `text`. DELETE gives `id`.
    REPRIORITIZE gives `id` and `priority`.
    """

    __pydantic_config__ = RECORD

    op: Op
    id: int | None = None
    text: str | None = None
    kind: Kind = "goal"
    depends_on: tuple[int, ...] = ()
    slot: str | None = None
    value: str | None = None
    scope: str | None = None
    priority: Priority | None = None


@dataclass(frozen=True, slots=True)
class IntentState:
    """The active items, the counter of ids never used again, and the last few items that went away.

    `items` is a set: its order is for display only. `retired` is newest last and bounded; the tracker sees it,
    the agent never does.
    """

    __pydantic_config__ = RECORD

    items: tuple[IntentItem, ...] = ()
    next_id: int = 1
    retired: tuple[IntentItem, ...] = ()

    def __post_init__(self) -> None:
        ids = [item.id for item in self.items]
        if len(set(ids)) != len(ids):
            raise IntentError(f"item ids must be unique, got {ids}")
        for item in self.items:
            if item.id >= self.next_id:
                raise IntentError(f"item {item.id}: id is not below the counter {self.next_id}")
            for needed in item.depends_on:
                if needed not in ids:
                    raise IntentError(f"item {item.id}: depends on {needed}, which is not active")
        _check_acyclic(self.items)

    def get(self, id: int) -> IntentItem | None:
        """The active item of that id."""
        return next((item for item in self.items if item.id == id), None)

    def of_kind(self, *kinds: Kind) -> tuple[IntentItem, ...]:
        """The active items of these kinds."""
        return tuple(item for item in self.items if item.kind in kinds)


@dataclass(frozen=True, slots=True)
class Rejected:
    """An edit that was not applied (or a line that is no edit), and why."""

    __pydantic_config__ = RECORD

    what: str
    reason: str


def slot_text(slot: str, value: str) -> str:
    """How an item with a slot reads."""
    return f"{slot}: {value}"


@lru_cache(maxsize=1 << 14)  # a state compares the same few texts again and again
def normalise(text: str) -> str:
    """Text as compared: case, runs of white space and outer punctuation do not count."""
    folded = re.sub(r"\s+", " ", text).strip().casefold()
    return folded.strip(" .,;:!?\"'`") or folded


def stands_in(words: str, text: str) -> bool:
    """Whether the words stand in the text as whole words; case, white space and outer punctuation do not count."""
    wanted = re.escape(normalise(words))
    return bool(wanted) and re.search(rf"(?<!\w){wanted}(?!\w)", normalise(text)) is not None


def key(item: IntentItem) -> tuple[str, ...]:
    """What an item is about: its slot in its scope, or else its own words."""
    scope = normalise(item.scope or "")
    if item.slot is not None:
        return (item.kind, "slot", normalise(item.slot), scope)
    return (item.kind, "text", normalise(item.text), scope)


def content(item: IntentItem) -> tuple[str | None, ...]:
    """What an item says, without its id and dependencies: two items with equal content are the same wish."""
    value = None if item.value is None else normalise(item.value)
    return (*key(item), value, normalise(item.text), item.priority)


def canonical(state: IntentState) -> frozenset[tuple[tuple[str | None, ...], frozenset[str]]]:
    """The state up to ids and order: every item's content, with digests of what it depends on.

    Digests keep the work linear: a model may spell dependencies whose paths are exponentially many.
    """
    digests: dict[int, str] = {}
    found = []
    waiting = sorted(state.items, key=lambda item: item.id)
    while waiting:
        later = []
        for item in waiting:
            if not all(needed in digests for needed in item.depends_on):
                later.append(item)
                continue
            below = frozenset(digests[needed] for needed in item.depends_on)
            digests[item.id] = content_hash(repr((content(item), sorted(below))))
            found.append((content(item), below))
        waiting = later
    return frozenset(found)


def orphans(state: IntentState, before: IntentState) -> tuple[IntentItem, ...]:
    """Goals of `state` that lost something they depended on in `before` (reported, not removed)."""
    had = {item.id: len(item.depends_on) for item in before.items if item.kind != "conclusion"}
    return tuple(item for item in state.items if len(item.depends_on) < had.get(item.id, 0))


def fold(state: IntentState, edits: Iterable[Edit]) -> IntentState:
    """The state after `edits`, in order. Raises `IntentError` at the first edit that cannot be applied."""
    folded, rejected = fold_leniently(state, edits)
    if rejected:
        raise IntentError(f"{rejected[0].what}: {rejected[0].reason}")
    return folded


def fold_leniently(state: IntentState, edits: Iterable[Edit]) -> tuple[IntentState, tuple[Rejected, ...]]:
    """Like `fold`, but an edit that cannot be applied is skipped and returned with its reason.

    The state stays whole whatever the edits are. A REPLACE of the value and a DELETE take the conclusions that
    depend on the item, transitively; goals that depended on a deleted goal stay (see `orphans`).
    """
    items = {item.id: item for item in state.items}
    retired, next_id = list(state.retired), state.next_id
    added: list[int] = []
    rejected: list[Rejected] = []
    touched: set[int] = set()
    # Ids are given before anything is applied, so that -k always names the k-th ADD, taken or not.
    for edit in edits:
        reason = _fault(edit, items, added, touched)
        if edit.op == "ADD":
            added.append(next_id if reason is None else 0)
        if reason is not None:
            rejected.append(Rejected(_describe(edit), reason))
            continue
        if edit.op == "ADD":
            items[next_id] = _added(edit, next_id, added)
            next_id += 1
            continue
        assert edit.id is not None
        touched.add(edit.id)
        old = items[edit.id]
        if edit.op == "REPRIORITIZE":
            items[old.id] = replace(old, priority=edit.priority)
            continue
        retired.append(old)
        gone = _dependent_conclusions(old.id, items.values())
        if edit.op == "REPLACE":
            items[old.id] = _replaced(old, edit)
        else:
            gone.add(old.id)
        items = {
            id: replace(item, depends_on=tuple(d for d in item.depends_on if d not in gone))
            for id, item in items.items()
            if id not in gone
        }
    return IntentState(tuple(items.values()), next_id, tuple(retired[-RETIRED_SHOWN:])), tuple(rejected)


def _fault(edit: Edit, items: Mapping[int, IntentItem], added: Sequence[int], touched: set[int]) -> str | None:
    if edit.op == "ADD":
        if (edit.slot is None) != (edit.value is None) or edit.slot == "":
            return "an added item needs slot and value together, or neither"
        if not ((edit.text if edit.slot is None else edit.value) or "").strip():
            return "an added item needs a text, or a slot and a value that are not blank"
        for needed in edit.depends_on:
            if needed > 0 and needed not in items:
                return f"depends on {needed}, which is not active"
            if needed <= 0 and (needed == 0 or -needed > len(added) or added[-needed - 1] == 0):
                return f"depends on +{-needed}, which was not added before"
        new = _added(edit, 0, added)
        if any(content(item) == content(new) and set(item.depends_on) == set(new.depends_on) for item in items.values()):
            return "repeats an active item"
        return None
    if edit.id is None or edit.id not in items:
        return f"{edit.id} is not active"
    if edit.id in touched:
        return f"{edit.id} is edited twice"
    old = items[edit.id]
    if edit.op == "REPLACE":
        new_value = edit.value if old.slot is not None else edit.text
        if not (new_value or "").strip():
            return "a replacement needs a value"
        if content(_replaced(old, edit)) == content(old):
            return "replaces an item by itself"
    if edit.op == "REPRIORITIZE":
        if edit.priority is None:
            return "needs a priority"
        if edit.priority == old.priority:
            return "the item has that priority already"
    return None


def _describe(edit: Edit) -> str:
    what = edit.text if edit.slot is None else slot_text(edit.slot, edit.value or "")
    return " ".join(str(part) for part in (edit.op, edit.id, what) if part is not None)


def _added(edit: Edit, id: int, added: Sequence[int]) -> IntentItem:
    text = edit.text if edit.text is not None else slot_text(edit.slot or "", edit.value or "")
    needed = tuple(dict.fromkeys(added[-d - 1] if d < 0 else d for d in edit.depends_on))
    return IntentItem(id, text, edit.kind, needed, edit.slot, edit.value, edit.scope, edit.priority)


def _replaced(old: IntentItem, edit: Edit) -> IntentItem:
    if old.slot is None:
        return replace(old, text=edit.text or "")
    value = edit.value or ""
    return replace(old, value=value, text=edit.text if edit.text is not None else slot_text(old.slot, value))


def _dependent_conclusions(id: int, items: Iterable[IntentItem]) -> set[int]:
    items = list(items)
    stale, frontier = set(), {id}
    while frontier:
        frontier = {
            item.id for item in items if item.kind == "conclusion" and item.id not in stale and frontier & set(item.depends_on)
        }
        stale |= frontier
    return stale


def _check_acyclic(items: Sequence[IntentItem]) -> None:
    waiting = {item.id: set(item.depends_on) for item in items}
    while waiting:
        free = {id for id, needed in waiting.items() if not needed & waiting.keys()}
        if not free:
            raise IntentError(f"item {min(waiting)}: dependencies form a cycle among {sorted(waiting)}")
        waiting = {id: needed for id, needed in waiting.items() if id not in free}


def align(own: IntentState, oracle: IntentState) -> tuple[tuple[int, int], ...]:
    """Pairs (own id, oracle id) of items about the same thing, one to one.

    Equal content pairs first, then equal slot and scope, then equal text; items are tried in order of id.
    """
    pairs: list[tuple[int, int]] = []
    free_own = sorted(own.items, key=lambda item: item.id)
    free_oracle = sorted(oracle.items, key=lambda item: item.id)
    for same in (content, key):
        for theirs in list(free_oracle):
            mine = next((item for item in free_own if same(item) == same(theirs)), None)
            if mine is not None:
                pairs.append((mine.id, theirs.id))
                free_own.remove(mine)
                free_oracle.remove(theirs)
    return tuple(sorted(pairs))


def diff(own: IntentState, oracle: IntentState) -> tuple[Edit, ...]:
    """Edits with `canonical(fold(own, diff(own, oracle))) == canonical(oracle)`.

    Order: deletions, replacements, deletions of conclusions, reprioritisations, additions; each by id. Nothing that
    a fold does by itself (stale conclusions) is written out.
    """
    to_oracle = dict(align(own, oracle))
    theirs = {item.id: item for item in oracle.items}
    removed, replaced, outdated, reprioritised = [], [], [], []
    state = own
    # A pair that cannot be mended in place goes away and comes back.
    while True:
        broken = [id for id in to_oracle if not _mendable(own.get(id), theirs[to_oracle[id]], to_oracle)]
        if not broken:
            break
        for id in broken:
            del to_oracle[id]
    for item in sorted(own.items, key=lambda item: item.id):
        if item.kind != "conclusion" and item.id not in to_oracle:
            removed.append(Edit("DELETE", id=item.id))
    state = fold(state, removed)
    for id in sorted(to_oracle):
        mine, target = own.get(id), theirs[to_oracle[id]]
        assert mine is not None
        if state.get(id) is None:
            continue
        if (_norm(mine.value), normalise(mine.text)) != (_norm(target.value), normalise(target.text)):
            derived = target.slot is not None and target.text == slot_text(mine.slot or "", target.value or "")
            edit = Edit("REPLACE", id=id, value=target.value, text=None if derived else target.text)
            state = fold(state, [edit])
            replaced.append(edit)
    for item in sorted(own.items, key=lambda item: item.id):
        if item.kind == "conclusion" and item.id not in to_oracle and state.get(item.id) is not None:
            outdated.append(Edit("DELETE", id=item.id))
            state = fold(state, outdated[-1:])
    # What a replacement took along, and what it left out of step, is added anew below.
    for id in list(to_oracle):
        if state.get(id) is None:
            del to_oracle[id]
    for id in sorted(to_oracle):
        mine, target = state.get(id), theirs[to_oracle[id]]
        assert mine is not None
        if target.priority is not None and mine.priority != target.priority:
            reprioritised.append(Edit("REPRIORITIZE", id=id, priority=target.priority))
    additions = _additions(to_oracle, oracle)
    edits = (*removed, *replaced, *outdated, *reprioritised, *additions)
    if canonical(fold_leniently(own, edits)[0]) != canonical(oracle):
        # Rare shapes (a replacement that takes along what others rest on): start over from an empty state.
        cleared = [Edit("DELETE", id=item.id) for item in own.items if item.kind != "conclusion" or not item.depends_on]
        edits = (*cleared, *_additions({}, oracle))
    return edits


def _norm(value: str | None) -> str | None:
    return None if value is None else normalise(value)


def _mendable(mine: IntentItem | None, target: IntentItem, to_oracle: Mapping[int, int]) -> bool:
    """Whether one REPLACE or REPRIORITIZE can make `mine` into `target`.

    None changes dependencies or unsets a priority, and a batch edits an item once: no value and priority together.
    """
    if mine is None or (target.priority is None and mine.priority is not None):
        return False
    reads_otherwise = (_norm(mine.value), normalise(mine.text)) != (_norm(target.value), normalise(target.text))
    if reads_otherwise and mine.priority != target.priority:
        return False
    return {to_oracle.get(d) for d in mine.depends_on} == set(target.depends_on)


def _additions(to_oracle: Mapping[int, int], oracle: IntentState) -> list[Edit]:
    place = {theirs: mine for mine, theirs in to_oracle.items()}
    additions: list[Edit] = []
    waiting = [item for item in sorted(oracle.items, key=lambda item: item.id) if item.id not in place]
    while waiting:
        item = next(item for item in waiting if all(d in place for d in item.depends_on))
        waiting.remove(item)
        derived = item.slot is not None and item.text == slot_text(item.slot, item.value or "")
        additions.append(
            Edit(
                "ADD",
                text=None if derived else item.text,
                kind=item.kind,
                depends_on=tuple(place[d] for d in item.depends_on),
                slot=item.slot,
                value=item.value,
                scope=item.scope,
                priority=item.priority,
            )
        )
        place[item.id] = -len(additions)
    return additions
