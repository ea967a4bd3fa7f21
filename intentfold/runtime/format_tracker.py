"""The format tracker: keeps output conventions apart from intent (StateForge's separate format tracker), by a phrase lexicon."""

from __future__ import annotations

from intentfold.intent import Edit, IntentState, fold
from intentfold.runtime.conventions import clauses, convention_in, withdraws


class FormatTracker:
    """Keeps the items of kind format that the user's turns set, change and withdraw."""

    def __init__(self, state: IntentState = IntentState()) -> None:  # noqa: B008 (immutable)
        self.state = state

    def fold(self, turn: str) -> IntentState:
        """The state after the user's turn: a convention replaces one of its group."""
        for clause in clauses(turn):
            self._fold(clause)
        return self.state

    def _fold(self, clause: str) -> None:
        active = {item.id: said for item in self.state.items if (said := convention_in(item.text)) is not None}
        taken_back = [Edit("DELETE", id=id) for id, convention in active.items() if withdraws(clause, convention)]
        self.state = fold(self.state, taken_back)
        new = convention_in(clause)
        if new is None or new.text in {item.text for item in self.state.items}:
            return
        rivals = [id for id, convention in active.items() if convention.rule.group == new.rule.group]
        edit = Edit("REPLACE", id=rivals[0], text=new.text) if rivals else Edit("ADD", text=new.text, kind="format")
        self.state = fold(self.state, [edit])
