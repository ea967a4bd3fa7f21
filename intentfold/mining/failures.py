"""Examples from executed failures: the states that a tracker led itself into, where they cost the verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from intentfold.codec.edits import decode_edits
from intentfold.codec.full import decode_state
from intentfold.example import Example
from intentfold.intent import IntentState, fold_leniently
from intentfold.mining.examples import example
from intentfold.prompts.tracker import WINDOW, Codec
from intentfold.records import read_jsonl
from intentfold.trace import Episode, Rollout


def read_rollouts(path: Path) -> dict[str, list[Rollout]]:
    """Rollouts by episode id."""
    rollouts: dict[str, list[Rollout]] = defaultdict(list)
    for rollout in read_jsonl(path, Rollout):
        rollouts[rollout.episode].append(rollout)
    return dict(rollouts)


def failure_examples(
    episode: Episode, rollout: Rollout, *, codec: Codec = "delta", window: int | None = WINDOW
) -> Iterator[Example]:
    """One example a turn from the tracker's own states, if its errors flipped the verdict; else none."""
    if not rollout.flipped:
        return
    if len(rollout.outputs) != len(episode.turns):
        raise ValueError(f"{episode.id}: {len(episode.turns)} turns, but the rollout of {rollout.arm} has {len(rollout.outputs)}")
    own = IntentState()
    for turn, output in enumerate(rollout.outputs):
        yield example(episode, turn, own, "failure", codec=codec, window=window)
        edits, _ = (decode_edits if rollout.codec == "delta" else decode_state)(output, own)
        own, _ = fold_leniently(own, edits)
