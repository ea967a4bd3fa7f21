"""The closed loop as a task of the evaluation library Inspect (`inspect-ai`, the extra `inspect`), which is imported late.

Inspect keeps the roles' models, concurrency, retries, epochs and the log that `inspect view` opens; prompts, folds,
harness and grades are those of the runtime. A model of kind `openai` becomes Inspect's own client; every other kind
is this package's backend behind Inspect's interface, asked one prompt at a time.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from intentfold.dialogue import Dialogue, Turn
from intentfold.graders import grade
from intentfold.intent import IntentState
from intentfold.prompts.agent import agent_prompt
from intentfold.prompts.tracker import Codec, tracker_prompt
from intentfold.runtime.backends import Model
from intentfold.runtime.episodes import Control, control_view, tracker_view
from intentfold.runtime.executor import execute
from intentfold.runtime.gate import mend, violations
from intentfold.runtime.roles import Backend, Completion, View
from intentfold.runtime.tracker import Fold, read_fold
from intentfold.trace import Episode


def inspect_model(model: Model, backend: Backend | None, chat_template_kwargs: Mapping[str, Any]) -> Any:
    """A role's model for Inspect: its own client for `openai`, else `backend` behind its interface."""
    from inspect_ai.model import GenerateConfig, get_model

    if model.kind == "openai":
        body = {"chat_template_kwargs": dict(chat_template_kwargs)} if chat_template_kwargs else None
        return get_model(
            f"openai-api/intentfold/{model.model}",
            base_url=model.base_url,
            api_key=os.environ[model.api_key_variable] if model.api_key_variable else "none",
            config=GenerateConfig(extra_body=body, temperature=model.temperature or 0.0, seed=model.seed),
        )
    if backend is None:
        raise ValueError(f"a model of kind {model.kind} needs its backend")
    return _wrapped(backend)


_backends: dict[str, Backend] = {}
_turnstile = threading.Lock()


def _wrapped(backend: Backend) -> Any:
    """The backend as Inspect's model `intentfold/<name>`."""
    from inspect_ai.model import get_model

    _register()
    name = re.sub(r"[^\w.+-]+", "_", backend.name)
    _backends[name] = backend
    return get_model(f"intentfold/{name}", memoize=False)


@lru_cache(maxsize=1)
def _register() -> None:
    from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

    @modelapi(name="intentfold")
    class WrappedBackend(ModelAPI):
        """A backend of this package, asked by one caller at a time."""

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            prompt = tuple(Turn(message.role, message.text) for message in input)
            found = await asyncio.to_thread(_ask, self.model_name, prompt, config.max_tokens)
            output = ModelOutput.from_content(self.model_name, found.text, "stop" if found.stopped else "max_tokens")
            sent, written = found.prompt_tokens, found.completion_tokens
            output.usage = ModelUsage(input_tokens=sent, output_tokens=written, total_tokens=sent + written)
            return output


def _ask(name: str, prompt: Dialogue, max_tokens: int) -> Completion:
    with _turnstile:
        return _backends[name].complete([prompt], max_tokens)[0]


def closed_loop_task(
    episodes: Sequence[Episode],
    condition: Control | str,
    *,
    codec: Codec,
    window: int | None,
    max_tokens: int,
    agent_tokens: int,
    executor: bool,
    epochs: int,
) -> Any:
    """The Inspect task: a sample an episode; `condition` is a control or `tracker`.

    The model roles are `tracker` and (where the state executor does not answer) `agent`. An answer that cannot be graded
    is unscored, never wrong. The state after every turn lies in the sample's store.
    """
    from inspect_ai import Epochs, Task
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
    from inspect_ai.scorer import Score, accuracy, mean, scorer, stderr
    from inspect_ai.solver import solver

    by_id = {episode.id: episode for episode in episodes}
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}

    async def complete(role: str, prompt: Dialogue, tokens: int) -> Completion:
        messages = [kinds[turn.role](content=turn.content) for turn in prompt]
        output = await get_model(role=role, required=True).generate(messages, config=GenerateConfig(max_tokens=tokens))
        used = output.usage
        sent, written = (used.input_tokens, used.output_tokens) if used is not None else (0, 0)
        return Completion(output.completion, sent, written, output.stop_reason != "max_tokens")

    async def track(episode: Episode, store: Any) -> list[Fold]:
        state, folds = IntentState(), []
        for number in range(len(episode.turns)):
            prompt = tracker_prompt(state, episode.drift(number), codec=codec, window=window)
            folds.append(read_fold(state, await complete("tracker", prompt, max_tokens), codec))
            state = folds[-1].state
            store.set(f"state after turn {number}", [item.text for item in state.items])
        return folds

    async def answer(view: View) -> str:
        if view.task is not None and executor:
            return mend(execute(view.task, view.items or ()).answer, view.items or ())
        prompt = agent_prompt(view.dialogue, view.items)
        draft = (await complete("agent", prompt, agent_tokens)).text
        broken = violations(draft, view.items or ())
        if not broken:
            return draft
        repair = agent_prompt(view.dialogue, view.items, draft=draft, violations=broken)
        return (await complete("agent", repair, agent_tokens)).text

    @solver(name="closed_loop")
    def loop() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            episode = by_id[str(state.sample_id)]
            if condition == "tracker":
                view = tracker_view(episode, await track(episode, state.store))
            else:
                view = control_view(episode, condition, executor=executor)  # type: ignore[arg-type]
            state.output.completion = await answer(view)
            return state

        return solve

    @scorer(name="task_grade", metrics={"value": [mean(), stderr(cluster="origin")], "full": [accuracy()]})
    def graded() -> Any:
        async def score(state: Any, target: Any) -> Any:
            found = grade(by_id[str(state.sample_id)].task, state.output.completion)
            if found.value is None:
                return Score.unscored(reason="grader_failed", explanation=found.reason)
            value = {"value": found.value, "full": float(found.full)}
            return Score(value=value, answer=state.output.completion, explanation=found.reason)

        return score

    samples = [
        Sample(id=e.id, input=e.turns[0].user, target="graded by its task", metadata={"origin": e.task.origin, "load": e.load})
        for e in episodes
    ]
    return Task(name=f"closed_loop_{condition}", dataset=samples, solver=loop(), scorer=graded(), epochs=Epochs(epochs, "mean"))
