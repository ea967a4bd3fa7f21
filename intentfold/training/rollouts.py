"""Dialogues rolled forward on the student's own states (design D3): which folds are trained on, and from which state.

An optimizer step is made of *lanes*: episodes that go forward one turn a step. The student's sample for that turn is
both what the loss is taken on and what makes the lane's next state, so nothing is generated twice. Beside it stand the
lane's branches: other turns that the user might have taken, on which the loss is taken too (`trace.Branch`).

With the whole history in the prompt a step is made of whole dialogues (`Dialogues`): what their turns share is computed once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from torch.utils.data import Sampler

from intentfold.codec.edits import decode_edits, line_operations
from intentfold.codec.full import decode_state
from intentfold.dialogue import to_messages
from intentfold.intent import Edit, IntentState, canonical, fold, fold_leniently
from intentfold.mining.targets import supported_edits
from intentfold.prompts.tracker import Codec, tracker_completion, tracker_prompt
from intentfold.records import RECORD, from_json, to_json
from intentfold.trace import Episode, Load
from intentfold.training.data import endless, load_episodes
from intentfold.training.outcomes import still_passes
from intentfold.training.preflight import check_size
from intentfold.training.row_source import Supply
from intentfold.training.weighting import Reading


def fold_rows(episodes: Sequence[Episode], branches: int) -> list[dict[str, int]]:
    """One row a fold: the place of its episode, its turn, and its branch (0 for the turn that the dialogue took)."""
    return [
        {"episode": place, "turn": turn, "branch": branch}
        for place, episode in enumerate(episodes)
        for turn in range(len(episode.turns))
        for branch in range(1 + branches)
    ]


class LaneOrder(Sampler[int]):
    """Indices into `fold_rows`, lane by lane (`width` rows each), `steps` times, each step's lanes `repeat` times over.

    A lane goes through its episode turn by turn and then takes the next of a seeded order without end. Lanes
    start in the middle of their first episode, so that every step holds early and late turns. TRL's loader asks
    for a step's rows once per forward pass: hence `repeat`. An episode is passed over until the step at which it `enters`
    (all at 0 by default).
    """

    def __init__(
        self, turns: Sequence[int], lanes: int, width: int, steps: int, repeat: int, seed: int, enters: Sequence[int] = ()
    ) -> None:
        self.turns, self.lanes, self.width, self.steps, self.repeat, self.seed = turns, lanes, width, steps, repeat, seed
        self.enters = enters or [0] * len(turns)
        if min(self.enters) > 0:
            raise ValueError(f"no episode enters at step 0, the first does at {min(self.enters)}")

    def __len__(self) -> int:
        return self.lanes * self.width * self.steps * self.repeat

    def __iter__(self) -> Iterator[int]:
        rng = random.Random(f"{self.seed}/lanes")
        first = [0]
        for count in self.turns:
            first.append(first[-1] + count)
        episodes = endless(len(self.turns), rng)

        def drawn(step: int) -> int:
            return next(episode for episode in episodes if self.enters[episode] <= step)

        lanes = [(episode, rng.randrange(self.turns[episode])) for episode in (drawn(0) for _ in range(self.lanes))]
        for step in range(self.steps):
            rows = [(first[episode] + turn) * self.width + branch for episode, turn in lanes for branch in range(self.width)]
            for _ in range(self.repeat):
                yield from rows
            lanes = [(episode, turn + 1) if turn + 1 < self.turns[episode] else (drawn(step + 1), 0) for episode, turn in lanes]


@dataclass(frozen=True)
class Fold:
    """One fold to sample: the state it starts from, and what the student is asked."""

    episode: Episode  # up to `turn`, where that is a branch
    turn: int
    branch: int
    state: IntentState
    own: bool
    codec: Codec
    window: int | None
    lane: int = 0  # its place among the dialogues of a step

    @cached_property  # a run looks at few of all that it could sample
    def right(self) -> tuple[Edit, ...]:
        """The edits that its prompt supports."""
        return supported_edits(self.state, self.episode, self.turn, self.window)

    @property
    def name(self) -> str:
        """Where it comes from, for messages."""
        return f"{self.episode.id}:{self.turn}" + (f", branch {self.branch}" if self.branch else "")

    def prompt(self) -> list[dict[str, str]]:
        """The student's messages, and the runtime's."""
        return to_messages(tracker_prompt(self.state, self.episode.drift(self.turn), codec=self.codec, window=self.window))

    def privileged_prompt(self) -> list[dict[str, str]]:
        """The same with the right answer in it."""
        dialogue = self.episode.drift(self.turn)
        return to_messages(tracker_prompt(self.state, dialogue, codec=self.codec, window=self.window, privileged=self.right))

    def completion(self) -> str:
        """The right answer."""
        return tracker_completion(self.state, self.right, self.codec)

    def read(self, text: str) -> tuple[IntentState, int]:
        """The state after an output, folded leniently, and how many of its lines or edits were rejected."""
        edits, unread = (decode_edits if self.codec == "delta" else decode_state)(text, self.state)
        state, rejected = fold_leniently(self.state, edits)
        return state, len(unread) + len(rejected)

    def exact(self, state: IntentState) -> bool:
        """Whether `state` is what the right edits lead to."""
        return canonical(state) == canonical(fold(self.state, self.right))


@dataclass(frozen=True, slots=True)
class Reached:
    """Where a lane stands: the student's own state after `turn` of `episode`."""

    __pydantic_config__ = RECORD

    episode: str
    turn: int
    state: IntentState


class Rollout:
    """The lanes of one rank: gives each step's folds and takes what the student made of them.

    A lane goes on from its own state with probability `share` (drawn from the seed, the step and the lane), else from the
    oracle state; its `branches` start where it does. `load_enters` says from which step episodes of a stale load are drawn.
    With `graded` a fold that is not exact is told by what it costs at the episode's end (`still_passes`).
    Raises ValueError where a turn has fewer branches, or where no episode enters at step 0.
    """

    whole_dialogues = False

    def __init__(
        self,
        episodes: Sequence[Episode],
        *,
        codec: Codec,
        window: int | None,
        own_state_share: float,
        seed: int,
        branches: int = 0,
        own_state_share_start: float | None = None,
        steps: int = 1,
        load_enters: Mapping[Load, int] | None = None,
        graded: bool = False,
    ) -> None:
        for episode in episodes:
            fewest = min(len(turn.branches) for turn in episode.turns)
            if fewest < branches:
                raise ValueError(f"episode {episode.id}: branches: {branches} asked for, a turn has {fewest} (style.branches)")
        self.episodes, self.codec, self.window, self.branches = episodes, codec, window, branches
        self.own_state_share, self.seed, self.graded = own_state_share, seed, graded
        self.own_state_share_start, self.steps = own_state_share_start, steps
        self.enters = [(load_enters or {}).get(episode.load, 0) for episode in episodes]
        self.reached: dict[int, Reached] = {}
        self._share_now = 0.0

    def share(self, step: int) -> float:
        """The probability of an own state: from `own_state_share_start` in the first step to `own_state_share` in the last."""
        start = self.own_state_share if self.own_state_share_start is None else self.own_state_share_start
        return start + (self.own_state_share - start) * min(1.0, step / max(1, self.steps - 1))

    def rows(self) -> list[dict[str, int]]:
        """One row a fold (`fold_rows`)."""
        return fold_rows(self.episodes, self.branches)

    def order(self, rows: int, steps: int, repeat: int, seed: int) -> LaneOrder:
        """Lanes that go forward a turn a step."""
        width = 1 + self.branches
        turns = [len(episode.turns) for episode in self.episodes]
        return LaneOrder(turns, rows // width, width, steps, repeat, seed, self.enters)

    def together(self, folds: Sequence[Fold]) -> list[int]:
        """The lane of each fold: its branches stay beside it."""
        return [fold.lane for fold in folds]

    def begin(self, rows: Sequence[dict[str, Any]], step: int, rank: int) -> list[Fold]:
        """The folds of a step, lane by lane, each with its branches after it."""
        self._share_now = self.share(step)
        folds = []
        for place, row in enumerate(rows):
            folds.append(self._fold(place // (1 + self.branches), row["episode"], row["turn"], row["branch"], step, rank))
        return folds

    def more(self) -> list[Fold]:
        """Nothing: a lane goes one turn forward a step."""
        return []

    def _fold(self, lane: int, place: int, turn: int, branch: int, step: int, rank: int) -> Fold:
        episode = self.episodes[place]
        state, own, before = oracle_before(episode, turn), False, self.reached.get(lane)
        if turn and before is not None and (before.episode, before.turn) == (episode.id, turn - 1):
            own = random.Random(f"{self.seed}/{step}/{rank}/{lane}").random() < self.share(step)
            state = before.state if own else state
        return self._of(episode, turn, branch, state, own, lane)

    def from_oracle(self, fold: Fold) -> Fold:
        """The same fold from the oracle state."""
        # The episode of a branch ends with it: there it is the turn that was taken.
        oracle = oracle_before(fold.episode, fold.turn)
        return replace(self._of(fold.episode, fold.turn, 0, oracle, False, fold.lane), branch=fold.branch)

    def _of(self, episode: Episode, turn: int, branch: int, state: IntentState, own: bool, lane: int) -> Fold:
        episode = episode.taking(turn, branch)
        return Fold(episode, turn, branch, state, own, self.codec, self.window, lane)

    def readings(self, folds: Sequence[Fold], outputs: Sequence[str]) -> list[Reading]:
        """Whether each output folds to the right state, or else what that costs; of edits also what each line folds to."""
        return [self._reading(fold_, output) for fold_, output in zip(folds, outputs, strict=True)]

    def _reading(self, fold_: Fold, output: str) -> Reading:
        state, _ = fold_.read(output)
        operations = line_operations(output, fold_.state) if self.codec == "delta" else ()
        if fold_.exact(state):
            return Reading("exact", operations)
        # The dialogue does not go on from a branch, and no grader stands behind it.
        graded = self.graded and not fold_.branch
        full = still_passes(fold_.episode, fold_.turn, state, self.window) if graded else None
        return Reading("wrong" if full is None else "passed" if full else "failed", operations)

    def finish(self, folds: Sequence[Fold], outputs: Sequence[str]) -> dict[str, list[float]]:
        """Move each lane on to the state that its own output leads to; returns what happened, a number a fold."""
        seen: dict[str, list[float]] = {"exact": [], "rejected": [], "own_state": [], "load": []}
        for fold_, output in zip(folds, outputs, strict=True):
            state, rejected = fold_.read(output)
            if not fold_.branch:
                self._reach(fold_, state)
            seen["exact"].append(float(fold_.exact(state)))
            seen["rejected"].append(float(rejected))
            seen["own_state"].append(float(fold_.own))
            seen["load"].append(float(fold_.episode.load))
        seen["own_state_share"] = [self._share_now] * len(folds)
        return seen

    def _reach(self, fold: Fold, state: IntentState) -> None:
        self.reached[fold.lane] = Reached(fold.episode.id, fold.turn, state)

    def state(self) -> dict[str, Any]:
        """Where the lanes stand, as JSON data."""
        return {str(lane): to_json(reached) for lane, reached in self.reached.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put the lanes back."""
        self.reached = {int(lane): from_json(Reached, reached) for lane, reached in state.items()}


class Dialogues(Rollout):
    """Whole dialogues of one rank: a step holds all turns of each of its episodes, and their branches (whole-history mode).

    A turn starts from the state that the student's own output of the turn before leads to with probability
    `share` (drawn from the seed, the step, the dialogue and the turn), else from the oracle state. The latter are asked
    first, all at once; the former in waves, each when the turn before it is through. Nothing goes over from step to step.
    """

    whole_dialogues = True

    def rows(self) -> list[dict[str, int]]:
        """One row an episode."""
        return [{"episode": place} for place in range(len(self.episodes))]

    def order(self, rows: int, steps: int, repeat: int, seed: int) -> LaneOrder:
        """Episodes in a seeded order without end: lanes whose episodes are through after a step."""
        return LaneOrder([1] * len(self.episodes), rows, 1, steps, repeat, seed, self.enters)

    def begin(self, rows: Sequence[dict[str, Any]], step: int, rank: int) -> list[Fold]:
        """The folds from oracle states."""
        self._share_now = self.share(step)
        self._after: dict[tuple[int, int], IntentState] = {}  # by dialogue and turn
        self._waiting: list[tuple[int, Episode, int]] = []
        folds: list[Fold] = []
        for lane, row in enumerate(rows):
            episode = self.episodes[row["episode"]]
            for turn in range(len(episode.turns)):
                if turn and random.Random(f"{self.seed}/{step}/{rank}/{lane}/{turn}").random() < self._share_now:
                    self._waiting.append((lane, episode, turn))
                else:
                    folds += self._turn(lane, episode, turn, oracle_before(episode, turn), False)
        return folds

    def more(self) -> list[Fold]:
        """The folds from own states whose turn before is through."""
        waiting, self._waiting = self._waiting, []
        folds: list[Fold] = []
        for lane, episode, turn in waiting:
            before = self._after.get((lane, turn - 1))
            if before is None:
                self._waiting.append((lane, episode, turn))
            else:
                folds += self._turn(lane, episode, turn, before, True)
        return folds

    def _turn(self, lane: int, episode: Episode, turn: int, state: IntentState, own: bool) -> list[Fold]:
        return [self._of(episode, turn, branch, state, own, lane) for branch in range(1 + self.branches)]

    def _reach(self, fold: Fold, state: IntentState) -> None:
        self._after[fold.lane, fold.turn] = state


def oracle_folds(episodes: Sequence[Episode], codec: Codec, window: int | None, branches: int = 0) -> list[Fold]:
    """Every fold of the episodes and their branches, each from the oracle state."""
    rollout = Rollout(episodes, codec=codec, window=window, own_state_share=0.0, seed=0, branches=branches)
    rows = fold_rows(episodes, branches)
    return [rollout._fold(lane, row["episode"], row["turn"], row["branch"], 0, 0) for lane, row in enumerate(rows)]


def oracle_before(episode: Episode, turn: int) -> IntentState:
    """The oracle state that user turn `turn` finds."""
    return episode.turns[turn - 1].state if turn else IntentState()


def load_lanes(folder: Path, least: int, *, codec: Codec, window: int | None, branches: int, **settings: Any) -> Supply:
    """A tracker's rows: split train of a folder of traces, all its folds from oracle states, and those of split dev.

    Lanes, of whose rows each is a fold; with the whole history (`window` None) dialogues, each of them a row. `settings` are
    those of `Rollout`. Raises `DataError` for a bad folder and `PreflightError` where split train has fewer episodes in the
    first step than `least` rows take.
    """
    episodes, held = load_episodes(folder, "train"), load_episodes(folder, "dev")
    wanted = least if window is None else least // (1 + branches)
    check_size(len(episodes), wanted, f"{folder}, episodes of split train")
    kind = Dialogues if window is None else Rollout
    source = kind(episodes, codec=codec, window=window, branches=branches, **settings)
    check_size(source.enters.count(0), wanted, f"{folder}, episodes of split train that enter at step 0")
    return Supply(source, oracle_folds(episodes, codec, window, branches), oracle_folds(held, codec, window))
