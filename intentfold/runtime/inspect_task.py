"""Cases as a task of the evaluation library Inspect (`inspect-ai`, the extra `inspect`), which is imported late.

Inspect keeps the roles' models, concurrency, retries, epochs and the log that `inspect view` opens. What is run and how it
is scored are this package's own functions: they run in a thread of their sample, and to them a role of Inspect is a backend
like any other (`RoleBackend`). A model of kind `openai` becomes Inspect's own client; every other kind is this package's
backend behind Inspect's interface, asked one prompt at a time.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from intentfold.dialogue import Dialogue, Turn
from intentfold.records import RECORD, from_json, to_json
from intentfold.runtime.backends import Model
from intentfold.runtime.outcome import ModelRole, Outcome, Roles
from intentfold.runtime.roles import Backend, BackendError, Completion, Prompt
from intentfold.trace import Episode

# How often Inspect's client asks a server again, and for how long in all: it never gives up by itself.
RETRIES, SECONDS = 5, 600
# The backend that a model is with this seed, None for its own.
Seeded = Callable[[int | None], Backend]
_seeded: dict[str, Seeded] = {}
_turnstile = threading.Lock()


def inspect_model(role: ModelRole, model: Model, seeded: Seeded, chat_template_kwargs: Mapping[str, Any]) -> Any:
    """A role's model for Inspect: its own client for `openai`, else this package's backend behind its interface.

    Raises `ValueError` for a served model that is to think: Inspect's client parts reasoning from answers in ways of its own.
    """
    if model.kind == "openai" and model.thinking is not None:
        raise ValueError(f"{role}: a served model that thinks is not run through Inspect, got thinking {model.thinking}")
    from inspect_ai.model import GenerateConfig, get_model

    if model.kind == "openai":
        body = {"chat_template_kwargs": dict(chat_template_kwargs)} if chat_template_kwargs else None
        return get_model(
            f"openai-api/intentfold/{model.model}",
            base_url=model.base_url,
            api_key=os.environ[model.api_key_variable] if model.api_key_variable else "none",
            config=GenerateConfig(extra_body=body, temperature=model.temperature or 0.0, max_retries=RETRIES, timeout=SECONDS),
            memoize=False,
        )
    _register()
    name = f"{role}_" + re.sub(r"[^\w.+-]+", "_", seeded(None).name)  # Inspect resumes by it
    _seeded[name] = seeded
    return get_model(f"intentfold/{name}", memoize=False)


@lru_cache(maxsize=1)
def _register() -> None:
    from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

    @modelapi(name="intentfold")
    class WrappedBackend(ModelAPI):
        """A backend of this package, asked by one caller at a time."""

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            prompt = tuple(Turn(message.role, message.text) for message in input)
            found = await asyncio.to_thread(_ask, self.model_name, prompt, config.max_tokens, config.seed)
            output = ModelOutput.from_content(self.model_name, found.text, "stop" if found.stopped else "max_tokens")
            sent, written = found.prompt_tokens, found.completion_tokens
            output.usage = ModelUsage(input_tokens=sent, output_tokens=written, total_tokens=sent + written)
            return output


def _ask(name: str, prompt: Dialogue, max_tokens: int, seed: int | None) -> Completion:
    with _turnstile:
        return _seeded[name](seed).complete([prompt], max_tokens)[0]


class RoleBackend:
    """A model role of the running sample as a backend, for code in a thread of that sample; `name` is who answers.

    `seed` is what it samples with, None where it does not sample.
    """

    def __init__(self, role: ModelRole, name: str, seed: int | None) -> None:
        self.role = role
        self.name = name
        self.seed = seed

    def complete(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion]:
        """One completion a prompt, all asked at once. Raises `BackendError` with what came back all the same."""
        from anyio import from_thread

        results = from_thread.run(self._complete_all, prompts, max_tokens)
        finished = {n: result for n, result in enumerate(results) if isinstance(result, Completion)}
        for result in results:
            if isinstance(result, BackendError):
                raise BackendError(str(result), finished) from result
        return [finished[n] for n in range(len(prompts))]

    async def _complete_all(self, prompts: Sequence[Prompt], max_tokens: int) -> list[Completion | BackendError]:
        return list(await asyncio.gather(*(self._complete(prompt, max_tokens) for prompt in prompts)))

    async def _complete(self, prompt: Prompt, max_tokens: int) -> Completion | BackendError:
        from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
        from openai import OpenAIError
        from tenacity import RetryError

        kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
        messages = [kinds[turn.role](content=turn.content) for turn in prompt]
        model = get_model(role=self.role, required=True)
        try:
            output = await model.generate(messages, config=GenerateConfig(max_tokens=max_tokens, seed=self.seed))
        except (RuntimeError, OpenAIError, RetryError) as error:
            # A BackendError is a RuntimeError, and so is what Inspect's clients raise, which has no public name; that begins
            # with the whole request, and what went wrong stands at its end.
            return BackendError(f"{self.name}: {type(error).__name__}: {str(error)[-300:]}")
        if output.stop_reason not in ("stop", "max_tokens"):
            return BackendError(f"{self.name}: expected the stop reason stop or max_tokens, got {output.stop_reason!r}")
        sent, written = (output.usage.input_tokens, output.usage.output_tokens) if output.usage else (0, 0)
        return Completion(output.completion, sent, written, output.stop_reason == "stop")


@dataclass(frozen=True, slots=True)
class Scored:
    """Values by name, and why; `values` None says that the case could not be scored: it is counted, never averaged in."""

    values: Mapping[str, float] | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CaseScore:
    """One score of one run of a case, from a log."""

    __pydantic_config__ = RECORD

    episode: str
    epoch: int
    score: str
    values: dict[str, float] | None
    reason: str


Solve = Callable[[Episode, Roles], Outcome]
Scoring = Callable[[Episode, Outcome, Roles], Scored]


@dataclass(frozen=True, slots=True)
class Scorer:
    """One score of a case: the names of its values, and how it is found."""

    values: tuple[str, ...]
    find: Scoring


def inspect_task(
    name: str,
    episodes: Sequence[Episode],
    models: Mapping[ModelRole, tuple[Model, str]],
    solve: Solve,
    scorers: Mapping[str, Scorer],
    epochs: int,
) -> Any:
    """The Inspect task: a sample an episode. `models` holds each role's model with the identity of who answers.

    Each epoch samples with seeds of its own (`Model.in_epoch`). What the tracker holds after every turn lies in the
    sample's store. A `BackendError` in `solve` is an error of the sample, which Inspect runs again.
    """
    from anyio import CapacityLimiter, to_thread
    from inspect_ai import Epochs, Task
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, mean, scorer, stderr
    from inspect_ai.solver import solver

    by_id = {episode.id: episode for episode in episodes}

    async def in_thread(state: Any, work: Callable[..., Any], *arguments: Any) -> Any:
        roles = {role: RoleBackend(role, who, model.in_epoch(state.epoch).seed) for role, (model, who) in models.items()}
        # A limiter of its own: as many threads as Inspect lets samples run.
        return await to_thread.run_sync(partial(work, by_id[str(state.sample_id)], *arguments, roles), limiter=CapacityLimiter(1))

    @solver(name=name)
    def solving() -> Any:
        async def run(state: Any, generate: Any) -> Any:
            outcome = await in_thread(state, solve)
            state.store.set("outcome", to_json(outcome))
            for number, held in enumerate(outcome.states):
                state.store.set(f"state after turn {number}", [item.text for item in held.items])
            state.output.completion = outcome.answer
            return state

        return run

    def scoring(title: str, one: Scorer) -> Any:
        @scorer(name=title, metrics={value: [mean(), stderr(cluster="origin")] for value in one.values})
        def made() -> Any:
            async def score(state: Any, target: Any) -> Any:
                outcome = from_json(Outcome, state.store.get("outcome"))
                found = await in_thread(state, one.find, outcome)
                if found.values is None:
                    return Score.unscored(reason="grader_failed", explanation=found.reason)
                return Score(value=dict(found.values), answer=outcome.answer, explanation=found.reason)

            return score

        return made()

    samples = [
        Sample(id=e.id, input=e.turns[0].user, target="graded by its task", metadata={"origin": e.task.origin, "load": e.load})
        for e in episodes
    ]
    scores = [scoring(title, one) for title, one in scorers.items()]
    return Task(name=name, dataset=samples, solver=solving(), scorer=scores, epochs=Epochs(epochs, "mean"))


def case_scores(log: Any) -> list[CaseScore]:
    """Every score of every sample of a finished log."""
    return [
        CaseScore(
            str(sample.id), sample.epoch, title, score.value if isinstance(score.value, dict) else None, score.explanation or ""
        )
        for sample in log.samples
        for title, score in sample.scores.items()
    ]


def usage_by_role(log: Any) -> dict[str, dict[str, int]]:
    """Tokens by role, summed over the samples: those that an earlier start has run are among them."""
    found: dict[str, Counter[str]] = {}
    for sample in log.samples:
        for role, used in (sample.role_usage or {}).items():
            counts = {kind: count for kind, count in used.model_dump().items() if isinstance(count, int)}
            found.setdefault(role, Counter()).update(counts)
    return {role: dict(counts) for role, counts in sorted(found.items())}
