"""Compressing harnesses, for comparison: rolling summarisation, two-phase compaction, a recap (IntentFlux, sections 6, 7.4).

Reading of the two harnesses that the paper names: Deep Agents replaces all but the newest messages by one summary
whenever the history passes a budget, the summary before among what is summarised; OpenHarness first clears old
tool results and summarises only where that was not enough. These dialogues have no tool results: the agent's older
replies stand for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from intentfold.dialogue import Dialogue, Role, Turn
from intentfold.prompts.summary import summary_prompt
from intentfold.runtime.roles import Backend
from intentfold.trace import Episode

Compression = Literal["recap", "summarize", "compact"]
COMPRESSIONS: tuple[Compression, ...] = ("recap", "summarize", "compact")
CLEARED = "[cleared]"
SUMMARY = "[Summary of the conversation so far]\n{text}"
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an episode: `turn` is the number of the user turn that it is, or that it answers."""

    turn: int
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Lines, each with the user turn that it is a verbatim part of; None where a model wrote it."""

    lines: tuple[tuple[int | None, str], ...] = ()

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(line for _, line in self.lines)


class Summariser(Protocol):
    """Summarises messages, an earlier summary with them. `verbatim`: every line is a part of a user turn."""

    @property
    def name(self) -> str: ...

    @property
    def verbatim(self) -> bool: ...

    def summarise(self, requests: Sequence[tuple[Summary, Sequence[Message]]], words: int) -> list[Summary]:
        """One summary of about `words` words at most a request, in order."""
        ...


class ExtractiveSummariser:
    """No model: the user's most specific sentences, as they were said.

    A sentence counts by its figures and its capitalised words after the first; of equals the newer wins. Sentences are
    taken, best first, as long as they fit; they stand in the order in which they were said.
    """

    name = "extractive"
    verbatim = True

    def summarise(self, requests: Sequence[tuple[Summary, Sequence[Message]]], words: int) -> list[Summary]:
        """Extracts; each request stands for itself."""
        return [self._extract(summary, messages, words) for summary, messages in requests]

    def _extract(self, summary: Summary, messages: Sequence[Message], words: int) -> Summary:
        lines = list(summary.lines)
        for message in messages:
            if message.role == "user":
                lines += [(message.turn, sentence) for sentence in _SENTENCE.split(message.content) if sentence.strip()]
        kept, room = set(), words
        for place in sorted(range(len(lines)), key=lambda place: (-_specific(lines[place][1]), -place)):
            size = len(lines[place][1].split())
            if size <= room:
                kept.add(place)
                room -= size
        return Summary(tuple(line for place, line in enumerate(lines) if place in kept))


class ModelSummariser:
    """A language model as the summariser, through any backend."""

    verbatim = False

    def __init__(self, backend: Backend, max_tokens: int = 512) -> None:
        self.backend = backend
        self.max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The identity of the backend."""
        return self.backend.name

    def summarise(self, requests: Sequence[tuple[Summary, Sequence[Message]]], words: int) -> list[Summary]:
        """One completion a request. Raises `BackendError`."""
        prompts = [summary_prompt(summary.text, _turns(messages), words) for summary, messages in requests]
        completions = self.backend.complete(prompts, self.max_tokens) if prompts else []
        return [Summary(((None, completion.text.strip()),)) for completion in completions]


@dataclass(frozen=True)
class Budget:
    """When a history is compressed, and to what.

    Args:
        words: a history of more words is compressed
        keep: newest messages that stay as they are
        summary_words: most words of a summary
    """

    words: int = 120
    keep: int = 6
    summary_words: int = 60

    def __post_init__(self) -> None:
        if min(self.words, self.keep, self.summary_words) < 1:
            raise ValueError(f"words, keep and summary_words must be at least 1, got {self}")


@dataclass(frozen=True, slots=True)
class Compressed:
    """A history after compression, as the agent gets it, and how often it was summarised.

    `left` is what is left, word for word, of each user turn; None where a model wrote the summary.
    """

    dialogue: Dialogue
    left: tuple[str, ...] | None
    summaries: int


def compressions(condition: Compression, episodes: Sequence[Episode], summariser: Summariser, budget: Budget) -> list[Compressed]:
    """Every episode's history under a compressing condition."""
    if condition == "recap":
        return recap(episodes, summariser, budget.summary_words)
    return compress(episodes, summariser, budget, clear_replies=condition == "compact")


def compress(
    episodes: Sequence[Episode], summariser: Summariser, budget: Budget, *, clear_replies: bool = False
) -> list[Compressed]:
    """Every episode's history as it stands at the last turn, compressed on the way whenever it passed the budget.

    `clear_replies` is the first of two phases: the agent's replies among the older messages are cleared, and only where
    that does not bring the history under the budget are the older messages summarised.
    """
    summaries = [Summary() for _ in episodes]
    kept: list[list[Message]] = [[] for _ in episodes]
    counts = [0] * len(episodes)
    for t in range(max((len(episode.turns) for episode in episodes), default=0)):
        over = []
        for n, episode in enumerate(episodes):
            if t >= len(episode.turns):
                continue
            if t:
                kept[n].append(Message(t - 1, "assistant", episode.turns[t - 1].reply))
            kept[n].append(Message(t, "user", episode.turns[t].user))
            older = max(0, len(kept[n]) - budget.keep)
            if clear_replies and _words(summaries[n], kept[n]) > budget.words:
                kept[n] = [*map(_cleared, kept[n][:older]), *kept[n][older:]]
            if older and _words(summaries[n], kept[n]) > budget.words:
                over.append((n, older))
        requests = [(summaries[n], kept[n][:older]) for n, older in over]
        for (n, older), summary in zip(over, summariser.summarise(requests, budget.summary_words), strict=True):
            summaries[n], kept[n], counts[n] = summary, kept[n][older:], counts[n] + 1
    return [
        Compressed(_dialogue(summary, messages), _left(summary, messages, len(episode.turns), summariser.verbatim), count)
        for episode, summary, messages, count in zip(episodes, summaries, kept, counts, strict=True)
    ]


def recap(episodes: Sequence[Episode], summariser: Summariser, words: int) -> list[Compressed]:
    """A summary of each whole dialogue, which the agent gets beside its history, in the place of the state.

    Matched (reading of IntentFlux, section 7.4): the format tracker, the gate and the place in the prompt are those
    of the tracker's condition; only what stands there is a recap of the conversation instead of the state.
    """
    requests = [(Summary(), _messages(episode)) for episode in episodes]
    return [
        Compressed((Turn("user", summary.text),), _left(summary, (), len(episode.turns), summariser.verbatim), 1)
        for episode, summary in zip(episodes, summariser.summarise(requests, words), strict=True)
    ]


def _messages(episode: Episode) -> list[Message]:
    return [Message(place // 2, turn.role, turn.content) for place, turn in enumerate(episode.drift())]


def _turns(messages: Sequence[Message]) -> Dialogue:
    return tuple(Turn(message.role, message.content) for message in messages)


def _words(summary: Summary, messages: Sequence[Message]) -> int:
    return len(summary.text.split()) + sum(len(message.content.split()) for message in messages)


def _cleared(message: Message) -> Message:
    return replace(message, content=CLEARED) if message.role == "assistant" else message


def _dialogue(summary: Summary, messages: Sequence[Message]) -> Dialogue:
    """The summary as a first exchange, so that roles alternate whichever message stands next."""
    if not summary.lines:
        return _turns(messages)
    first = Turn("user", SUMMARY.format(text=summary.text))
    between = (Turn("assistant", "Noted."),) if messages and messages[0].role == "user" else ()
    return (first, *between, *_turns(messages))


def _left(summary: Summary, messages: Sequence[Message], turns: int, verbatim: bool) -> tuple[str, ...] | None:
    if not verbatim:
        return None
    parts: list[list[str]] = [[] for _ in range(turns)]
    for turn, line in summary.lines:
        if turn is not None:
            parts[turn].append(line)
    for message in messages:
        if message.role == "user":
            parts[message.turn].append(message.content)
    return tuple(" ".join(lines) for lines in parts)


def _specific(sentence: str) -> int:
    words = sentence.split()
    return sum(word[:1].isupper() or any(letter.isdigit() for letter in word) for word in words[1:])
