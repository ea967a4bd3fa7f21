"""What a turn costs late in a dialogue, with the compact state and with the whole history in the prompt.

    python scripts/bench_turns.py --base models/smollm2-135m-instruct

A made-up dialogue changes the same few items again and again, so that turn 10 and turn 100 have as many active ones.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from intentfold.config import parse
from intentfold.dialogue import Dialogue, Turn
from intentfold.intent import Edit, IntentState, fold
from intentfold.prompts.tracker import WINDOW, tracker_prompt

SLOTS = ("destination city", "number of seats", "cabin class", "day of travel", "seat", "meal")
VALUES = ("Oslo", "Rome", "Lima", "Porto", "Ghent", "Turin", "Cork")


@dataclass(frozen=True)
class Arguments:
    """What to measure.

    Args:
        base: model folder
        early: number of the early turn; by then every slot has a value
        late: number of the late turn
        repeats: dialogues, of whose turns the medians are taken
        max_tokens: tokens written a fold
    """

    base: Path = Path("models/smollm2-135m-instruct")
    early: int = 10
    late: int = 100
    repeats: int = 5
    max_tokens: int = 24

    def __post_init__(self) -> None:
        if not len(SLOTS) < self.early < self.late:
            raise ValueError(f"expected {len(SLOTS)} < early < late, got {self.early} and {self.late}")


def main(argv: list[str] | None = None) -> None:
    measure(parse(Arguments, argv, __doc__))


def measure(args: Arguments) -> None:
    from intentfold.runtime.in_process import InProcessBackend

    backend = InProcessBackend(args.base)
    for name, window in (("compact state", WINDOW), ("whole history", None)):
        tokens: dict[int, list[int]] = {args.early: [], args.late: []}
        seconds: dict[int, list[float]] = {args.early: [], args.late: []}
        for first in range(args.repeats):
            for turn in (args.early, args.late):
                state, dialogue = made_up(turn, first)
                before = time.process_time()
                [said] = backend.complete([tracker_prompt(state, dialogue, window=window)], args.max_tokens)
                seconds[turn].append(time.process_time() - before)
                tokens[turn].append(said.prompt_tokens)
        for turn in (args.early, args.late):
            cost, length = statistics.median(seconds[turn]), statistics.median(tokens[turn])
            print(f"{name}, turn {turn}: {length:.0f} prompt tokens, {cost:.2f} CPU-seconds a fold")
        ratios = [statistics.median(some[args.late]) / statistics.median(some[args.early]) for some in (tokens, seconds)]
        print(f"{name}: {ratios[0]:.2f} of the tokens, {ratios[1]:.2f} of the CPU time")


def made_up(turns: int, first: int) -> tuple[IntentState, Dialogue]:
    """The state that the last of so many user turns finds, and the dialogue with it; `first` shifts the values."""
    state, dialogue = IntentState(), []
    for turn in range(turns):
        slot, value = SLOTS[turn % len(SLOTS)], VALUES[(turn + first) % len(VALUES)]
        dialogue.append(Turn("user", f"Make the {slot} {value}, please."))
        if turn < turns - 1:
            dialogue.append(Turn("assistant", "Noted."))
            known = next((item for item in state.items if item.slot == slot), None)
            edit = Edit("REPLACE", id=known.id, value=value) if known else Edit("ADD", slot=slot, value=value)
            state = fold(state, (edit,))
    return state, tuple(dialogue)


if __name__ == "__main__":
    main()
