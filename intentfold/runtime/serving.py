"""Served models in a role: held to a shape, journaled by content, with every failed request on record and tokens priced once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from intentfold.dialogue import to_messages
from intentfold.records import canonical_json, content_hash
from intentfold.runtime.backends import Model
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.roles import Completion, Prompt
from intentfold.runtime.structured import Structured, response_format

Price = tuple[float, float]  # of a million tokens: prompt, completion


@dataclass(frozen=True)  # no slots: the arguments parser reads a default's fields by `vars`
class Serving:
    """How served models are asked.

    `structured` is how a server is held to the shape of an answer (json_schema, json_object, none): one that does not know
    it refuses, and the config says otherwise. `concurrency` requests at a time go to each role, each tried `retries` times
    more, with growing pauses, within `timeout` seconds. `prices` are those of a million prompt and completion tokens by role.
    """

    structured: Structured = "json_schema"
    concurrency: int = 16
    retries: int = 8
    timeout: float = 600.0
    max_tokens: int = 1024
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    prices: dict[str, Price] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.structured not in get_args(Structured):
            raise ValueError(f"serving.structured must be one of {get_args(Structured)}, got {self.structured!r}")
        if min(self.concurrency, self.max_tokens) < 1 or self.retries < 0 or self.timeout <= 0:
            raise ValueError(
                "serving: concurrency and max_tokens must be at least 1, retries 0, timeout above 0, got "
                f"{self.concurrency}, {self.max_tokens}, {self.retries}, {self.timeout}"
            )
        if bad := [role for role, price in self.prices.items() if min(price) < 0]:
            raise ValueError(
                f"serving.prices: expected prices of at least 0, got { ({role: self.prices[role] for role in bad}) }"
            )


DEFAULT_SERVING = Serving()


def check_served(roles: Mapping[str, Model | None], serving: Serving) -> None:
    """Raise `ValueError` for a role that is not served, and for the price of a role that nobody plays."""
    for role, model in roles.items():
        if model is not None and model.kind != "openai":
            raise ValueError(f"{role}: expected a model of kind openai, got {model.kind}")
    playing = {role for role, model in roles.items() if model is not None}
    if unknown := sorted(set(serving.prices) - playing):
        raise ValueError(f"serving.prices: {unknown} are no served roles, expected some of {sorted(playing)}")


class Failures:
    """Failed requests, one entry each in a journal, so that a kill forgets none."""

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)

    def tell(self, role: str, kind: str) -> None:
        """Put one on record."""
        self._journal.write({str(len(self._journal.entries)): [role, kind]})

    def counts(self) -> Counter[str]:
        """How many there were, by role and kind."""
        return Counter(f"{role}: {kind}" for role, kind in self._journal.entries.values())


def serve(
    model: Model, role: str, serving: Serving, journal: Path, failures: Failures, shape: type | None = None
) -> JournaledBackend:
    """The model in a role through its journal, whose keys are the content of what is asked and whom."""
    from intentfold.runtime.openai_api import OpenAIBackend  # takes a second, which --help has no use for

    backend = OpenAIBackend(
        model.base_url or "",
        model.model or "",
        api_key_variable=model.api_key_variable,
        concurrency=serving.concurrency,
        retries=serving.retries,
        timeout=serving.timeout,
        chat_template_kwargs=serving.chat_template_kwargs,
        temperature=model.temperature or 0.0,
        seed=model.seed,
        response_format=None if shape is None else response_format(shape, serving.structured),
        failed=lambda kind: failures.tell(role, kind),
    )
    return JournaledBackend(backend, Journal(journal), chunk=serving.concurrency)


class Ledger:
    """Requests and tokens by role: each different request once, whether it was answered now, before a kill, or by a cache."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self.used: dict[str, list[int]] = {}  # role -> requests, prompt tokens, completion tokens

    def book(self, role: str, prompts: Sequence[Prompt], answers: Sequence[Completion]) -> None:
        """Count these answers, but for those of requests that were counted."""
        for prompt, answer in zip(prompts, answers, strict=True):
            request = content_hash(canonical_json([role, to_messages(prompt)]))
            if request not in self._seen:
                self._seen.add(request)
                sums = self.used.setdefault(role, [0, 0, 0])
                for place, amount in enumerate((1, answer.prompt_tokens, answer.completion_tokens)):
                    sums[place] += amount


def bill(used: Sequence[Mapping[str, Sequence[int]]], prices: Mapping[str, Price]) -> dict[str, dict[str, float]]:
    """The sum of ledgers by role, with the cost where the role has a price."""
    found: dict[str, dict[str, float]] = {}
    for role in sorted({role for one in used for role in one}):
        requests, asked, written = (sum(one.get(role, (0, 0, 0))[place] for one in used) for place in range(3))
        found[role] = {"requests": requests, "prompt_tokens": asked, "completion_tokens": written}
        if role in prices:
            found[role]["cost"] = round((asked * prices[role][0] + written * prices[role][1]) / 1e6, 6)
    return found
