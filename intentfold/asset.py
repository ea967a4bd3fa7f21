"""Intent assets: contextual intents, the situations that group them, and the edits that learning makes (LiveAsset, 3.2).

A contextual intent is (explanation, requirements, facts). A situation collects the intents of one described context; the
assets of a user are their situations. Everything is immutable; `fold_asset`, `merge` and `with_situation` give new values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from intentfold.intent import Rejected, normalise
from intentfold.records import RECORD

Verdict = Literal["met", "unmet", "not_applicable"]
AssetOp = Literal["INTENT", "EXPLAIN", "REQUIRE", "REVISE", "FACT", "WITHDRAW"]


class AssetError(ValueError):
    """An asset that breaks the rules; the message names the part."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Words of the user, verbatim, and the message that they stand in (`history:number`, user messages counted from 0)."""

    __pydantic_config__ = RECORD

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One reusable criterion that can be checked in a reply, tool calls or files."""

    __pydantic_config__ = RECORD

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Fact:
    """What the user told about the world, in its original scope, with the words that support it."""

    __pydantic_config__ = RECORD

    id: int
    text: str
    quotation: Quotation


Part = Requirement | Fact


@dataclass(frozen=True, slots=True)
class ContextualIntent:
    """What the user expects and why: the explanation tells when it applies, requirements and facts are what is checked.

    `sources` names the messages that it was learned from.
    """

    __pydantic_config__ = RECORD

    id: int
    explanation: str
    requirements: tuple[Requirement, ...] = ()
    facts: tuple[Fact, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything that is checked."""
        return (*self.requirements, *self.facts)


@dataclass(frozen=True, slots=True)
class Situation:
    """A described context with its intents. Ids of intents and parts share one counter and are never used again.

    `excerpts` are words of the requests that it was learned from, `sources` the histories.
    """

    __pydantic_config__ = RECORD

    description: str = ""
    intents: tuple[ContextualIntent, ...] = ()
    next_id: int = 1
    sources: tuple[str, ...] = ()
    excerpts: tuple[Quotation, ...] = ()

    def __post_init__(self) -> None:
        ids = [id for intent in self.intents for id in (intent.id, *(part.id for part in intent.parts))]
        if len(set(ids)) != len(ids):
            raise AssetError(f"ids within a situation must be unique, got {ids}")
        if any(id >= self.next_id for id in ids):
            raise AssetError(f"ids must be below the counter {self.next_id}, got {max(ids)}")

    def get(self, id: int) -> ContextualIntent | None:
        """The intent of that id."""
        return next((intent for intent in self.intents if intent.id == id), None)


@dataclass(frozen=True, slots=True)
class Assets:
    """The situations of one user; `version` counts the commits to the store."""

    __pydantic_config__ = RECORD

    user: str
    version: int = 0
    situations: tuple[Situation, ...] = ()


@dataclass(frozen=True, slots=True)
class AssetEdit:
    """One change to a situation.

    INTENT gives the explanation of a new intent in `text`. EXPLAIN, REQUIRE and FACT name an intent (-k is the k-th
    INTENT of the same update), REVISE and WITHDRAW a requirement or fact. A FACT has the user's words in `quotation`.
    """

    __pydantic_config__ = RECORD

    op: AssetOp
    id: int = 0
    text: str = ""
    quotation: str = ""


def source_of(words: str, messages: Mapping[str, str]) -> str | None:
    """The latest of the user's messages that holds `words` verbatim; every character counts."""
    return next((name for name in reversed(list(messages)) if words.strip() and words in messages[name]), None)


def fold_asset(
    situation: Situation, edits: Iterable[AssetEdit], messages: Mapping[str, str]
) -> tuple[Situation, tuple[Rejected, ...]]:
    """The situation after one update, and the edits that were rejected with their reasons.

    `messages` are the user's own, by name, the latest (that of this update) last. A quotation that is in none of them
    rejects the whole update. Any other edit that cannot be applied is skipped alone. What no edit names stays as it is;
    an intent that loses its last requirement and fact goes away.
    """
    edits = tuple(edits)
    invented = [edit for edit in edits if edit.op == "FACT" and source_of(edit.quotation, messages) is None]
    if invented:
        what = f"FACT {invented[0].quotation[:160]!r}"
        return situation, (Rejected(what, "the quotation is not verbatim in the user's messages: the update is rejected"),)
    before, rejected, added = situation, [], list[int]()
    for edit in edits:
        target = edit.id
        if target < 0:
            target = added[-target - 1] if -target <= len(added) else 0
        after = _apply(situation, replace(edit, id=target), messages)
        if edit.op == "INTENT":
            added.append(0 if isinstance(after, str) else situation.next_id)
        if isinstance(after, str):
            rejected.append(Rejected(f"{edit.op} {edit.id}", after))
            continue
        situation = after
    kept = tuple(intent for intent in situation.intents if intent.parts)
    if len(kept) < len(situation.intents):
        empty = {intent.id for intent in situation.intents if not intent.parts} - {intent.id for intent in before.intents}
        rejected += [Rejected(f"INTENT {id}", "an intent needs a requirement or a fact") for id in sorted(empty)]
    return replace(situation, intents=kept), tuple(rejected)


def _apply(situation: Situation, edit: AssetEdit, messages: Mapping[str, str]) -> Situation | str:
    """The situation after one edit, or why it cannot be applied."""
    if edit.op != "WITHDRAW" and not edit.text.strip():
        return "an edit needs words"
    source = next(reversed(list(messages)), "")
    if edit.op == "INTENT":
        intent = ContextualIntent(situation.next_id, edit.text, sources=(source,) if source else ())
        return replace(situation, intents=(*situation.intents, intent), next_id=situation.next_id + 1)
    owner = situation.get(edit.id) if edit.op in ("EXPLAIN", "REQUIRE", "FACT") else _owner(situation, edit.id)
    if owner is None:
        return f"no {'intent' if edit.op in ('EXPLAIN', 'REQUIRE', 'FACT') else 'requirement or fact'} has the id {edit.id}"
    changed: ContextualIntent | str
    if edit.op == "EXPLAIN":
        changed = replace(owner, explanation=edit.text)
    elif edit.op == "REQUIRE":
        same = any(normalise(part.text) == normalise(edit.text) for part in owner.requirements)
        new = Requirement(situation.next_id, edit.text)
        changed = "the intent has this requirement" if same else replace(owner, requirements=(*owner.requirements, new))
    elif edit.op == "FACT":
        where = source_of(edit.quotation, messages)
        assert where is not None  # fold_asset has looked
        fact = Fact(situation.next_id, edit.text, Quotation(edit.quotation, where))
        same = any(normalise(part.text) == normalise(edit.text) for part in owner.facts)
        changed = "the intent has this fact" if same else replace(owner, facts=(*owner.facts, fact))
    elif edit.op == "REVISE":
        if all(part.id != edit.id for part in owner.requirements):
            return "a fact keeps the user's words: withdraw it and add another"
        parts = tuple(replace(part, text=edit.text) if part.id == edit.id else part for part in owner.requirements)
        changed = replace(owner, requirements=parts)
    else:
        left = tuple(part for part in owner.requirements if part.id != edit.id)
        changed = replace(owner, requirements=left, facts=tuple(part for part in owner.facts if part.id != edit.id))
    if isinstance(changed, str):
        return changed
    if source and source not in changed.sources:
        changed = replace(changed, sources=(*changed.sources, source))
    intents = tuple(changed if intent.id == owner.id else intent for intent in situation.intents)
    return replace(situation, intents=intents, next_id=situation.next_id + (edit.op in ("REQUIRE", "FACT")))


def _owner(situation: Situation, id: int) -> ContextualIntent | None:
    return next((intent for intent in situation.intents if any(part.id == id for part in intent.parts)), None)


def describe(situation: Situation, description: str, requests: Mapping[str, str], excerpts: Sequence[str]) -> Situation:
    """The situation with its description and excerpts of its source requests.

    Raises `AssetError` where an excerpt is not verbatim in one of them.
    """
    found = []
    for excerpt in excerpts:
        source = source_of(excerpt, requests)
        if source is None:
            raise AssetError(f"the excerpt {excerpt[:160]!r} is not verbatim in the user's requests")
        found.append(Quotation(excerpt, source))
    return replace(situation, description=description, excerpts=tuple(found))


def merge(a: Situation, b: Situation, description: str) -> Situation:
    """One situation of both under one description, with all sources and excerpts.

    Intents that say the same (explanation and parts, ids aside) become one with the sources of both; the others of `b` get
    new ids.
    """
    intents, next_id = list(a.intents), a.next_id
    places = {_content(intent): place for place, intent in enumerate(intents)}
    for intent in b.intents:
        place = places.get(_content(intent))
        if place is not None:
            intents[place] = replace(intents[place], sources=_joined(intents[place].sources, intent.sources))
            continue
        ids = iter(range(next_id, next_id + 1 + len(intent.parts)))
        intents.append(
            replace(
                intent,
                id=next(ids),
                requirements=tuple(replace(part, id=next(ids)) for part in intent.requirements),
                facts=tuple(replace(part, id=next(ids)) for part in intent.facts),
            )
        )
        next_id += 1 + len(intent.parts)
    excerpts = tuple(dict.fromkeys((*a.excerpts, *b.excerpts)))
    return Situation(description, tuple(intents), next_id, _joined(a.sources, b.sources), excerpts)


def _content(intent: ContextualIntent) -> tuple[object, ...]:
    requirements = frozenset(normalise(part.text) for part in intent.requirements)
    return normalise(intent.explanation), requirements, frozenset(normalise(part.text) for part in intent.facts)


def _joined(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*a, *b)))


def intents_of(situations: Iterable[Situation]) -> tuple[ContextualIntent, ...]:
    """All intents of the selected situations, which is what agent and checker get (LiveAsset, equation 3).

    Their ids are renumbered where situations overlap, so that each names one intent or part.
    """
    whole = Situation()
    for situation in situations:
        whole = merge(whole, situation, "")
    return whole.intents
