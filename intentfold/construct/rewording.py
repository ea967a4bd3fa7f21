"""A model in the user's place: it says the scheduled turns in words of its own, and every turn is checked against its edits.

What is checked needs no reader: each edit must be mentioned (its value, or what it is about) or resolve as it did in the
scripted wording (an ordinal, a taking back), and no value or number may appear that the turn had no reason to name. Whether
a turn reads well is for the audit's judge (`data_gen/audit_traces.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from intentfold.construct.proposing import Notes
from intentfold.construct.reading import ORDINALS
from intentfold.construct.stale import Unbuildable
from intentfold.construct.talk import Ask, Talk
from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import Edit, IntentItem, IntentState, normalise, stands_in
from intentfold.prompts.simulator import simulator_prompt
from intentfold.runtime.roles import Completion
from intentfold.trace import Episode, EpisodeTurn

_TAKING_BACK = re.compile(
    r"\b(undo|scratch|forget|ignore|cancel|never ?mind|revert|disregard|withdraw|rewind|erase|restore|drop|strike|delete|remove"
    r"|(?:take|put|go|bring|change|turn|switch)\w* (?:\w+ ){0,3}back|back to|previous|earlier|again|after all|instead)\b"
)
_RANKED = {
    "must": re.compile(r"\b(must\w*|need\w*|required?|requirement|essential|mandatory|compulsory|vital|crucial"
                       r"|non-negotiable|has to|have to"
                       r"|absolute\w*|strict\w*|binding|obligatory|no exceptions?|critical|firm)\b"),
    "preferred": re.compile(r"\b(prefer\w*|favou?r\w*|ideal\w*|rather|would like|desirable|if possible|wish\w*|fond)\b"),
    "optional": re.compile(r"\b(option\w*|nice to have|bonus|perk|luxury|frill|if it'?s easy"
                           r"|not (?:necessary|important|needed|essential)"
                           r"|no big deal|don'?t mind|doesn'?t matter|extra|little difference|skip\w*|leave)\b"),
}  # fmt: skip
_BARE = ("yes", "no", "true", "false", "on", "off", "none")
SHARE = 0.5  # of the words of a requirement that has no slot


def reworded(episode: Episode, attempts: int, scripted: bool, notes: Notes) -> Talk[Episode]:
    """The episode with its turns as the simulator tells them; edits, states, replies and the closing request stay.

    A turn that was refused `attempts` times keeps its scripted wording if `scripted`, and is counted; else the episode is
    given up (`Unbuildable`).
    """
    turns: list[EpisodeTurn] = []
    said: list[Turn] = []
    request = episode.task.request
    for number, turn in enumerate(episode.turns[:-1]):
        told = turn.user.removeprefix(f"{request} ") if number == 0 else turn.user
        before = episode.turns[number - 1].state if number else IntentState()
        words = yield from _worded(episode, turn, told, before, tuple(said), attempts, scripted, notes)
        user = f"{request} {words}" if number == 0 else words
        turns.append(replace(turn, user=user))
        said += [Turn("user", user), Turn("assistant", turn.reply)]
    return replace(episode, turns=(*turns, episode.turns[-1]))


def _worded(
    episode: Episode,
    turn: EpisodeTurn,
    told: str,
    before: IntentState,
    dialogue: Dialogue,
    attempts: int,
    scripted: bool,
    notes: Notes,
) -> Talk[str]:
    refused: list[str] = []
    for _ in range(attempts):
        answer = yield Ask("simulator", simulator_prompt(dialogue, told, refused))
        words = " ".join(answer.text.split())
        fault = wording_fault(answer, told, turn.edits, before, _values(episode))
        if not fault:
            notes.accept("simulator")
            return words
        refused.append(notes.reject("simulator", words, fault))
    if not scripted:
        raise Unbuildable(f"simulator: none of {attempts} wordings of a turn was accepted")
    notes.counts["simulator: scripted instead"] += 1
    return told


def wording_fault(answer: Completion, told: str, edits: Sequence[Edit], before: IntentState, values: Sequence[str]) -> str:
    """What is wrong with a model's wording of `told`, which makes `edits` of `before`; empty where nothing is.

    `values` are those that the task knows: none may be named that `told` does not name and that is not active.
    """
    said = answer.text
    if not answer.stopped:
        return "is cut off"
    if not said.strip():
        return "says nothing"
    if len(said) > 3 * len(told) + 120:
        return f"says too much: {len(said)} characters for {len(told)}"
    for edit in edits:
        item = before.get(edit.id or 0)
        if edit.kind == "conclusion" or (item is not None and item.kind == "conclusion"):
            continue  # the agent's own
        if fault := _unmentioned(said, told, edit, item):
            return fault
    held = {normalise(item.value or item.text) for item in before.items}
    for value in values:
        if stands_in(value, said) and not stands_in(value, told) and normalise(value) not in held and len(normalise(value)) > 2:
            return f"names {value!r}, which it was not told to say"
    known = " ".join([told, *(item.text for item in before.items)])
    if new := sorted(set(re.findall(r"\d+", said)) - set(re.findall(r"\d+", known))):
        return f"names the number {new[0]}, which it was not told to say"
    return ""


def _unmentioned(said: str, told: str, edit: Edit, item: IntentItem | None) -> str:
    """Why an edit can neither be found in the words nor resolved from them; empty where it can."""
    slot = edit.slot or (item.slot if item is not None else None)
    new = edit.value if edit.value is not None else edit.text
    old = item.value or item.text if item is not None else None
    about = slot is not None and bool(_tokens(slot) & _tokens(said))
    # What the scripted words leave to the dialogue may be left to it here, in words that still say so.
    ordinal = next((one for one in ORDINALS if stands_in(one, told)), None)
    leans = (ordinal is not None and stands_in(ordinal, said)) or _TAKING_BACK.search(said.casefold()) is not None
    leans = leans or (_shares(said, told) and not (slot is not None and _tokens(slot) <= _tokens(told)))
    if edit.op in ("ADD", "REPLACE") and new is not None:
        if slot is None:
            return "" if _mostly(said, new) or (leans and not _mostly(told, new)) else f"leaves out {new[:80]!r}"
        if stands_in(new, told):
            if not stands_in(new, said):
                return f"leaves out the value {new!r}"
            # An answer's value may stand alone, as it does in the scripted words.
            alone = not (_tokens(slot) & _tokens(told))
            return "" if about or alone or normalise(new) not in _BARE else f"does not say what {new!r} is about"
        return "" if about or leans else f"does not point at {slot!r}"
    if edit.op == "DELETE":
        named = about or (old is not None and (stands_in(old, said) or (slot is None and _mostly(said, old))))
        return "" if named or leans else f"does not point at {slot or old!r}"
    named = about or (old is not None and (stands_in(old, said) or (slot is None and _mostly(said, old))))
    if not named:
        return f"does not point at {slot or old!r}"
    ranked = edit.priority is not None and _RANKED[edit.priority].search(said.casefold())
    return (
        ""
        if ranked or (edit.priority is not None and _shares(said, told, slot or old or ""))
        else f"does not say that {slot or old!r} is {edit.priority}"
    )


def _values(episode: Episode) -> list[str]:
    known = [value for parameter in episode.task.payload["parameters"].values() for value in parameter["values"]]
    stale = [one.value or one.text for one in episode.stale]
    return list(dict.fromkeys([*known, *stale, *(goal.value or goal.text for goal in episode.task.goals)]))


def _tokens(text: str) -> set[str]:
    """Words of some length, and digits; plain plurals count as their singular."""
    return {word.rstrip("s") for word in re.findall(r"\w+", text.casefold()) if len(word) > 2 or word.isdigit()}


def _mostly(said: str, text: str) -> bool:
    """Whether the text's numbers all stand in what is said, and half of its words."""
    wanted, found = _tokens(text), _tokens(said)
    numbers = {word for word in wanted if word.isdigit()}
    return numbers <= found and len(wanted & found) >= SHARE * len(wanted)


def _shares(said: str, told: str, slot: str = "") -> bool:
    """Whether half of the longer words that were to be said are said, those of the slot aside."""
    wanted = {word for word in _tokens(told) - _tokens(slot) if len(word) > 3}
    return normalise(said) == normalise(told) or (bool(wanted) and len(wanted & _tokens(said)) >= SHARE * len(wanted))
