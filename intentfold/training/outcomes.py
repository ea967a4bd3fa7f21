"""What a fold is worth: the verdict at the end of its episode (a row of on-policy distillation can weigh by it)."""

from __future__ import annotations

from intentfold.graders.registry import GRADERS, grade
from intentfold.intent import IntentState, fold
from intentfold.mining.targets import supported_edits
from intentfold.runtime.executor import execute
from intentfold.trace import Episode


def still_passes(episode: Episode, turn: int, state: IntentState, window: int | None) -> bool | None:
    """Whether the state executor earns full credit at the episode's end from `state` after `turn`, later turns folded right.

    "Right" is what a prompt of that window supports: an error that a later fold can mend costs nothing. None where no code
    grades the task's answers, or where the grader cannot tell. Raises `SandboxUnavailable` where programs cannot be run.
    """
    if episode.task.answer_form not in GRADERS:
        return None
    for later in range(turn + 1, len(episode.turns)):
        state = fold(state, supported_edits(state, episode, later, window))
    found = grade(episode.task, execute(episode.task, state.items).answer)
    return None if found.value is None else found.full
