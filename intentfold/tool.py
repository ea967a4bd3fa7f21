"""Tools of an environment: what an agent may call, and what it is told back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from intentfold.dialogue import Observation

ERROR = "error: "
# What a tool returns for its arguments, after the calls that came before; it begins with `ERROR` where nothing was done.
Run = Callable[[Mapping[str, str], Sequence[Observation]], str]


@dataclass(frozen=True)
class Tool:
    """A tool of an environment. All of its state is in the calls that came before: without them it is as at the start."""

    name: str
    does: str
    arguments: tuple[str, ...]
    run: Run
    optional: tuple[str, ...] = ()

    def call(self, arguments: Mapping[str, str], before: Sequence[Observation]) -> Observation:
        """The call and what came back; `error: …` for arguments that do not fit."""
        known = (*self.arguments, *self.optional)
        given = {name: value for name, value in arguments.items() if name in known}
        missing = [name for name in self.arguments if name not in given]
        if missing or len(given) < len(arguments):
            unknown = [name[:40] for name in arguments if name not in known]
            return Observation(self.name, given, f"{ERROR}missing {missing}, unknown {unknown}")
        return Observation(self.name, given, self.run(given, before))
