"""A language model as the worker: its calls are executed, its files kept, and its reply ends the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from intentfold.codec.actions import Call, Reply, Write, decode_actions
from intentfold.dialogue import File, Observation, Output, Turn
from intentfold.prompts.worker import called, no_action, results_turn, tool_line, worker_prompt, written
from intentfold.runtime.roles import Backend
from intentfold.runtime.verification import Job

STEPS = 8
MAX_TOKENS = 1024
# What a tool returns for its arguments, after the calls that came before.
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
            return Observation(self.name, given, f"error: missing {missing}, unknown {unknown}")
        return Observation(self.name, given, self.run(given, before))


class ModelWorker:
    """Works through any backend: at most `steps` turns of actions, each executed before the next.

    Every piece of work starts from the initial environment, a revision too: its output is complete. What is no action does
    nothing, is told to the model, and is kept in `errors`; so is work that ends without a reply.
    """

    def __init__(
        self, backend: Backend, tools: Sequence[Tool], brief: str, *, steps: int = STEPS, max_tokens: int = MAX_TOKENS
    ) -> None:
        self.backend, self.brief, self.steps, self.max_tokens = backend, brief, steps, max_tokens
        self.tools = {tool.name: tool for tool in tools}
        self.errors: list[str] = []

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def work(self, job: Job) -> Output:
        """The output after the model's reply, or after its last step. Raises `BackendError`."""
        prompt = worker_prompt(
            job.dialogue,
            [tool_line(tool.name, tool.arguments, tool.optional, tool.does) for tool in self.tools.values()],
            self.brief,
            intents=job.intents,
            notes=job.notes,
            draft=job.draft,
            unmet=[(finding.text, finding.reason) for finding in job.unmet],
            met=[finding.text for finding in job.met],
        )
        self.errors = []
        calls: list[Observation] = []
        files: dict[str, str] = {}
        for _ in range(self.steps):
            [completion] = self.backend.complete([prompt], self.max_tokens)
            actions, rejected = decode_actions(completion.text)
            self.errors += [f"{one.what}: {one.reason}" for one in rejected]
            lines = []
            for action in actions:
                if isinstance(action, Reply):
                    return _output(action.text, calls, files)
                lines.append(self._act(action, calls, files))
            lines += [no_action(one.what, one.reason) for one in rejected]
            prompt = (*prompt, Turn("assistant", completion.text), results_turn(lines))
        self.errors.append(f"no reply within {self.steps} steps")
        return _output("", calls, files)

    def _act(self, action: Call | Write, calls: list[Observation], files: dict[str, str]) -> str:
        """Execute one action; the line that tells the model what came of it."""
        if isinstance(action, Write):
            files[action.path] = action.text
            return written(action.path)
        tool = self.tools.get(action.name)
        if tool is None:
            self.errors.append(f"{action.name[:80]}: no such tool")
            return no_action(action.name[:80], f"the tools are {', '.join(self.tools)}")
        calls.append(tool.call(action.arguments, tuple(calls)))
        if calls[-1].result.startswith("error: "):
            self.errors.append(f"{action.name}: {calls[-1].result}")
        return called(action.name, calls[-1].result)


def _output(reply: str, calls: Sequence[Observation], files: Mapping[str, str]) -> Output:
    return Output(reply, tuple(calls), tuple(File(path, text) for path, text in files.items()))
