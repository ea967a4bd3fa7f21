"""Episodes become tracker examples: from oracle states, corrupted states, and executed failures (IntentFlux, section 2)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from intentfold.codec.edits import line_operations
from intentfold.example import Example, Mining, Provenance
from intentfold.intent import Edit, IntentState, fold_leniently
from intentfold.mining.targets import supported_edits
from intentfold.prompts.tracker import WINDOW, Codec, tracker_completion, tracker_prompt, tracker_template_hash
from intentfold.trace import Episode


def example(
    episode: Episode,
    turn: int,
    own: IntentState,
    mining: Mining,
    *,
    branch: int = 0,
    codec: Codec = "delta",
    window: int | None = WINDOW,
) -> Example:
    """The example of one fold from the state `own`, with the edits that its prompt supports as the target."""
    episode = episode.taking(turn, branch)
    edits = supported_edits(own, episode, turn, window)
    dialogue = episode.drift(turn)
    completion = tracker_completion(own, edits, codec)
    return Example(
        version=1,
        messages=tracker_prompt(own, dialogue, codec=codec, window=window),
        privileged=tracker_prompt(own, dialogue, codec=codec, window=window, privileged=edits),
        completion=completion,
        provenance=Provenance(
            episode=episode.id,
            turn=turn,
            split=episode.split,
            wording=episode.wording,
            family=episode.task.family,
            origin=episode.task.origin,
            license=episode.task.license,
            load=episode.load,
            mining=mining,
            codec=codec,
            template=tracker_template_hash(codec, window),
            phenomena=episode.turns[turn].phenomena,
            branch=branch,
            operations=line_operations(completion, own) if codec == "delta" else (),
        ),
    )


def oracle_examples(episode: Episode, *, codec: Codec = "delta", window: int | None = WINDOW) -> Iterator[Example]:
    """One example a turn and branch, each from the oracle state before it."""
    before = IntentState()
    for turn, step in enumerate(episode.turns):
        for branch in range(1 + len(step.branches)):
            yield example(episode, turn, before, "oracle", branch=branch, codec=codec, window=window)
        before = step.state


def corrupted_examples(
    episode: Episode, rng: random.Random, *, share: float, codec: Codec = "delta", window: int | None = WINDOW
) -> Iterator[Example]:
    """Examples of a share of the turns, each from a corrupted state: a tracker's typical slips in the turn before."""
    for turn in range(1, len(episode.turns)):
        if rng.random() < share:
            own = corrupt(episode, turn, rng)
            yield example(episode, turn, own, "corrupted", codec=codec, window=window)


def corrupt(episode: Episode, turn: int, rng: random.Random) -> IntentState:
    """A state before user turn `turn` that missed, doubled, or misplaced some edits on the way there."""
    state = IntentState()
    first = max(0, turn - 3)
    if first:
        state = episode.turns[first - 1].state
    for position in range(first, turn):
        edits: list[Edit] = []
        for edit in supported_edits(state, episode, position, None):
            slip = rng.random()
            others = [item for item in state.items if item.id != edit.id and item.slot is not None]
            if slip < 0.15 and not any(d < 0 for d in edit.depends_on):
                continue  # missed
            if slip < 0.25 and edit.op == "REPLACE" and edit.value is not None and others:
                edits.append(Edit("REPLACE", id=rng.choice(others).id, value=edit.value))  # bound to the wrong item
            elif slip < 0.35 and edit.op == "DELETE" and others:
                edits.append(Edit("DELETE", id=rng.choice(others).id))
            else:
                edits.append(edit)
        state, _ = fold_leniently(state, edits)
    return state
