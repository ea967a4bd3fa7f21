"""A model as the matcher: what it cannot be read to say is an evaluator error, what it did not answer an API error."""

from __future__ import annotations

import re
from collections.abc import Sequence

from intentfold.metrics.recovery.matching import Atom, Failed, Pairs
from intentfold.prompts.match_judge import match_judge_prompt
from intentfold.runtime.roles import Backend, BackendError, Completion

MAX_TOKENS = 256
# Questions a call: one that fails takes at most these with it.
CALL = 32


class JudgeMatcher:
    """Asks a backend for the pairs; it never sees a priority, so none can guide it. Empty sides are not asked about.

    A question that was not answered is not asked again within a run; through a journal, a run that starts again asks it.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def match(self, questions: Sequence[tuple[Sequence[Atom], Sequence[Atom]]]) -> list[Pairs | Failed]:
        """One answer a question; where the backend fails, the questions that it did not answer are `Failed`."""
        asked = [number for number, (predicted, gold) in enumerate(questions) if predicted and gold]
        prompts = [match_judge_prompt(*([(a.field, a.value, a.scope) for a in side] for side in questions[n])) for n in asked]
        missing: dict[int, str] = {}
        answered: dict[int, Completion] = {}
        for start in range(0, len(prompts), CALL):
            call = prompts[start : start + CALL]
            try:
                done = dict(enumerate(self.backend.complete(call, MAX_TOKENS)))
            except BackendError as error:
                done = error.finished
                missing |= {start + place: str(error) for place in range(len(call)) if place not in done}
            answered |= {start + place: completion for place, completion in done.items()}
        found: list[Pairs | Failed] = [()] * len(questions)
        for place, number in enumerate(asked):
            if place in missing:
                found[number] = Failed("api", missing[place])
            else:
                predicted, gold = questions[number]
                found[number] = read_pairs(answered[place], len(predicted), len(gold))
        return found


def read_pairs(completion: Completion, predicted: int, gold: int) -> Pairs | Failed:
    """The pairs that a judge wrote, counted from 0; anything but well-formed one-to-one pairs is an evaluator error."""
    lines = [line.strip() for line in completion.text.split("\n") if line.strip()]
    if not completion.stopped:
        return Failed("evaluator", f"the judge's answer was cut off after {completion.completion_tokens} tokens")
    if lines == ["NONE"]:
        return ()
    pairs: list[tuple[int, int]] = []
    for line in lines:
        match = re.fullmatch(r"(\d{1,4})-(\d{1,4})", line)
        if match is None:
            return Failed("evaluator", f"expected lines such as `2-1`, got {line[:80]!r}")
        pair = int(match[1]) - 1, int(match[2]) - 1
        if not (0 <= pair[0] < predicted and 0 <= pair[1] < gold):
            return Failed("evaluator", f"{line!r} names none of {predicted} predicted and {gold} gold requirements")
        pairs.append(pair)
    if not pairs:
        return Failed("evaluator", "the judge wrote nothing")
    if len({p for p, _ in pairs}) < len(pairs) or len({g for _, g in pairs}) < len(pairs):
        return Failed("evaluator", f"pairs must be one to one, got {lines}")
    return tuple(sorted(pairs))
