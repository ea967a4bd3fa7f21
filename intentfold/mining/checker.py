"""Checker examples from histories: learned asset text and a result in, the executed verdict out.

Kinds: `unmet` at the delivery that drew the correction, `fixed` at the delivery that mended it, `kept` where it is met
without having been corrected at that delivery, `regression`,
`not_applicable` (a condition, or a whole situation, that does not hold), and `hard_negative`: near misses, the right words
in the wrong place, claims without evidence. Labels come from the ledger's executed checks, never from text.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intentfold.asset import ContextualIntent, Fact, Part, Verdict
from intentfold.codec.verdict import Judgement, encode_verdict
from intentfold.dialogue import Dialogue, Turn
from intentfold.example import Example, Mining, Provenance
from intentfold.mining.assets import OracleLearner
from intentfold.prompts.checker import checker_prompt, checker_template_hash
from intentfold.records import RecordError, read_jsonl
from intentfold.runtime.learner import learn
from intentfold.trace import Assessment, LearningHistory, Ledger, Pair, PrivateRequirement, check_pair

# What the checker sees of the dialogue: the request alone, as at the start of another task, or all that was said.
Shown = Literal["request", "whole"]
# A family and what else is told apart within it.
Cell = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible example: a learned part judged on the output of exchange `turn` of a history."""

    pair: Pair
    turn: int
    intent: ContextualIntent
    part: Part
    judgement: Judgement
    kind: Mining
    difficulty: int
    novel: bool


def read_pairs(folder: Path, split: str, users: int = 0) -> list[Pair]:
    """Histories of a split with their ledgers, as data_gen/build_histories.py leaves them; of the first `users`, 0 for all.

    Raises `RecordError` where a ledger is missing or cannot be that of its history.
    """
    histories = read_jsonl(folder / f"{split}.jsonl", LearningHistory)
    path = folder / "private" / f"{split}.jsonl"
    ledgers = {ledger.history: ledger for ledger in read_jsonl(path, Ledger)}
    if missing := [history.id for history in histories if history.id not in ledgers]:
        raise RecordError(f"{path}: no ledger of {missing[0]} ({len(missing)} are missing)")
    for history in histories:
        check_pair(history, ledgers[history.id])
    chosen = set(list(dict.fromkeys(history.user for history in histories))[: users or None])
    return [(history, ledgers[history.id]) for history in histories if history.user in chosen]


def learned_intents(pair: Pair) -> tuple[ContextualIntent, ...]:
    """What the oracle learner has made of a history."""
    history, ledger = pair
    return learn(history, OracleLearner(ledger)).situation.intents


def candidates(pairs: Sequence[Pair], rng: random.Random, *, foreign: int = 1) -> Iterator[Candidate]:
    """All candidates of histories of one split, and for each delivery `foreign` requirements of situations that do not hold.

    Those come from histories of other families in the same wording.
    """
    learned = {history.id: learned_intents((history, ledger)) for history, ledger in pairs}
    others: dict[tuple[str, str], list[ContextualIntent]] = defaultdict(list)
    for history, _ in pairs:
        for family in {other.family for other, _ in pairs if other.wording == history.wording} - {history.family}:
            others[(family, history.wording)] += learned[history.id]
    for pair in pairs:
        history, ledger = pair
        for turn, found in enumerate(ledger.assessments):
            if not found:
                continue
            yield from _own(pair, turn, learned[history.id])
            pool = others[(history.family, history.wording)]
            for intent in rng.sample(pool, min(foreign, len(pool))):
                part = rng.choice(intent.parts)
                yield Candidate(pair, turn, intent, part, Judgement("not_applicable"), "not_applicable", 1, False)


def _own(pair: Pair, turn: int, intents: Sequence[ContextualIntent]) -> Iterator[Candidate]:
    _, ledger = pair
    now = {found.key: found for found in ledger.assessments[turn]}
    before = next((some for some in reversed(ledger.assessments[:turn]) if some), ())
    then = {found.key: found for found in before}
    for intent in intents:
        for part in intent.parts:
            requirement = _requirement(ledger, part)
            found = now[requirement.key]
            kind, difficulty = _kind(ledger, turn, found, then.get(requirement.key))
            if kind is None:
                continue
            judgement = label(found, requirement, part)
            if judgement.verdict != found.verdict:
                kind, difficulty = "not_applicable", 2
            yield Candidate(pair, turn, intent, part, judgement, kind, difficulty, requirement.novel)


def _kind(ledger: Ledger, turn: int, now: Assessment, then: Assessment | None) -> tuple[Mining | None, int]:
    """What an assessment is an example of, and how hard it is; None for what no correction is about."""
    raised_now = any(now.key in ledger.raised[said] for said in _said_since(ledger, turn))
    drew = turn + 1 < len(ledger.raised) and now.key in ledger.raised[turn + 1]
    if now.verdict == "not_applicable":
        return "not_applicable", 2
    if now.verdict == "met":
        if then is None or then.verdict != "unmet" or not raised_now:
            return "kept", 2
        return "fixed", 1 if then.manner == "plain" else 3
    if then is not None and then.verdict == "met":
        return "regression", 2
    # After a correction the reply claims that it was seen to: still unmet, that is a claim without evidence.
    if now.manner != "plain" or (raised_now and then is not None):
        return "hard_negative", 3
    return ("unmet", 1) if drew else (None, 0)


def _said_since(ledger: Ledger, turn: int) -> range:
    """The messages since the delivery before that of `turn`: its own, and those before clarification questions."""
    first = turn
    while first and not ledger.assessments[first - 1]:
        first -= 1
    return range(first, turn + 1)


def _requirement(ledger: Ledger, part: Part) -> PrivateRequirement:
    return next(r for r in ledger.requirements if part.text in (r.requirement, r.fact))


def label(found: Assessment, requirement: PrivateRequirement, part: Part) -> Judgement:
    """The verdict on a learned part from the executed check of the requirement behind it.

    A fact is unmet only where the output goes against it; an output that leaves it aside does not concern it.
    """
    if isinstance(part, Fact) and found.verdict == "unmet" and not requirement.contradicts:
        return Judgement("not_applicable")
    return Judgement(found.verdict, found.reason if found.verdict == "unmet" else "")


def balance(found: Sequence[Candidate], most: int, rng: random.Random) -> list[Candidate]:
    """Equally many of each verdict, at most `most` in all (0: as many as there are), families and kinds in turn.

    A kind is a difficulty of a known or of a held-out requirement, so that a held-out part has enough of the latter. They are
    about as few outputs as hold them: questions about one output share most of their prompt, which is then computed once.
    """
    verdicts = Counter(candidate.judgement.verdict for candidate in found)
    if not verdicts:
        return []
    size = min(verdicts.values())
    if most:
        size = min(size, most // len(verdicts))
    chosen: list[Candidate] = []
    drawn = _of_few_outputs(rng.sample(found, len(found)), size)
    for verdict in sorted(verdicts):
        cells: dict[Cell, list[Candidate]] = defaultdict(list)
        for candidate in drawn:
            if candidate.judgement.verdict == verdict:
                cells[(candidate.pair[0].family, candidate.difficulty, candidate.novel)].append(candidate)
        chosen += _in_turn(cells, size)
    # Questions about one output stand together.
    return sorted(chosen, key=lambda c: (c.pair[0].id, c.turn, c.part.text))


def _of_few_outputs(found: Sequence[Candidate], size: int) -> list[Candidate]:
    """All candidates of outputs drawn until each family has its part of `size` of each verdict, where there are so many.

    The outputs are those of candidates of all verdicts, families and kinds in turn, so that rare ones are among them.
    """
    outputs: dict[tuple[str, int], list[Candidate]] = defaultdict(list)
    cells: dict[Cell, list[Candidate]] = defaultdict(list)
    missing: Counter[tuple[Verdict, str]] = Counter()
    for candidate in found:
        verdict, family = candidate.judgement.verdict, candidate.pair[0].family
        outputs[_output(candidate)].append(candidate)
        cells[(family, verdict, candidate.difficulty, candidate.novel)].append(candidate)
        missing[(verdict, family)] += 1
    part = -(-size // len({family for _, family in missing}))
    missing = Counter({of: min(count, part) for of, count in missing.items()})
    short = Counter({verdict: size for verdict, _ in missing})  # where one family has too few, others stand in
    chosen: list[Candidate] = []
    for candidate in _in_turn(cells, len(found)):
        if not +missing and not +short:
            break
        whole = outputs.pop(_output(candidate), [])
        chosen += whole
        missing.subtract((one.judgement.verdict, one.pair[0].family) for one in whole)
        short.subtract(one.judgement.verdict for one in whole)
    return chosen


def _output(candidate: Candidate) -> tuple[str, int]:
    return candidate.pair[0].id, candidate.turn


def _in_turn(cells: Mapping[Cell, list[Candidate]], size: int) -> list[Candidate]:
    """`size` candidates, or all where they are fewer: the families in turn, and within a family its kinds in turn."""
    families: dict[str, list[list[Candidate]]] = defaultdict(list)
    for (family, *_), some in sorted(cells.items()):
        families[family].append(list(some))
    chosen: list[Candidate] = []
    size = min(size, sum(map(len, cells.values())))
    while len(chosen) < size:
        for family in sorted(families):
            piles = families[family]
            while piles and not piles[0]:
                piles.pop(0)
            if piles and len(chosen) < size:
                chosen.append(piles[0].pop())
                piles.append(piles.pop(0))
    return chosen


def example(candidate: Candidate, shown: Shown = "request") -> Example:
    """The example of a candidate."""
    history, _ = candidate.pair
    output = history.exchanges[candidate.turn].output
    dialogue: Dialogue = history.dialogue(candidate.turn) if shown == "whole" else (Turn("user", history.request),)
    asked = (dialogue, output, candidate.intent, candidate.part)
    return Example(
        version=1,
        messages=checker_prompt(*asked),
        privileged=checker_prompt(*asked, privileged=candidate.judgement),
        completion=encode_verdict(candidate.judgement),
        provenance=Provenance(
            episode=history.id,
            turn=candidate.turn,
            split=history.split,
            wording=history.wording,
            family=history.family,
            origin=history.user,
            license=history.license,
            load=candidate.difficulty,
            mining=candidate.kind,
            codec="verdict",
            template=checker_template_hash(),
            phenomena=(candidate.judgement.verdict, *(("novel",) if candidate.novel else ())),
        ),
    )


def check_no_leak(train: Sequence[Example], held_out: Sequence[Example]) -> None:
    """Raise `ValueError` where a held-out prompt, or a user of one, stands in the training part (design D7).

    A family that is held out whole may share its users: nothing of the family is in training.
    """
    prompts = {example.messages for example in train}
    users = {(example.provenance.family, example.provenance.origin) for example in train}
    for one in held_out:
        where = one.provenance
        if one.messages in prompts:
            raise ValueError(f"{where.episode}, exchange {where.turn}: the prompt stands in the training part")
        if (where.family, where.origin) in users:
            raise ValueError(f"{where.episode}: {where.origin} has tasks of {where.family} in the training part")
