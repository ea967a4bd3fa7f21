"""Building one episode: a task, its stale items, a schedule, and the words of both sides (IntentFlux, section 3)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import get_args

from intentfold.construct.schedule import Step, Thread, plan, with_priorities
from intentfold.construct.simulator import (
    Clause,
    Reply,
    Scene,
    agent_reply,
    apply_step,
    capitalise,
    compose,
    word_step,
)
from intentfold.construct.stale import Grader, StaleGoals, find_stale, stale_records, verify_reference
from intentfold.construct.wording import Bank, bank, say
from intentfold.dialogue import Dialogue, Turn
from intentfold.graders import grade
from intentfold.intent import Edit, IntentState, diff, fold, slot_text
from intentfold.task import Goal, Priority, SourceTask
from intentfold.trace import Branch, Episode, EpisodeTurn, Load, Split, Wording


@dataclass(frozen=True)  # no slots: the arguments parser reads a default's fields by `vars`
class Style:
    """How eventful dialogues are: shares of turns (or goals, or replies) that have what their field names.

    `chat`: turns without an edit. `several`: turns with two edits or more. `priorities`: goals given a priority that
    the task does not give. `conclusions`: replies that state a conclusion, where one is ready. The others are no
    shares: `wordings` is how many wordings of each act the training part draws on, 0 for all; `branches` how many other
    turns its user might have taken at each place (`Branch`).
    """

    chat: float = 0.12
    several: float = 0.38
    priorities: float = 0.12
    conclusions: float = 0.3
    wordings: int = 0
    branches: int = 0

    def __post_init__(self) -> None:
        for name in ("chat", "several", "priorities", "conclusions"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"style.{name} must be in [0, 1], got {getattr(self, name)}")
        for name in ("wordings", "branches"):
            if getattr(self, name) < 0 or getattr(self, name) != int(getattr(self, name)):
                raise ValueError(f"style.{name} must be a whole number of at least 0, got {getattr(self, name)}")


DEFAULT_STYLE = Style()


def build_episode(
    task: SourceTask,
    load: Load,
    split: Split,
    wording: Wording,
    seed: int,
    grader: Grader = grade,
    style: Style = DEFAULT_STYLE,
) -> Episode:
    """The episode of `task` at stale load `load`; the same arguments give the same episode.

    Raises `Unbuildable` with the reason where the task's consequences do not hold up.
    """
    rng = dice(task, load, wording, seed)
    verify_reference(task, grader)
    return assemble(task, load, split, wording, seed, find_stale(task, load, rng, grader), rng, style)


def dice(task: SourceTask, load: Load, wording: Wording, seed: int) -> random.Random:
    """The chance that an episode is made with."""
    return random.Random(f"{seed}/{task.id}/{load}/{wording}")


def assemble(
    task: SourceTask,
    load: Load,
    split: Split,
    wording: Wording,
    seed: int,
    stale: StaleGoals,
    rng: random.Random,
    style: Style = DEFAULT_STYLE,
) -> Episode:
    """The episode of a task whose reference and stale items were verified."""
    goals = with_priorities([goal for goal in task.goals if goal.kind == "goal"], rng, style.priorities)
    threads = plan(goals, stale, load, rng)
    words = bank(wording, style.wordings if wording == "train" else 0)
    branches = style.branches if wording == "train" else 0
    turns = _Director(task, threads, words, rng, style).play(branches)
    clean = clean_request(task, goals, words, rng)
    return Episode(
        version=1,
        id=f"{task.id}-b{load}-{wording}-{seed}",
        task=task,
        load=load,
        split=split,
        wording=wording,
        seed=seed,
        stale=stale_records(stale),
        turns=turns,
        clean=clean,
        no_drift=no_drift(turns, clean, goals, words, rng),
    )


class _Director:
    """Plays a schedule turn by turn, keeping the oracle state."""

    def __init__(self, task: SourceTask, threads: list[Thread], bank: Bank, rng: random.Random, style: Style) -> None:
        self.bank, self.rng, self.threads, self.style = bank, rng, threads, style
        self.formats = [goal for goal in task.goals if goal.kind == "format"]
        self.task = task
        self.scene = Scene(IntentState())
        self.reply = Reply("")
        self.at_once: Thread | None = None
        self.next_thread: Thread | None = None
        self.done: set[str] = set()
        self.said: dict[str, Goal] = {}  # what each thread last stated
        self.last: tuple[str, Step | None] | None = None  # the thread of the turn before, and what would take that turn back
        self.needed = {needed for goal in task.goals for needed in goal.depends_on}
        self.is_branch = False

    def play(self, branches: int) -> tuple[EpisodeTurn, ...]:
        turns: list[EpisodeTurn] = []
        while any(thread.steps for thread in self.threads) or self.formats:
            others = [self._copy()._turn(first=not turns) for _ in range(branches)]
            turns.append(replace(self._turn(first=not turns), branches=tuple(_branch(turn) for turn in others)))
        others = [self._copy()._chat() for _ in range(branches)]
        final = capitalise(say(self.bank, "final", self.rng)) + self.rng.choice(".!")
        last = self._record(final, self.scene.state, ("final",), last=True)
        turns.append(replace(last, branches=tuple(_branch(turn) for turn in others)))
        return tuple(turns)

    def _copy(self) -> _Director:
        """A director of the same dialogue so far, who may take another turn, also one that no schedule holds."""
        other = copy(self)
        other.rng = random.Random(self.rng.getrandbits(64))
        other.threads = [replace(thread, steps=list(thread.steps)) for thread in self.threads]
        other.formats, other.done, other.said = list(self.formats), set(self.done), dict(self.said)
        other.scene = replace(self.scene, ids=dict(self.scene.ids))
        place = {id(thread): twin for thread, twin in zip(self.threads, other.threads, strict=True)}
        kept = self.at_once if other.rng.random() < 0.5 else None
        other.at_once = None if kept is None else place[id(kept)]
        other.next_thread = None if self.next_thread is None else place[id(self.next_thread)]
        # More is said in a branch: a turn of several edits teaches more for the tokens that it costs. And as many are
        # about nothing, or ask for the work before all is said.
        other.style = replace(self.style, several=(1 + self.style.several) / 2, chat=min(1.0, 2 * self.style.chat))
        other.is_branch = True
        if other.at_once is None:
            other._wander()
        return other

    def _wander(self) -> None:
        """Changes of mind that the schedule does not hold: what a tracker rarely sees, a branch may show at any place."""
        for thread in self.threads:
            if self.last is not None and thread.name == self.last[0] and self.last[1] is not None and self.rng.random() < 0.2:
                thread.steps.insert(0, self.last[1])
                self.at_once = thread
                return
        for thread in self.threads:
            if thread.name in self.said and self.rng.random() < 0.5:
                thread.steps[:0] = self._stray(thread.name, self.said[thread.name])

    def _stray(self, name: str, goal: Goal) -> list[Step]:
        if name not in self.scene.ids:
            return [Step("restore", goal)] if self.rng.random() < 0.4 else []
        kind = self.rng.choices(("change", "withdraw", "reprioritise"), (6, 3, 1))[0]
        if kind == "withdraw":
            return [] if name in self.needed else [Step("withdraw", goal)]
        if kind == "reprioritise":
            others: list[Priority] = [p for p in get_args(Priority) if p != goal.priority]
            return [Step("reprioritise", replace(goal, priority=self.rng.choice(others)))]
        known = self.task.payload["parameters"].get(goal.slot, {"values": ()})
        values = [value for value in known["values"] if value != goal.value]
        if goal.slot is None or not values:
            return []
        value = self.rng.choice(values)
        return [Step("change", replace(goal, value=value, text=slot_text(goal.slot, value)))]

    def _turn(self, first: bool) -> EpisodeTurn:
        if self.at_once is None and not first and self.rng.random() < self.style.chat:
            return self._chat()
        chosen = self._choose(first)
        scene, state = self.scene, self.scene.state
        state = _with_conclusion(state, self.reply)
        clauses: list[Clause] = []
        steps: list[Step] = []
        for thread in chosen:
            step = thread.steps[0]
            # Later clauses are worded against the scene that the earlier ones left.
            here = replace(scene, state=state, asked=None if clauses else scene.asked, last=() if clauses else scene.last)
            clause = word_step(step, thread.name, here, self.bank, self.rng)
            if clause.alone and clauses:
                continue
            state = apply_step(state, scene.ids, thread.name, step)
            undone = _undone(step, self.said.get(thread.name))
            self.said[thread.name] = step.goal
            thread.steps.pop(0)
            self.done.add(thread.name)
            clauses.append(clause)
            steps.append(step)
            if clause.alone:
                break
        if self.formats and (not clauses or self.rng.random() < 0.3):
            clauses.append(Clause(say(self.bank, "format", self.rng, text=self.formats.pop(0).text.rstrip(".")), ("format",)))
        change = any(step.kind != "state" for step in steps)
        text = compose(clauses, change, self.bank, self.rng)
        if first:
            text = f"{self.task.request} {text}"
        phenomena = tuple(
            sorted({p for clause in clauses for p in clause.phenomena} | ({"several"} if len(steps) > 1 else set()))
        )
        self.at_once = None
        # What is taken back at once must be mended by one edit: not where a conclusion fell with it.
        whole = len(state.of_kind("conclusion")) >= len(scene.state.of_kind("conclusion"))
        whole = whole and len(clauses) == 1 and len(steps) == 1
        self.last = (chosen[0].name, undone) if whole else None
        if whole and chosen[0].steps and chosen[0].steps[0].at_once:
            self.at_once = chosen[0]
        scene.last = tuple(steps) if len(clauses) == 1 else ()
        return self._record(text, state, phenomena)

    def _choose(self, first: bool) -> list[Thread]:
        if self.at_once is not None:
            return [self.at_once]
        ready = [t for t in self.threads if t.steps and t.needs <= self.done]
        self._cancel_missed(ready)
        count = 1 if self.rng.random() >= self.style.several else self.rng.choices((2, 3), (3, 1))[0]
        if first:
            # A dialogue opens with something wanted, not with a decoy alone.
            stated = [t for t in ready if not t.name.startswith("decoy")]
            ready = stated or ready
        chosen = self.rng.sample(ready, min(count, len(ready)))
        if self.next_thread is not None and self.next_thread in ready and self.rng.random() < 0.8:
            chosen = [self.next_thread, *(t for t in chosen if t is not self.next_thread)][:count]
        # A step that the next turn takes back at once stands alone in its turn.
        leading = [t for t in chosen if len(t.steps) > 1 and t.steps[1].at_once]
        return leading[:1] or chosen

    def _cancel_missed(self, ready: Sequence[Thread]) -> None:
        for thread in ready:
            if thread.steps[0].at_once:
                thread.steps[0] = replace(thread.steps[0], at_once=False)

    def _chat(self) -> EpisodeTurn:
        rng, state = self.rng, self.scene.state
        state = _with_conclusion(state, self.reply)
        goals = [item for item in state.items if item.kind == "goal" and item.slot is not None]
        values = [v for p in self.task.payload["parameters"].values() for v in p["values"]]
        acts = ["chat", "mention", "confirm", "confirm_all", "ask_status", "final"]
        act = rng.choices(acts, [4, 2, 2, 1, 1, 3 if self.is_branch else 0])[0]
        if (act == "confirm" and not goals) or (act == "mention" and not values):
            act = "chat"
        fields = {}
        if act == "confirm":
            item = rng.choice(goals)
            fields = {"slot": item.slot or "", "value": item.value or ""}
        elif act == "mention":
            fields = {"value": rng.choice(values)}
        clause = Clause(say(self.bank, act, rng, **fields), (), fields=tuple(fields.values()))
        text = compose([clause], False, self.bank, rng)
        self.scene.last, self.last = (), None
        return self._record(text, state, ("chat" if act == "chat" else act,), chatted=True)

    def _record(
        self, user: str, target: IntentState, phenomena: tuple[str, ...], chatted: bool = False, last: bool = False
    ) -> EpisodeTurn:
        before = self.scene.state
        if last:
            target = _with_conclusion(before, self.reply)
        edits = diff(before, target)
        state = fold(before, edits)
        self._renumber(target, state)
        self.scene.state = state
        reply = Reply("")
        if not last:
            waiting = [t for t in self.threads if t.steps and t.steps[0].kind == "state" and t.needs <= self.done]
            self.next_thread = self.rng.choice(waiting) if waiting else None
            next_slot = None if self.next_thread is None else self.next_thread.steps[0].goal.slot
            conclusions = self.task.payload.get("conclusions", ())
            reply = agent_reply(state, next_slot, conclusions, chatted, self.style.conclusions, self.bank, self.rng)
        self.reply = reply
        self.scene.asked, self.scene.recap = reply.asked, reply.recap
        if reply.asked is None:
            self.next_thread = None
        return EpisodeTurn(user, edits, state, phenomena, reply.text)

    def _renumber(self, target: IntentState, state: IntentState) -> None:
        """The oracle's ids are those of its own edits: what a turn added and took back within itself leaves no gap."""
        place = {(item.kind, item.slot, item.text, item.scope): item.id for item in state.items}
        for thread, id in list(self.scene.ids.items()):
            item = target.get(id)
            if item is None:
                del self.scene.ids[thread]
            else:
                self.scene.ids[thread] = place[(item.kind, item.slot, item.text, item.scope)]


def _undone(step: Step, before: Goal | None) -> Step | None:
    """The step that takes `step` back, where one word can ask for it; `before` is what its thread had stated."""
    if step.kind in ("state", "restore"):
        return Step("withdraw", step.goal, at_once=True)
    if step.kind == "withdraw":
        return Step("restore", step.goal, at_once=True)
    return Step("back", before, at_once=True) if step.kind in ("change", "back") and before is not None else None


def _branch(turn: EpisodeTurn) -> Branch:
    return Branch(turn.user, turn.edits, turn.phenomena)


def _with_conclusion(state: IntentState, reply: Reply) -> IntentState:
    """The state with the conclusion that the reply states, if it states one."""
    item = reply.conclusion
    if item is None:
        return state
    return fold(state, [Edit("ADD", kind="conclusion", depends_on=item.depends_on, slot=item.slot, value=item.value)])


def clean_request(task: SourceTask, goals: Sequence[Goal], bank: Bank, rng: random.Random) -> str:
    """The single-turn, fully specified task: the request and every final goal, in order."""
    sentences = [task.request]
    for goal in goals:
        if goal.slot is None:
            words = goal.text
        elif goal.scope is not None:
            words = say(bank, "add_for", rng, slot=goal.slot, value=goal.value or "", scope=goal.scope)
        else:
            act = "add" if goal.priority is None else f"add_{goal.priority}"
            words = say(bank, act, rng, slot=goal.slot, value=goal.value or "")
        sentences.append(capitalise(words, *filter(None, (goal.value, goal.slot))).rstrip(".") + ".")
    sentences += [goal.text.rstrip(".") + "." for goal in task.goals if goal.kind == "format"]
    return " ".join(sentences)


def no_drift(turns: Sequence[EpisodeTurn], clean: str, goals: Sequence[Goal], bank: Bank, rng: random.Random) -> Dialogue:
    """The turn-matched control (IntentFlux, section 5.1): final requirements first, then no-change confirmations of
    a length comparable to the drifting turn's, then the same neutral request."""
    dialogue = [Turn("user", clean)]
    slotted = [goal for goal in goals if goal.slot is not None]
    for turn in turns[1:-1]:
        dialogue.append(Turn("assistant", capitalise(say(bank, "agent_ack", rng))))
        sentences = [capitalise(say(bank, "confirm_all", rng)) + "."]
        while slotted and sum(map(len, sentences)) < 0.7 * len(turn.user):
            goal = rng.choice(slotted)
            slot, value = goal.slot or "", goal.value or ""
            sentences.append(capitalise(say(bank, "confirm", rng, slot=slot, value=value), value, slot) + ".")
        dialogue.append(Turn("user", " ".join(sentences)))
    dialogue += [Turn("assistant", capitalise(say(bank, "agent_ack", rng))), Turn("user", turns[-1].user)]
    return tuple(dialogue)
