"""Whether a compressed history keeps a superseded value beside its replacement (IntentFlux, section 6)."""

from __future__ import annotations

from intentfold.dialogue import Dialogue
from intentfold.intent import IntentState, normalise
from intentfold.metrics.state import Ratio
from intentfold.runtime.history import spells
from intentfold.trace import Episode


def superseded_pairs(episode: Episode) -> list[tuple[str, str]]:
    """(old value, its replacement) of every REPLACE by the oracle, unless the old value holds again at the end.

    Values without a slot are the items' texts; pairs with a bare yes or no are left out, since those words stand
    anywhere.
    """
    pairs, state = [], IntentState()
    for turn in episode.turns:
        for edit in turn.edits:
            old = state.get(edit.id or 0)
            if edit.op == "REPLACE" and old is not None and old.kind == "goal":
                new = turn.state.get(old.id)
                if new is not None:
                    pairs.append((old.id, old.value or old.text, new.value or new.text))
        state = turn.state
    final = {item.id: item.value or item.text for item in episode.final_state.items}
    bare = {"yes", "no", "true", "false"}
    return [
        (old, new)
        for id, old, new in pairs
        if normalise(old) != normalise(final.get(id, "")) and not {normalise(old), normalise(new)} & bare
    ]


def superseded_kept(episode: Episode, dialogue: Dialogue) -> Ratio:
    """How many superseded values stand beside their replacement in what the agent reads, of how many there were.

    Reading: both stand somewhere as whole words. A short value (`4`) may stand there for another reason, so the bare
    history's own count belongs beside it.
    """
    said = normalise(" ".join(turn.content for turn in dialogue))
    pairs = superseded_pairs(episode)
    return float(sum(spells(said, old) and spells(said, new) for old, new in pairs)), float(len(pairs))
