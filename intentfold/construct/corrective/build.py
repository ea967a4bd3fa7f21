"""Building many learning histories: users with their tastes, split by user; and the report of how they correct."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from intentfold.construct.corrective.agent import AgentRates, ScriptedWorker
from intentfold.construct.corrective.interaction import interact
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.user import SimulatedUser, specification
from intentfold.construct.corrective.work import Family
from intentfold.construct.splits import split_of
from intentfold.trace import FeedbackForm, Pair, Split, Wording

WORDING_OF: dict[Split, Wording] = {"train": "train", "dev": "dev", "test": "test", "held_out_family": "test"}
# Feedback forms in 331 corrective messages of SWE-chat (LiveAsset, B.1): context for ours, not a target.
SWE_CHAT = {
    "preference": 131 / 331,
    "specification": 55 / 331,
    "context": 9 / 331,
    "any requirement": 195 / 331,
    "names a discrepancy": 178 / 331,
    "discrepancy alone": 135 / 331,
    "discrepancy and requirement": 43 / 331,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides the bytes of a build.

    Each user has `histories` tasks in every family, each with `low` to `high` requirements of its own.
    """

    families: tuple[str, ...]
    users: int
    histories: int
    low: int
    high: int
    budget: int
    rates: AgentRates
    both: float
    held_out_families: tuple[str, ...]
    seed: int


def user_histories(plan: Plan, number: int) -> list[Pair]:
    """All histories of one user, with their ledgers."""
    pairs = []
    for name in plan.families:
        for task in range(plan.histories):
            pairs.append(_history(plan, FAMILIES[name], number, task))
    return pairs


def _history(plan: Plan, family: Family, number: int, task: int) -> Pair:
    user = f"user-{plan.seed}-{number}"
    split = split_of(user, family.name, plan.held_out_families)
    # A user's tasks stay together: the split is that of the user, except for families that are held out whole.
    if split != "held_out_family":
        split = split_of(user, "corrective")
    words = WORDING_OF[split]
    rng = random.Random(f"{plan.seed}/{family.name}/{number}/{task}")
    scenario = family.scenario(plan.seed * 1_000_003 + number * plan.histories + task, plan.seed * 1_000_003 + number)
    keys = _keys(family, words, rng.randint(plan.low, plan.high), rng)
    requirements = specification(family, scenario, keys, words, rng)
    worker = ScriptedWorker(family, scenario, words, plan.rates, random.Random(rng.random()))
    user_role = SimulatedUser(family, scenario, requirements, words, rng, plan.both)
    id = f"{family.name}-{plan.seed}-{number}-{task}"
    return interact(worker, user_role, requirements, id=id, name=user, split=split, budget=plan.budget)


def _keys(family: Family, words: Wording, count: int, rng: random.Random) -> list[str]:
    """Requirements of a specification. Novel ones belong to the test alone, where each specification has one."""
    known = [criterion.key for criterion in family.criteria if not criterion.novel]
    novel = [criterion.key for criterion in family.criteria if criterion.novel] if words == "test" else []
    chosen = rng.sample(novel, min(1, len(novel)))
    return [*chosen, *rng.sample(known, min(count - len(chosen), len(known)))]


def report(pairs: Sequence[Pair], plan: Plan) -> dict[str, Any]:
    """Counts by split and family, how interactions end, and the mix of feedback forms beside SWE-chat's."""
    counts: dict[str, Counter[str]] = {}
    for history, _ in pairs:
        counts.setdefault(history.split, Counter())[history.family] += 1
    total = max(1, len(pairs))
    corrections = sum(len(history.corrections()) for history, _ in pairs)
    return {
        "counts": {split: dict(sorted(found.items())) for split, found in sorted(counts.items())},
        "accepted": sum(bool(history.closing) for history, _ in pairs) / total,
        "corrections a history": corrections / total,
        "answers a history": sum(e.act == "answer" for history, _ in pairs for e in history.exchanges) / total,
        "corrections audited and passed": corrections,
        "feedback": {name: [share, SWE_CHAT[name]] for name, share in feedback_mix(pairs).items()},
        "agent": asdict(plan.rates),
    }


def feedback_mix(pairs: Sequence[Pair]) -> dict[str, float]:
    """Shares of the corrections by form. A message that states several requirements counts for the form of its first.

    A discrepancy that is named together with the user's fact states a context.
    """
    seen: Counter[str] = Counter()
    messages = 0
    for history, ledger in pairs:
        for number in history.corrections():
            messages += 1
            named = ledger.discrepancies[number]
            facts = [key for key in named if ledger.requirement(key).fact]
            stated = (*ledger.stated[number], *facts)
            forms: list[FeedbackForm] = [ledger.requirement(key).form for key in ledger.raised[number] if key in stated]
            seen.update(forms[:1])
            seen["any requirement"] += bool(forms)
            seen["names a discrepancy"] += bool(named)
            seen["discrepancy alone"] += bool(named) and not forms
            seen["discrepancy and requirement"] += bool(named) and bool(forms)
    return {name: seen[name] / max(1, messages) for name in SWE_CHAT}


def mix_table(found: dict[str, Any]) -> str:
    """The mix as a Markdown table."""
    rows = [f"| {name} | {ours:.3f} | {theirs:.3f} |" for name, (ours, theirs) in found["feedback"].items()]
    return "\n".join(["| feedback | here | SWE-chat (LiveAsset, B.1) |", "|---|---|---|", *rows])
