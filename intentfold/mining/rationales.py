"""Thoughts that lead to right answers, by rejection sampling: cases, the drafts of a teacher, and what of them is kept.

A draft is kept where its answer is right by what the role is judged by: the task's grader (agent), the exact state (tracker),
the executed verdict (checker). All that is not kept is counted under its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from intentfold.codec.state import active_lines, state_lines
from intentfold.codec.thinking import Style, Thinking, decode_thinking, fault_of, with_thought
from intentfold.codec.verdict import decode_verdict
from intentfold.dialogue import Dialogue
from intentfold.example import Example, Provenance
from intentfold.graders import Grade
from intentfold.graders.registry import GRADERS
from intentfold.intent import IntentState, canonical, fold, normalise
from intentfold.mining.examples import example
from intentfold.mining.targets import supported_edits
from intentfold.mining.walks import change_line, clean_walk, drift_walk, fold_walk, judgement_walk
from intentfold.prompts.agent import agent_template_hash
from intentfold.prompts.templates import thoughtful_hash
from intentfold.prompts.thinking import betrays, teacher_prompt, thinking_prompt
from intentfold.prompts.tracker import Codec
from intentfold.runtime.episodes import control_view, tracked_formats
from intentfold.runtime.loop import active_items
from intentfold.runtime.model_agent import view_prompt
from intentfold.runtime.roles import Backend, Completion
from intentfold.runtime.tracker import read_fold
from intentfold.task import SourceTask
from intentfold.trace import Episode

# What a privileged teacher is shown of the right answer; a checker's has one form, its verdict.
Shown = Literal["nothing", "state", "edits"]
Told = Literal["drift", "clean"]
GradeOf = Callable[[SourceTask, str], Grade]
KEPT = "kept"
BARREN = "cases without any"


@dataclass(frozen=True, slots=True)
class Case:
    """One question of a role: its prompt, what can be shown to a teacher, the scripted draft, and who judges an answer.

    `judge` says why an answer is not right, empty where it is. `provenance` is that of a plain example of the role.
    """

    prompt: Dialogue
    state: str
    edits: str
    scripted: Thinking
    judge: Callable[[str], str]
    provenance: Provenance

    def hint(self, shown: Shown) -> str:
        """What a teacher is shown of the right answer, empty for nothing."""
        return {"nothing": "", "state": self.state, "edits": self.edits}[shown]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a teacher wrote for a case, and who it was; `unread` says why there is no thought with an answer in it."""

    thinking: Thinking
    teacher: str
    unread: str = ""


def agent_case(episode: Episode, told: Told, grade: GradeOf) -> Case:
    """An agent alone with the dialogue (`drift`) or the fully specified request (`clean`): no state, no harness."""
    view = control_view(episode, told, executor=False)
    thought, answer = (drift_walk if told == "drift" else clean_walk)(episode)
    before, lines = IntentState(), []
    for number, turn in enumerate(episode.turns, start=1):
        lines.append(f"Turn {number}: {change_line(before, turn.edits)}")
        before = turn.state

    def judge(answer: str) -> str:
        found = grade(episode.task, answer)
        return "ungradable" if found.value is None else "" if found.full else "wrong answer"

    where = Provenance(
        episode.id, len(episode.turns) - 1, episode.split, episode.wording, episode.task.family, episode.task.origin,
        episode.task.license, episode.load, told, "answer", agent_template_hash(), (),
    )  # fmt: skip
    holds = active_lines(active_items(episode.final_state, tracked_formats(episode)))
    return Case(view_prompt(view), holds, "\n".join(lines), Thinking(thought, answer), judge, where)


def gradable(episode: Episode) -> bool:
    """Whether code can grade the episode's answers: what only a judge can has no place among an agent's cases."""
    return episode.task.answer_form in GRADERS


def tracker_cases(episode: Episode, codec: Codec, window: int | None) -> Iterator[Case]:
    """A fold a turn, each from the oracle state before it."""
    own = IntentState()
    for number, turn in enumerate(episode.turns):
        edits = supported_edits(own, episode, number, window)
        plain = example(episode, number, own, "oracle", codec=codec, window=window)
        right = fold(own, edits)
        scripted = Thinking(fold_walk(own, edits), plain.completion)
        yield Case(
            plain.messages, state_lines(right), plain.completion, scripted, _state_judge(own, right, codec), plain.provenance
        )
        own = turn.state


def _state_judge(own: IntentState, right: IntentState, codec: Codec) -> Callable[[str], str]:
    def judge(answer: str) -> str:
        found = read_fold(own, Completion(answer, 0, 0, True), codec)
        if found.rejected:
            return "rejected edits"
        return "" if canonical(found.state) == canonical(right) else "wrong state"

    return judge


def checker_case(plain: Example) -> Case:
    """A judgement that was mined with its executed verdict. Raises `ValueError` for a completion that is no verdict."""
    right = decode_verdict(plain.completion)
    if right is None:
        raise ValueError(f"{plain.provenance.episode}: the completion {plain.completion[:80]!r} is no verdict")

    def judge(answer: str) -> str:
        found = decode_verdict(answer)
        return "no verdict" if found is None else "" if found.verdict == right.verdict else "wrong verdict"

    scripted = Thinking(judgement_walk(plain, right), plain.completion)
    return Case(plain.messages, plain.completion, plain.completion, scripted, judge, plain.provenance)


def scripted_drafts(cases: Sequence[Case]) -> list[Draft]:
    """The oracle's own way to each answer."""
    return [Draft(case.scripted, "scripted") for case in cases]


def drafts(cases: Sequence[Case], backend: Backend, shown: Shown, *, writes: bool, max_tokens: int) -> list[Draft]:
    """What a model writes for each case. Raises `BackendError`: a failed server is no wrong answer.

    It `writes` its way before the answer, in words; or the backend is one that thinks, and its thought is the way.
    """
    prompts = [teacher_prompt(case.prompt, case.hint(shown), writes=writes) for case in cases]
    return [_read(found, backend.name, writes) for found in backend.complete(prompts, max_tokens)]


def _read(found: Completion, teacher: str, writes: bool) -> Draft:
    nothing = Thinking("", "")
    if not found.closed:
        return Draft(nothing, teacher, "no end of the thought")
    if not found.stopped:
        return Draft(nothing, teacher, "cut off")
    thinking = decode_thinking(found.text, "plain") if writes else Thinking(found.thought or "", found.text)
    return Draft(nothing, teacher, "no end of the thought") if thinking is None else Draft(thinking, teacher)


def sift(
    case: Case, drafts: Sequence[Draft], style: Style | None, keep: int, shown: Shown = "nothing"
) -> tuple[list[Example], Counter[str]]:
    """The examples of at most `keep` drafts whose answers are right, and how many were kept or were not, and why.

    Two drafts that say the same are one. Without a `style` the examples are of answers alone.
    """
    kept: list[Example] = []
    counts: Counter[str] = Counter()
    said: set[tuple[str, str]] = set()
    for draft in drafts:
        same = (normalise(draft.thinking.thought) if style else "", normalise(draft.thinking.answer))
        why = draft.unread or (_thought_fault(draft, style, shown) if style else "") or case.judge(draft.thinking.answer)
        why = why or ("duplicate" if same in said else "" if len(kept) < keep else "more than asked for")
        counts[why or KEPT] += 1
        if not why:
            said.add(same)
            kept.append(_example(case, draft, style, shown))
    return kept, counts


def _thought_fault(draft: Draft, style: Style, shown: Shown) -> str:
    if shown != "nothing" and betrays(draft.thinking.thought):
        return "speaks of what it was shown"
    return fault_of(draft.thinking.thought, style)


def _example(case: Case, draft: Draft, style: Style | None, shown: Shown) -> Example:
    where = case.provenance
    if style is not None or draft.thinking.answer != case.scripted.answer:
        where = replace(where, operations=())  # they are of the scripted answer's lines
    if style is not None:
        told = "" if shown == "nothing" else shown
        template = thoughtful_hash(where.template, style)
        where = replace(where, codec=with_thought(where.codec, style), template=template, teacher=draft.teacher, shown=told)
    return Example(
        version=1,
        messages=case.prompt if style is None else thinking_prompt(case.prompt, style),
        privileged=teacher_prompt(case.prompt, case.state, writes=style is not None),
        completion=draft.thinking.answer,
        provenance=where,
        thought=draft.thinking.thought if style else "",
    )
