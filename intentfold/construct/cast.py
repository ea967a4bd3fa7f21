"""Models in the roles of a trace build, and a shard's episodes built with them in lockstep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from intentfold.construct.episode import Style, assemble, clean_request, dice
from intentfold.construct.proposing import Notes, Rejected, decomposed, proposed
from intentfold.construct.rewording import reworded
from intentfold.construct.stale import Grader, Unbuildable, find_stale, verify_reference
from intentfold.construct.talk import Talk, together
from intentfold.construct.wording import bank
from intentfold.graders import grade
from intentfold.prompts.construction import Decomposition, Proposals
from intentfold.records import RECORD
from intentfold.runtime.backends import Model
from intentfold.runtime.journal import JournaledBackend
from intentfold.runtime.serving import DEFAULT_SERVING, Failures, Ledger, Serving, check_served, serve
from intentfold.task import SourceTask
from intentfold.trace import Episode, Load, Split, Wording

SHAPES: dict[str, type | None] = {"decomposer": Decomposition, "proposer": Proposals, "simulator": None}


@dataclass(frozen=True)  # no slots: the arguments parser reads a default's fields by `vars`
class Cast:
    """Served models in the roles of a build; None is scripted.

    `decomposer` takes the full request apart into goals, `proposer` proposes variants and decoys, `simulator` words the
    user's turns. Each is asked at most `attempts` times for one thing; what is refused by then becomes what the script would
    have done if `scripted_fallback`, and is counted, or else the task is left out with the reason. `cache` is the folder of
    journals, which builds one after the other may share; the build's own `completions` by default.
    """

    decomposer: Model | None = None
    proposer: Model | None = None
    simulator: Model | None = None
    attempts: int = 3
    scripted_fallback: bool = False
    cache: Path | None = None
    serving: Serving = DEFAULT_SERVING

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"cast.attempts must be at least 1, got {self.attempts}")
        check_served(self.roles, self.serving)

    @property
    def roles(self) -> dict[str, Model | None]:
        """Every role, and the model that plays it."""
        return {"decomposer": self.decomposer, "proposer": self.proposer, "simulator": self.simulator}

    @property
    def scripted(self) -> bool:
        """Whether no model takes part."""
        return not any(self.roles.values())

    def missing(self) -> str:
        """What a role lacks to be played, or nothing."""
        return "; ".join(
            f"{role}: {said}" for role, model in self.roles.items() if model is not None and (said := model.missing())
        )

    def served(self, cache: Path, name: str, failures: Failures) -> dict[str, JournaledBackend]:
        """The backends by role, journaled under `cache` in files of that name."""
        return {
            role: serve(model, role, self.serving, (self.cache or cache) / role / f"{name}.jsonl", failures, SHAPES[role])
            for role, model in self.roles.items()
            if model is not None
        }


SCRIPTED = Cast()


@dataclass(frozen=True, slots=True)
class Wanted:
    """An episode that is to be built."""

    task: SourceTask
    load: Load
    split: Split
    wording: Wording


@dataclass(frozen=True, slots=True)
class Construction:
    """What models proposed for a shard: counts by `role: what`, and the ledger's sums by role."""

    __pydantic_config__ = RECORD

    counts: dict[str, int]
    used: dict[str, list[int]]


@dataclass(slots=True)
class Built:
    """A shard's episodes (the reason instead, where a task became none), what was rejected, and what it took."""

    episodes: list[Episode | str]
    rejected: list[Rejected] = field(default_factory=list)
    construction: Construction = field(default_factory=lambda: Construction({}, {}))


def build_together(
    wanted: Sequence[Wanted],
    cast: Cast,
    style: Style,
    seed: int,
    cache: Path,
    name: str,
    failures: Failures,
    grader: Grader = grade,
) -> Built:
    """The episodes in order, models asked about all of them at a time. Raises `BackendError`."""
    ledger, notes = Ledger(), [Notes(one.task.id, one.load) for one in wanted]
    talks = [_built(one, cast, style, seed, note, grader) for one, note in zip(wanted, notes, strict=True)]
    backends = cast.served(cache, name, failures)
    episodes = together(talks, backends, cast.serving.max_tokens, ledger, lambda _, reason: str(reason), Unbuildable)
    counts: Counter[str] = sum((note.counts for note in notes), Counter())
    rejected = [one for note in notes for one in note.rejected]
    return Built(episodes, rejected, Construction(dict(sorted(counts.items())), dict(sorted(ledger.used.items()))))


def _built(one: Wanted, cast: Cast, style: Style, seed: int, notes: Notes, grader: Grader) -> Talk[Episode]:
    """As `build_episode`, with a model wherever the cast has one."""
    task, rng = one.task, dice(one.task, one.load, one.wording, seed)
    verify_reference(task, grader)
    goals = [goal for goal in task.goals if goal.kind == "goal"]
    request = clean_request(task, goals, bank(one.wording), dice(task, one.load, one.wording, seed))
    if cast.decomposer is not None:
        task = yield from decomposed(task, request, cast.attempts, cast.scripted_fallback, notes, grader)
    if cast.proposer is None:
        stale = find_stale(task, one.load, rng, grader)
    else:
        fallback = partial(find_stale, task, one.load, rng, grader) if cast.scripted_fallback else None
        stale = yield from proposed(task, request, one.load, cast.attempts, fallback, notes, grader)
    episode = assemble(task, one.load, one.split, one.wording, seed, stale, rng, style)
    if cast.simulator is not None:
        episode = yield from reworded(episode, cast.attempts, cast.scripted_fallback, notes)
    return episode


def shares(counts: dict[str, int]) -> dict[str, float]:
    """Of each role's proposals, the share that was accepted."""
    found = {}
    for role in SHAPES:
        accepted, rejected = counts.get(f"{role}: accepted", 0), counts.get(f"{role}: rejected", 0)
        if accepted + rejected:
            found[role] = accepted / (accepted + rejected)
    return found
