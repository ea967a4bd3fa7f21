"""Which requirements a learned part is about: what lets findings be followed, whoever worded the part."""

from __future__ import annotations

from collections.abc import Iterable

from intentfold.asset import ContextualIntent, Part
from intentfold.trace import Ledger


class Origins:
    """Traces learned parts back to the requirements of histories.

    A part in the ledger's own words is about that requirement. Any other is about all that the messages raised from which
    its intent was learned: a learner that words things in its own way is followed by its sources.
    """

    def __init__(self, ledgers: Iterable[Ledger]) -> None:
        self.worded: dict[str, set[tuple[str, str]]] = {}
        self.raised: dict[str, set[tuple[str, str]]] = {}
        for ledger in ledgers:
            for requirement in ledger.requirements:
                for text in filter(None, (requirement.requirement, requirement.fact)):
                    self.worded.setdefault(text, set()).add((ledger.family, requirement.key))
            for number, keys in enumerate(ledger.raised):
                self.raised[f"{ledger.history}:{number}"] = {(ledger.family, key) for key in keys}

    def keys(self, intent: ContextualIntent, part: Part, family: str) -> frozenset[str] | None:
        """The requirements of `family` that the part is about, none where it is about another's; None where nobody knows."""
        about = self.worded.get(part.text) or set().union(*(self.raised.get(source, set()) for source in intent.sources))
        return frozenset(key for name, key in about if name == family) if about else None
