"""What a tracker got right, turn by turn: one (numerator, denominator) a metric and episode, to be summed.

States are compared on goals and conclusions, up to ids and order (`canonical`); conventions have a tracker of their
own. Each metric is a ratio of sums over turns; its denominator is the base rate (how many opportunities there were).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from intentfold.codec.edits import encode_edits
from intentfold.codec.state import state_lines
from intentfold.intent import Edit, IntentItem, IntentState, canonical, content, key, normalise
from intentfold.metrics.obsolete import Wish, retention, wish
from intentfold.runtime.tracker import Fold
from intentfold.trace import Episode

Ratio = tuple[float, float]
OPS = ("ADD", "REPLACE", "DELETE", "REPRIORITIZE")
# Metrics whose ratio is no share of anything.
COUNTS = ("rejected_per_turn", "decode_tokens")


def measure(episode: Episode, own: Sequence[Fold], forced: Sequence[Fold] | None = None) -> dict[str, Ratio]:
    """Every metric of one episode: `own` are the folds of the tracker's own run, `forced` those from oracle states.

    exact_edits        forced: turns whose edits do what the oracle's do and nothing else, none rejected
    exact_state        own: turns after which the state is right
    exact_final_state  own: the last of these
    item_f1            own: 2·right / (own + oracle) items of the final state, with equal content
    <op>_precision, <op>_recall, <op>_f1
                       own: edits that match one of the oracle's edits of the turn by operation, what they are about
                       and what they say
    obsolete_retention own: goals that were predicted right, were then overridden, relaxed or removed by the oracle, and
                       stand after that turn as they were predicted, whatever their priority (`intentfold.metrics.obsolete`)
    wrong_slot         own: added or replaced values that the oracle sets in the same turn, but elsewhere
    dangling_conclusions
                       own: conclusions after a turn that held once and do not hold now
    rejected_per_turn  own: edits and lines that were rejected
    decode_tokens      own: tokens written a turn
    recovery           own: turns entered with a wrong state after which it is right
    recovered_items    own: items missing or spurious before a turn, and by the oracle still so to mend after it, that are mended
    """
    if len(own) != len(episode.turns):
        raise ValueError(f"episode {episode.id}: expected {len(episode.turns)} folds, got {len(own)}")
    counts: defaultdict[str, float] = defaultdict(float)
    sizes: defaultdict[str, float] = defaultdict(float)

    def count(metric: str, numerator: float, denominator: float) -> None:
        counts[metric] += numerator
        sizes[metric] += denominator

    before, oracle_before = IntentState(), IntentState()
    held_once: set[tuple[object, ...]] = set()
    for turn, fold in zip(episode.turns, own, strict=True):
        right = _same(fold.state, turn.state)
        count("exact_state", right, 1)
        count("rejected_per_turn", len(fold.rejected), 1)
        count("decode_tokens", fold.completion_tokens, 1)
        lost = not _same(before, oracle_before)
        count("recovery", lost and right, lost)
        missing, spurious = _faults(before, oracle_before)
        to_find, to_drop = missing & _contents(turn.state), spurious - _contents(turn.state)
        found, dropped = to_find & _contents(fold.state), to_drop - _contents(fold.state)
        count("recovered_items", found.total() + dropped.total(), to_find.total() + to_drop.total())

        count("obsolete_retention", *retention(_right(before, oracle_before), _wishes(turn.state), _wishes(fold.state)))

        holds = {content(item) for item in turn.state.of_kind("conclusion")}
        held_once |= holds
        conclusions = [content(item) for item in fold.state.of_kind("conclusion")]
        count("dangling_conclusions", sum(item in held_once - holds for item in conclusions), len(conclusions))

        said, meant = _signatures(before, fold.edits), _signatures(oracle_before, turn.edits)
        for op in OPS:
            mine, theirs = _of(said, op), _of(meant, op)
            both = (mine & theirs).total()
            count(f"{op.lower()}_precision", both, mine.total())
            count(f"{op.lower()}_recall", both, theirs.total())
            count(f"{op.lower()}_f1", 2 * both, mine.total() + theirs.total())
        count("wrong_slot", *_wrong_slots(said, meant))
        before, oracle_before = fold.state, turn.state

    count("exact_final_state", _same(before, episode.final_state), 1)
    kept, wanted = _contents(before), _contents(episode.final_state)
    count("item_f1", 2 * (kept & wanted).total(), kept.total() + wanted.total())
    oracle_before = IntentState()
    for turn, fold in zip(episode.turns, forced or (), strict=forced is not None):
        same_edits = _signatures(oracle_before, fold.edits) == _signatures(oracle_before, turn.edits)
        count("exact_edits", same_edits and not fold.rejected and _same(fold.state, turn.state), 1)
        oracle_before = turn.state
    return {metric: (counts[metric], sizes[metric]) for metric in sizes}


def rejections(folds: Sequence[Fold]) -> Counter[str]:
    """How many edits were rejected for each reason; numbers and quoted words in reasons are left out."""
    reasons = (rejected.reason for fold in folds for rejected in fold.rejected)
    return Counter(re.sub(r"\+?\d+", "#", re.sub(r"(['\"\[]).*", "…", reason)) for reason in reasons)


def fold_records(episodes: Sequence[Episode], own: Sequence[Sequence[Fold]]) -> Iterator[dict[str, object]]:
    """Every fold of a tracker's own run as plain data, to read where it went wrong."""
    for episode, folds in zip(episodes, own, strict=True):
        before = IntentState()
        for number, (turn, fold) in enumerate(zip(episode.turns, folds, strict=True)):
            yield {
                "episode": episode.id,
                "turn": number,
                "phenomena": turn.phenomena,
                "user": turn.user,
                "wrote": fold.raw,
                "oracle": encode_edits(turn.edits, before),
                "rejected": [[rejected.what, rejected.reason] for rejected in fold.rejected],
                "right": _same(fold.state, turn.state),
                "state": state_lines(fold.state),
                "oracle_state": state_lines(turn.state),
            }
            before = turn.state


def comparable(state: IntentState) -> IntentState:
    """The goals and conclusions of a state, without what they rest on among its conventions."""
    kept = state.of_kind("goal", "conclusion")
    ids = {item.id for item in kept}
    items = tuple(replace(item, depends_on=tuple(d for d in item.depends_on if d in ids)) for item in kept)
    return IntentState(items, state.next_id)


def _same(own: IntentState, oracle: IntentState) -> bool:
    return canonical(comparable(own)) == canonical(comparable(oracle))


def _wish(goal: IntentItem) -> Wish:
    return wish(goal.slot, goal.text if goal.value is None else goal.value, goal.scope)


def _wishes(state: IntentState) -> set[Wish]:
    return set(map(_wish, state.of_kind("goal")))


def _right(own: IntentState, oracle: IntentState) -> set[tuple[Wish, Wish]]:
    """The goals that both hold with equal content, priority included."""
    meant = {content(item) for item in oracle.of_kind("goal")}
    return {(_wish(item), _wish(item)) for item in own.of_kind("goal") if content(item) in meant}


def _contents(state: IntentState) -> Counter[tuple[object, ...]]:
    return Counter(content(item) for item in state.of_kind("goal", "conclusion"))


def _faults(own: IntentState, oracle: IntentState) -> tuple[Counter[tuple[object, ...]], Counter[tuple[object, ...]]]:
    """Items that are missing, and those that are spurious."""
    mine, theirs = _contents(own), _contents(oracle)
    return theirs - mine, mine - theirs


# Operation, what it is about (`key` of the item), and what it says there.
Signature = tuple[str, tuple[str, ...], tuple[object, ...]]


def _signatures(state: IntentState, edits: Sequence[Edit]) -> Counter[Signature]:
    """Edits up to ids; those about ids that are not active, or about conventions, are left out."""
    found: Counter[Signature] = Counter()
    for edit in edits:
        if edit.op == "ADD":
            if edit.kind == "format" or (edit.slot is None) != (edit.value is None) or edit.slot == "":
                continue
            text = edit.text if edit.text is not None else f"{edit.slot}: {edit.value}"
            item = IntentItem(0, text, edit.kind, (), edit.slot, edit.value, edit.scope, edit.priority)
            says: tuple[object, ...] = (_norm(edit.value), normalise(text), edit.priority)
        else:
            old = state.get(edit.id or 0)
            if old is None or old.kind == "format":
                continue
            item, says = old, ()
            if edit.op == "REPLACE":
                value = edit.value if old.slot is not None else None
                text = edit.text if edit.text is not None else f"{old.slot}: {edit.value}"
                says = (_norm(value), normalise(text))
            elif edit.op == "REPRIORITIZE":
                says = (edit.priority,)
        found[edit.op, key(item), says] += 1
    return found


def _of(signatures: Counter[Signature], op: str) -> Counter[Signature]:
    return Counter({signature: number for signature, number in signatures.items() if signature[0] == op})


def _wrong_slots(said: Counter[Signature], meant: Counter[Signature]) -> Ratio:
    places: dict[object, set[tuple[str, ...]]] = {}
    for op, about, says in meant:
        if op in ("ADD", "REPLACE") and says[0] is not None:
            places.setdefault(says[0], set()).add(about)
    bound = [(about, says[0]) for op, about, says in said.elements() if op in ("ADD", "REPLACE") and says[0] in places]
    return float(sum(about not in places[value] for about, value in bound)), float(len(bound))


def _norm(value: str | None) -> str | None:
    return None if value is None else normalise(value)
