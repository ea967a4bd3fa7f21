"""Traces: an episode is a source task turned into a dialogue with its oracle states; a learning history is corrected work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from intentfold.asset import Verdict
from intentfold.dialogue import CorrectionStep, Dialogue, Output, Turn
from intentfold.intent import Edit, IntentState, fold
from intentfold.records import RECORD, RecordError, canonical_json, content_hash, to_json
from intentfold.task import SourceTask

Load = Literal[1, 3, 5]
Split = Literal["train", "dev", "test", "held_out_family"]
Wording = Literal["train", "dev", "test"]


@dataclass(frozen=True, slots=True)
class Stale:
    """A variant (a value later replaced) or decoy (an item later withdrawn).

    `verified` says that obeying it alone takes full credit from the reference answer (design D6).
    """

    __pydantic_config__ = RECORD

    kind: Literal["variant", "decoy"]
    text: str
    slot: str | None
    value: str | None
    verified: bool


@dataclass(frozen=True, slots=True)
class Branch:
    """Another turn that the user might have taken, and the edits that it would have made. The dialogue does not go on from it.

    For training trackers alone, who see no grade: what a branch changes on its own account was not shown to matter to the
    grader, as variants and decoys are (design D6).
    """

    __pydantic_config__ = RECORD

    user: str
    edits: tuple[Edit, ...]
    phenomena: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EpisodeTurn:
    """What the user says, the oracle's edits and state after it, and what the agent answers.

    `edits` lead from the oracle state before to `state`; they include the conclusions that the agent's reply of
    the turn before stated, where those still hold. `phenomena` names what makes the turn hard (for slicing).
    `reply` is empty on the last turn: there the tested agent answers. `branches` are other turns from the same state:
    they share all of a training example's prompt but its last line.
    """

    __pydantic_config__ = RECORD

    user: str
    edits: tuple[Edit, ...]
    state: IntentState
    phenomena: tuple[str, ...]
    reply: str
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Episode:
    """One source task as a drifting dialogue, with what its other conditions need.

    `clean` is the single-turn, fully specified request. `no_drift` is turn-matched: the final requirements first,
    then confirmations of comparable length; its turns alternate user, assistant, …, user.
    """

    __pydantic_config__ = RECORD

    version: Literal[1]
    id: str
    task: SourceTask
    load: Load
    split: Split
    wording: Wording
    seed: int
    stale: tuple[Stale, ...]
    turns: tuple[EpisodeTurn, ...]
    clean: str
    no_drift: Dialogue

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError(f"episode {self.id}: has no turns")

    def drift(self, upto: int | None = None) -> Dialogue:
        """The dialogue up to and with user turn `upto` (counted from 0; the last by default)."""
        last = len(self.turns) - 1 if upto is None else upto
        dialogue: list[Turn] = []
        for turn in self.turns[: last + 1]:
            dialogue += [Turn("user", turn.user), Turn("assistant", turn.reply)]
        return tuple(dialogue[:-1])

    def taking(self, turn: int, branch: int) -> Episode:
        """The episode up to `turn`, where the user took the `branch`-th other turn instead; itself for branch 0."""
        if not branch:
            return self
        other = self.turns[turn].branches[branch - 1]
        before = self.turns[turn - 1].state if turn else IntentState()
        last = EpisodeTurn(other.user, other.edits, fold(before, other.edits), other.phenomena, "")
        return replace(self, turns=(*self.turns[:turn], last))

    @property
    def final_state(self) -> IntentState:
        """The oracle state after the last turn."""
        return self.turns[-1].state

    def hash(self) -> str:
        """Identity of the canonical content."""
        return content_hash(canonical_json(to_json(self)))


@dataclass(frozen=True, slots=True)
class Conversation:
    """A dialogue that people had, as it was: no task, no oracle and no grader stand behind it (design D12).

    So it is no episode: it can be tracked, and nothing that scores or mines reads it. User and agent alternate; the agent
    may have begun.
    """

    __pydantic_config__ = RECORD

    version: Literal[1]
    id: str
    dialogue: Dialogue

    def __post_init__(self) -> None:
        roles = [turn.role for turn in self.dialogue]
        if "user" not in roles or "system" in roles or any(a == b for a, b in pairwise(roles)):
            raise ValueError(f"conversation {self.id}: user and agent must alternate, the user at least once, got {roles[:20]}")

    @property
    def exchanges(self) -> tuple[tuple[str, str], ...]:
        """What the agent said before (empty where it had not spoken) and what the user says, turn by turn."""
        before = ("", *(turn.content for turn in self.dialogue))
        return tuple((said, turn.content) for said, turn in zip(before, self.dialogue, strict=False) if turn.role == "user")

    def hash(self) -> str:
        """Identity of the canonical content."""
        return content_hash(canonical_json(to_json(self)))


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a tracker wrote on its own way through an episode, turn by turn, and how the answer was graded.

    `full` is the verdict with the tracker's final state, `oracle_full` that with the oracle's; None is ungradable.
    """

    __pydantic_config__ = RECORD

    episode: str
    arm: str
    codec: Literal["delta", "full"]
    outputs: tuple[str, ...]
    full: bool | None
    oracle_full: bool | None

    @property
    def flipped(self) -> bool:
        """Whether the tracker's errors cost the verdict: an executable stale-intent failure (IntentFlux, section 2)."""
        return self.full is False and self.oracle_full is True


Act = Literal["request", "correction", "answer"]
# How far an output is from what is asked: near misses, right words in the wrong place, claims without evidence.
Manner = Literal["plain", "near_miss", "wrong_place", "no_evidence"]
FeedbackForm = Literal["preference", "specification", "context"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the user said, and what the agent did upon it. An answer follows a clarification question of the agent."""

    __pydantic_config__ = RECORD

    act: Act
    user: str
    output: Output


@dataclass(frozen=True, slots=True)
class LearningHistory:
    """One task of one user with its corrections: nothing in it but what both sides saw.

    `closing` is the message that accepts the result, empty where the budget ran out. What the user wanted in private,
    and how each result was assessed, stands in the `Ledger` of the same id and never here.
    """

    __pydantic_config__ = RECORD

    version: Literal[1]
    id: str
    user: str
    family: str
    license: str
    split: Split
    wording: Wording
    exchanges: tuple[Exchange, ...]
    closing: str

    def __post_init__(self) -> None:
        if not self.exchanges or self.exchanges[0].act != "request":
            raise ValueError(f"history {self.id}: must begin with a request")

    @property
    def request(self) -> str:
        """The user's first message."""
        return self.exchanges[0].user

    def messages(self, upto: int | None = None) -> dict[str, str]:
        """The user's messages by name, `id:number`, up to and with exchange `upto` (all by default)."""
        last = len(self.exchanges) - 1 if upto is None else upto
        return {f"{self.id}:{n}": exchange.user for n, exchange in enumerate(self.exchanges[: last + 1])}

    def dialogue(self, upto: int) -> Dialogue:
        """What was said before the output of exchange `upto`, the user's message of that exchange last."""
        turns: list[Turn] = []
        for exchange in self.exchanges[:upto]:
            turns += [Turn("user", exchange.user), Turn("assistant", exchange.output.reply)]
        return (*turns, Turn("user", self.exchanges[upto].user))

    def step(self, number: int) -> CorrectionStep:
        """The correction step of exchange `number`, which must be a correction.

        The result after it is the next delivery: a clarification question, which the user's answer follows, is none. Where
        the budget ran out on a question there is no result, and the output after is empty.
        """
        if self.exchanges[number].act != "correction":
            raise ValueError(f"history {self.id}: exchange {number} is a {self.exchanges[number].act}, not a correction")
        after = number
        while self.exchanges[after].output.asks and after + 1 < len(self.exchanges) and self.exchanges[after + 1].act == "answer":
            after += 1
        result = self.exchanges[after].output
        delivered = Output("") if result.asks else result
        return CorrectionStep(self.exchanges[number - 1].output, self.exchanges[number].user, delivered, self.messages(number))

    def corrections(self) -> tuple[int, ...]:
        """Numbers of the exchanges that are corrections."""
        return tuple(n for n, exchange in enumerate(self.exchanges) if exchange.act == "correction")

    def hash(self) -> str:
        """Identity of the canonical content."""
        return content_hash(canonical_json(to_json(self)))


@dataclass(frozen=True, slots=True)
class PrivateRequirement:
    """One requirement of the private specification, with the words in which an asset would hold it.

    `fact` is the user's own statement behind it, empty where there is none; `contradicts` says that a result which fails
    the requirement goes against it. `needs` are the values that the requirement's words hold: who has seen none of them
    cannot have learned it. `novel` marks what training never shows.
    """

    __pydantic_config__ = RECORD

    key: str
    form: FeedbackForm
    explanation: str
    requirement: str
    fact: str
    contradicts: bool
    needs: tuple[str, ...]
    weight: float
    novel: bool


@dataclass(frozen=True, slots=True)
class Assessment:
    """The executed check of one requirement on one output. `evidence` is the part of the output that is wrong, if any."""

    __pydantic_config__ = RECORD

    key: str
    verdict: Verdict
    reason: str
    evidence: str
    manner: Manner


@dataclass(frozen=True, slots=True)
class Ledger:
    """The private side of a history: what was wanted, how each output was assessed, what each message raised.

    `assessments[n]` are of the output of exchange `n` (empty after a clarification question), `raised[n]` the keys that
    the user's message of exchange `n` raised, `discrepancies[n]` those of them for which it names what is wrong, and
    `stated[n]` those for which it states the desired change. `errors[n]` is what was wrong with the agent's actions in
    exchange `n`, and `refused[n]` the wordings of its message that failed their audit; both empty where no model took part.
    """

    __pydantic_config__ = RECORD

    version: Literal[1]
    history: str
    family: str
    scenario: int
    requirements: tuple[PrivateRequirement, ...]
    assessments: tuple[tuple[Assessment, ...], ...]
    raised: tuple[tuple[str, ...], ...]
    discrepancies: tuple[tuple[str, ...], ...]
    stated: tuple[tuple[str, ...], ...]
    errors: tuple[tuple[str, ...], ...] = ()
    refused: tuple[tuple[str, ...], ...] = ()

    def requirement(self, key: str) -> PrivateRequirement:
        """The requirement of that key."""
        return next(found for found in self.requirements if found.key == key)

    @property
    def exposed(self) -> tuple[str, ...]:
        """Keys that the user's messages raised, in the order in which they did."""
        return tuple(dict.fromkeys(key for keys in self.raised for key in keys))


@dataclass(frozen=True, slots=True)
class LiveRun:
    """One execution of one target. Each tuple holds a value an exposed requirement, by the external evaluation.

    `first` and `final` say whether the first candidate and the delivery satisfy it; `selected` whether an intent about it was
    supplied for the task; `identified` whether the checker found
    it unmet in the first candidate; `acted` whether what is wrong with it changed in a later candidate. `passed` says that
    the checker let the delivery pass; None where nothing was checked: no checker, or no intent selected for it. Where it
    cannot be told which requirements the supplied words are about, `selected` and `identified` are None and `untraced` says why.
    `tokens` are those of models in the run, by role (worker, checker, selection); a scripted role has no entry.
    """

    __pydantic_config__ = RECORD

    method: str
    kind: str
    target: str
    cluster: str
    run: int
    weights: tuple[float, ...]
    first: tuple[bool, ...]
    final: tuple[bool, ...]
    selected: tuple[bool, ...] | None
    identified: tuple[bool, ...] | None
    acted: tuple[bool, ...]
    passed: bool | None
    revisions: int
    untraced: str = ""
    tokens: Mapping[str, int] = field(default_factory=dict, hash=False)


# A history, and what was wanted and checked in it: the second stays private.
Pair = tuple[LearningHistory, Ledger]


def check_pair(history: LearningHistory, ledger: Ledger) -> None:
    """Raise `RecordError` where a ledger cannot be that of a history: another family, other exchanges, unknown keys."""
    where = f"ledger of {history.id}"
    if (ledger.history, ledger.family) != (history.id, history.family):
        raise RecordError(f"{where}: expected {history.id} of {history.family}, got {ledger.history} of {ledger.family}")
    for name in ("assessments", "raised", "discrepancies", "stated"):
        if len(getattr(ledger, name)) != len(history.exchanges):
            found = len(getattr(ledger, name))
            raise RecordError(f"{where}: {name}: expected one of each of {len(history.exchanges)} exchanges, got {found}")
    keys = {requirement.key for requirement in ledger.requirements}
    for number, exchange in enumerate(history.exchanges):
        assessed = {found.key for found in ledger.assessments[number]}
        if assessed != (set() if exchange.output.asks else keys):
            raise RecordError(f"{where}, exchange {number}: expected assessments of {sorted(keys)}, got {sorted(assessed)}")
        raised = set(ledger.raised[number])
        named = {*ledger.discrepancies[number], *ledger.stated[number]}
        if not raised <= keys or not named <= raised:
            raise RecordError(f"{where}, exchange {number}: {sorted((raised - keys) | (named - raised))} are not of its wishes")
