"""A language model as the worker: its calls are executed, its files kept, and its reply ends the work."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

from intentfold.codec.actions import Call, Reply, Write, decode_actions
from intentfold.dialogue import File, Observation, Output, Turn
from intentfold.prompts.worker import called, no_action, results_turn, tool_line, worker_prompt, written
from intentfold.runtime.roles import Backend, Completion, Prompt
from intentfold.runtime.verification import Job
from intentfold.tool import ERROR, Tool

STEPS = 8
MAX_TOKENS = 1024


@dataclass
class Desk:
    """Work in an environment: its tools by name, and what was done so far. `errors` are actions that were none or did nothing."""

    tools: Mapping[str, Tool]
    calls: list[Observation] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def do(self, text: str) -> tuple[str | None, tuple[str, ...]]:
        """Execute the actions that a model wrote: the reply, None where it gave none, and lines that tell what came of them."""
        actions, rejected = decode_actions(text)
        self.errors += [f"{one.what}: {one.reason}" for one in rejected]
        lines: list[str] = []
        for action in actions:
            if isinstance(action, Reply):
                return action.text, tuple(lines)
            lines.append(self._act(action))
        return None, (*lines, *(no_action(one.what, one.reason) for one in rejected))

    def _act(self, action: Call | Write) -> str:
        if isinstance(action, Write):
            self.files[action.path] = action.text
            return written(action.path)
        tool = self.tools.get(action.name)
        if tool is None:
            self.errors.append(f"{action.name[:80]}: no such tool")
            return no_action(action.name[:80], f"the tools are {', '.join(self.tools)}")
        self.calls.append(tool.call(action.arguments, tuple(self.calls)))
        result = self.calls[-1].result
        if result.startswith(ERROR):
            self.errors.append(f"{action.name}: {result}")
        return called(action.name, result)


def rounds(desk: Desk, prompt: Prompt, steps: int) -> Generator[Prompt, Completion, tuple[str, Prompt]]:
    """One piece of work, round by round: gives a prompt, takes its completion, and executes that before the next.

    Returns the reply, empty where none came within `steps` rounds (an error too), and all that was said and shown by then.
    """
    for _ in range(steps):
        completion = yield prompt
        reply, lines = desk.do(completion.text)
        prompt = (*prompt, Turn("assistant", completion.text))
        if reply is not None:
            return reply, prompt
        prompt = (*prompt, results_turn(lines))
    desk.errors.append(f"no reply within {steps} steps")
    return "", prompt


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
        desk = Desk(self.tools)
        self.errors = desk.errors
        work = rounds(desk, prompt, self.steps)
        asked = next(work)
        while True:
            [completion] = self.backend.complete([asked], self.max_tokens)
            try:
                asked = work.send(completion)
            except StopIteration as done:
                return output_of(done.value[0], desk.calls, desk.files)


def output_of(reply: str, calls: Sequence[Observation], files: Mapping[str, str]) -> Output:
    """What was delivered."""
    return Output(reply, tuple(calls), tuple(File(path, text) for path, text in files.items()))
