"""Reading scripted dialogues back: what a turn's words say, by the wording bank alone, and what that makes of a state.

Nothing here knows a schedule, an edit or what the simulator had in mind. A text is read as the sequence of few clauses that
leaves the fewest characters to free fields (values and sentences), so that the bank's own words explain as much as they
can; `readings` gives every one that is equally good.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from intentfold.construct.wording import Bank

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
FREE = ("value", "old", "text", "scope")
# Fragments, and what only the agent says.
_NO_CLAUSE = ("opener", "opener_change", "closer", "joiner")
# Clauses that lean on the turn before stand first.
_LEANING = ("undo", "replace_last", "add_answer")
_PIECE = re.compile(r"\(([^()]*\|[^()]*)\)|\{(\w+)\}")
_LISTED = re.compile(r"(\d+)\) (.*?)(?=, \d+\) |$)", re.DOTALL)
TIES = 8
# What a clause costs by itself, in characters: few long clauses explain a text better than many short ones. A clause
# without a word of its own explains nothing, so its fields count twice.
CLAUSE = 6


@dataclass(frozen=True, slots=True)
class Said:
    """One clause: the act, and what stands in its fields."""

    act: str
    slot: str = ""
    value: str = ""
    old: str = ""
    text: str = ""
    ordinal: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Heard:
    """What an agent's reply leaves to lean on: a slot that it asks for, texts that it lists, a conclusion with its basis."""

    asked: str = ""
    listed: tuple[str, ...] = ()
    concluded: tuple[str, str] | None = None  # slot, value
    basis: str = ""
    readable: bool = True


def readings(text: str, bank: Bank, slots: Collection[str]) -> list[tuple[Said, ...]]:
    """The readings of a user's turn that leave the least to free fields, at most `TIES`; none where no wording fits.

    `slots` are the names that a `{slot}` may hold.
    """
    known = tuple(sorted(slots, key=lambda slot: (-len(slot), slot)))
    found: dict[tuple[Said, ...], int] = {}
    for body in _bodies(text, bank):
        for cost, clauses in _clauses(body, bank, known):
            found[clauses] = min(cost, found.get(clauses, cost))
    least = min(found.values(), default=0)
    return [clauses for clauses, cost in found.items() if cost == least][:TIES]


def _bodies(text: str, bank: Bank) -> Iterator[str]:
    """The text without final punctuation, opener and closer, in every way that they can be taken off."""
    ends = {text, text.removesuffix("."), text.removesuffix("!")}
    starts = set(ends)
    for closer in _plain(bank, "closer"):
        starts |= {body[: -len(closer) - 2] for body in ends if body.casefold().endswith(f", {closer}")}
    bodies = set(starts)
    for opener in (*_plain(bank, "opener"), *_plain(bank, "opener_change")):
        bodies |= {body[len(opener) + 1 :] for body in starts if body.casefold().startswith(f"{opener} ")}
    yield from sorted(body for body in bodies if body)


Costed = tuple[int, tuple[Said, ...]]


def _clauses(body: str, bank: Bank, slots: tuple[str, ...]) -> list[Costed]:
    """The cheapest sequences of clauses that make up the whole body, with their cost."""
    joins = [(m.start(), m.end()) for joiner in _plain(bank, "joiner") for m in re.finditer(re.escape(joiner), body)]
    memo: dict[int, list[Costed]] = {}

    def from_here(start: int) -> list[Costed]:
        if start not in memo:
            found: list[Costed] = [(cost, (said,)) for cost, said in _one(body[start:], bank, slots, first=start == 0)]
            for begin, end in joins:
                if begin > start and end < len(body):
                    heads = _one(body[start:begin], bank, slots, first=start == 0)
                    tails = from_here(end) if heads else []
                    found += [(a + b, (said, *rest)) for a, said in heads for b, rest in tails]
            least = min((cost for cost, _ in found), default=0)
            memo[start] = [one for one in found if one[0] == least][:TIES]
        return memo[start]

    return from_here(0)


def _one(segment: str, bank: Bank, slots: tuple[str, ...], *, first: bool) -> list[tuple[int, Said]]:
    """The cheapest readings of one clause."""
    found: list[tuple[int, Said]] = []
    lower = segment.casefold()
    for act, template, anchor in _templates(bank):
        if anchor not in lower or (act in _LEANING and not first):
            continue
        fields = _match(template, segment, slots)
        if fields is not None:
            free = sum(len(fields.get(name, "")) for name in FREE)
            found.append((CLAUSE + (free if anchor.strip(" .,:;-=>") else 2 * free), Said(act, **fields)))
    least = min((cost for cost, _ in found), default=0)
    return [one for one in dict.fromkeys(found) if one[0] == least][:TIES]


def _match(template: str, text: str, slots: tuple[str, ...]) -> dict[str, str] | None:
    """The fields with which the template reads as `text`, case aside; a question's mark may be gone."""
    if _pattern(template, None).fullmatch(text) is None:
        return None
    match = _pattern(template, slots if "{slot}" in template else None).fullmatch(text)
    return (
        None if match is None else {name.split("_")[0]: words for name, words in match.groupdict().items() if words is not None}
    )


@lru_cache(maxsize=1 << 16)
def _pattern(template: str, slots: tuple[str, ...] | None) -> re.Pattern[str]:
    end = r"\??" if template.endswith("?") else ""
    return re.compile(_source(template.removesuffix("?"), slots, count()) + end, re.IGNORECASE | re.DOTALL)


def _source(template: str, slots: tuple[str, ...] | None, number: Iterator[int]) -> str:
    parts, start = [], 0
    for piece in _PIECE.finditer(template):
        parts.append(re.escape(template[start : piece.start()]))
        start = piece.end()
        if piece[2] is None:
            parts.append(f"(?:{'|'.join(_source(choice, slots, number) for choice in piece[1].split('|'))})")
        elif piece[2] == "slot" and slots is not None:
            parts.append(f"(?P<slot_{next(number)}>{'|'.join(map(re.escape, slots)) or '(?!)'})")
        else:
            parts.append(f"(?P<{piece[2]}_{next(number)}>{'|'.join(ORDINALS) if piece[2] == 'ordinal' else '.+?'})")
    return "".join([*parts, re.escape(template[start:])])


_BANKS: dict[int, tuple[Bank, list[tuple[str, str, str]]]] = {}


def _templates(bank: Bank) -> list[tuple[str, str, str]]:
    """Act, template, and words that must stand in whatever the template reads: the longest of its own."""
    if id(bank) not in _BANKS:
        found = []
        for act, templates in bank.items():
            if act not in _NO_CLAUSE and not act.startswith("agent_"):
                found += [(act, template, max(_PIECE.split(template)[::3], key=len).casefold()) for template in templates]
        _BANKS[id(bank)] = (bank, [(act, template, anchor.removesuffix("?")) for act, template, anchor in found])
    return _BANKS[id(bank)][1]


def _plain(bank: Bank, act: str) -> list[str]:
    """Every wording of an act without fields, as `str.casefold` has it (joiners as they are)."""
    return [wording if act == "joiner" else wording.casefold() for template in bank[act] for wording in _wordings(template)]


@lru_cache(maxsize=1 << 14)
def _wordings(template: str) -> tuple[str, ...]:
    piece = next((piece for piece in _PIECE.finditer(template) if piece[2] is None), None)
    if piece is None:
        return (template,)
    return tuple(
        wording
        for choice in piece[1].split("|")
        for wording in _wordings(template[: piece.start()] + choice + template[piece.end() :])
    )


def read_reply(reply: str, bank: Bank, slots: Collection[str]) -> Heard:
    """What the agent's reply leaves to lean on."""
    rests = {
        reply,
        *(reply[len(w) :].lstrip() for act in ("agent_ack", "agent_chat") for w in _plain(bank, act) if _begins(reply, w)),
    }
    if "" in rests:
        return Heard()
    known = tuple(sorted(slots, key=lambda slot: (-len(slot), slot)))
    for rest in sorted(rests, key=len):
        for fields in _agent(rest, bank, "agent_ask", known):
            return Heard(asked=fields["slot"])
        for fields in _agent(rest, bank, "agent_recap", known):
            return Heard(listed=tuple(text for _, text in _LISTED.findall(fields["list"])))
        concluded = sorted(_agent(rest, bank, "agent_conclude", known), key=lambda fields: len(fields["value"]))
        for fields in concluded:
            return Heard(concluded=(fields["slot"], fields["value"]), basis=fields["basis"])
    return Heard(readable=False)


def _begins(reply: str, wording: str) -> bool:
    return reply.casefold().startswith(wording) and reply[len(wording) : len(wording) + 1] in ("", " ")


def _agent(text: str, bank: Bank, act: str, slots: tuple[str, ...]) -> Iterator[Mapping[str, str]]:
    for template in bank[act]:
        fields = _match(template, text, slots)
        if fields is not None:
            yield fields


def slots_of(parameters: Mapping[str, object], conclusions: Sequence[Mapping[str, object]] = ()) -> set[str]:
    """The names of a task's own parameters and conclusions."""
    return {*parameters, *(str(entry["slot"]) for entry in conclusions)}
