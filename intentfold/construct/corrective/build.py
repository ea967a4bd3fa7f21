"""Building many learning histories: users with their tastes, split by user; and the report of how they correct."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from intentfold.construct.corrective.agent import AgentRates, ScriptedWorker
from intentfold.construct.corrective.audit import AuditError
from intentfold.construct.corrective.interaction import interact
from intentfold.construct.corrective.model_user import ModelUser
from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.user import SimulatedUser, specification
from intentfold.construct.corrective.work import Family
from intentfold.construct.splits import split_of
from intentfold.records import RECORD
from intentfold.runtime.backends import Backends, Model
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.verification import Worker
from intentfold.runtime.worker import ModelWorker
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


@dataclass(frozen=True)
class Cast:
    """Models in the roles of a build, each by an OpenAI-compatible endpoint; None is scripted.

    `user` words the messages and `reader` audits them: both or neither. What they wrote is journaled in `journals`, a file
    for each user of the build.
    """

    journals: Path
    agent: Model | None = None
    user: Model | None = None
    reader: Model | None = None
    steps: int = 8
    max_tokens: int = 1024
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def served(self, number: int) -> dict[str, JournaledBackend]:
        """The backends by role, for the user of that number."""
        models = {"agent": self.agent, "user": self.user, "reader": self.reader}
        chosen = {role: model for role, model in models.items() if model is not None}
        if not chosen:
            return {}
        journal = Journal(self.journals / f"{number}.jsonl")
        options: dict[str, Any] = {"batch_size": 1, "dtype": "float32", "device": "cpu"}
        backends = Backends(**options, chat_template_kwargs=self.chat_template_kwargs)
        return {role: JournaledBackend(backends.make(model), journal) for role, model in chosen.items()}


@dataclass(frozen=True, slots=True)
class Rejection:
    """A history that was given up, because no wording of one of its messages passed its audit."""

    __pydantic_config__ = RECORD

    history: str
    family: str
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Built:
    """What was built of a user, and the tokens that models took for it, by role."""

    pairs: list[Pair]
    rejections: list[Rejection]
    tokens: dict[str, int]


def user_histories(plan: Plan, number: int) -> list[Pair]:
    """All histories of one user with their ledgers, every role scripted."""
    return [_history(plan, FAMILIES[name], number, task, None, {}) for name in plan.families for task in range(plan.histories)]


def build_user(plan: Plan, cast: Cast, number: int) -> Built:
    """All histories of one user, by the roles of the cast. Raises `BackendError` where a model does not answer."""
    served = cast.served(number)
    built = Built([], [], {})
    for name in plan.families:
        for task in range(plan.histories):
            try:
                built.pairs.append(_history(plan, FAMILIES[name], number, task, cast, served))
            except AuditError as error:
                built.rejections.append(Rejection(error.history, name, error.refused))
    built.tokens.update({role: backend.tokens for role, backend in served.items()})
    return built


def _history(
    plan: Plan, family: Family, number: int, task: int, cast: Cast | None, served: Mapping[str, JournaledBackend]
) -> Pair:
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
    worker: Worker = ScriptedWorker(family, scenario, words, plan.rates, random.Random(rng.random()))
    if cast is not None and "agent" in served:
        tools = family.tools(scenario.values)
        worker = ModelWorker(served["agent"], tools, family.brief, steps=cast.steps, max_tokens=cast.max_tokens)
    specified = (family, scenario, requirements, words, rng, plan.both)
    user_role = SimulatedUser(*specified)
    if "user" in served:
        user_role = ModelUser(*specified, writer=served["user"], reader=served["reader"])
    id = f"{family.name}-{plan.seed}-{number}-{task}"
    return interact(worker, user_role, requirements, id=id, name=user, split=split, budget=plan.budget)


def _keys(family: Family, words: Wording, count: int, rng: random.Random) -> list[str]:
    """Requirements of a specification. Novel ones belong to the test alone, where each specification has one."""
    known = [criterion.key for criterion in family.criteria if not criterion.novel]
    novel = [criterion.key for criterion in family.criteria if criterion.novel] if words == "test" else []
    chosen = rng.sample(novel, min(1, len(novel)))
    return [*chosen, *rng.sample(known, min(count - len(chosen), len(known)))]


def report(built: Sequence[Built], plan: Plan, cast: Cast) -> dict[str, Any]:
    """Counts by split and family, how interactions end, and the mix of feedback forms beside SWE-chat's."""
    pairs = [pair for one in built for pair in one.pairs]
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
        "agent": asdict(plan.rates) if cast.agent is None else str(cast.agent.model),
        "user": "scripted" if cast.user is None else str(cast.user.model),
        "histories rejected": sum(len(one.rejections) for one in built),
        "messages refused": sum(len(refused) for _, ledger in pairs for refused in ledger.refused),
        "agent errors": sum(len(errors) for _, ledger in pairs for errors in ledger.errors),
        "tokens": dict(sum((Counter(one.tokens) for one in built), Counter())),
    }


def report_text(found: dict[str, Any], cast: Cast) -> str:
    """The report as Markdown."""
    agent = "is scripted" if cast.agent is None else f"is {cast.agent.model}"
    user = "worded by the bank" if cast.user is None or cast.reader is None else f"worded by {cast.user.model}"
    audited = "the bank's patterns" if cast.reader is None else f"code and {cast.reader.model}"
    tokens = ", ".join(f"{role} {count}" for role, count in found["tokens"].items()) or "none, every role is scripted"
    text = [
        "# Learning histories",
        f"The user is simulated, its messages {user}; the agent {agent}. Tokens of models: {tokens}.",
        f"Accepted: {found['accepted']:.3f}. Corrections a history: {found['corrections a history']:.2f}, answers to"
        f" clarification questions: {found['answers a history']:.2f}. Every correction passed its audit (grounding, coverage,"
        f" added requirements) by {audited}; {found['messages refused']} wordings were refused, and {found['histories rejected']}"
        f" histories given up for them (private/rejected.jsonl). Actions of the agent that were none: {found['agent errors']}.",
        mix_table(found),
        "The right column describes 331 messages of coding sessions; it is context and no target.",
    ]
    return "\n\n".join(text) + "\n"


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
