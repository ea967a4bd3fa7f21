"""The final gate: checks an answer against the active output conventions by code, with one repair (StateForge)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from intentfold.intent import IntentItem
from intentfold.runtime.conventions import conventions_of
from intentfold.runtime.roles import Agent, View


@dataclass(frozen=True, slots=True)
class Gated:
    """The answer that leaves the gate, and the conventions that the first draft broke and that it still breaks."""

    answer: str
    broken: tuple[str, ...]
    left: tuple[str, ...]


def violations(answer: str, items: Iterable[IntentItem]) -> tuple[str, ...]:
    """The active conventions that the answer breaks. A fence that is asked for does not count for the others."""
    broken = []
    for convention in reversed(conventions_of(items)):
        holds = convention.holds(answer)
        if not holds:
            broken.append(convention.text)
        elif convention.rule.group == "fence":
            answer = _inside(answer)
    return tuple(reversed(broken))


def mend(answer: str, items: Iterable[IntentItem]) -> str:
    """The answer with every convention mended by rule, as far as rules can."""
    conventions = conventions_of(items)
    if any(convention.rule.group == "fence" and convention.holds(answer) for convention in conventions):
        answer = _inside(answer)
    for convention in conventions:
        answer = convention.mend(answer)
    return answer


def answer_through_gate(agent: Agent, views: Sequence[View]) -> list[Gated]:
    """The agent's answer to each view; where it breaks active conventions, the answer after one repair."""
    drafts = agent.answer(views)
    broken = [violations(draft, view.items or ()) for draft, view in zip(drafts, views, strict=True)]
    gated = [Gated(draft, (), ()) for draft in drafts]
    faulty = [n for n, found in enumerate(broken) if found]
    repairs = agent.answer([replace(views[n], draft=drafts[n], violations=broken[n]) for n in faulty])
    for n, repaired in zip(faulty, repairs, strict=True):
        gated[n] = Gated(repaired, broken[n], violations(repaired, views[n].items or ()))
    return gated


def _inside(answer: str) -> str:
    return answer.strip().partition("\n")[2].removesuffix("```").rstrip("\n")
