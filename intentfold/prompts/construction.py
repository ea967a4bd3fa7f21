"""Prompts of the roles that construct dialogues: taking a task apart, and proposing values that will go stale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.codec.escape import escape
from intentfold.dialogue import Dialogue, Turn
from intentfold.records import RECORD

DECOMPOSE = (
    "Take a request apart into its atomic requirements: one for every name of the list that the request speaks of, with the "
    "value exactly as the request has it, and the words of the request that say so as a quote. Answer with one JSON object: "
    '{"requirements": [{"name": "…", "value": "…", "quote": "…"}]}.'
)
_DECOMPOSE = "Names:\n{names}\n\nRequest: {request}{refused}"
PROPOSE = (
    "A user will change their mind. Propose what they may want for a while and give up later. Variants: another value for one of "
    "their requirements, plausible, of the same type, and different from the one they have. Decoys: a requirement that they do "
    "not have, with one of the extra names. Obeying a proposal must change the right answer. Answer with one JSON object: "
    '{"variants": [{"name": "…", "value": "…"}], "decoys": [{"name": "…", "value": "…"}]}; values are strings.'
)
_PROPOSE = (
    "Request: {request}\nRequirements:\n{goals}\nNames:\n{names}\nExtra names:\n{extra}\n\n"
    "Propose {variants} variants and {decoys} decoys.{refused}"
)
_REFUSED = "\nThese were refused:\n{refused}"


@dataclass(frozen=True, slots=True)
class Part:
    """One requirement that a decomposer found, and the words that say so."""

    __pydantic_config__ = RECORD

    name: str
    value: str
    quote: str


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A request taken apart."""

    __pydantic_config__ = RECORD

    requirements: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A value for a name."""

    __pydantic_config__ = RECORD

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Proposals:
    """What a proposer writes."""

    __pydantic_config__ = RECORD

    variants: tuple[Proposal, ...]
    decoys: tuple[Proposal, ...]


def decomposition_prompt(request: str, names: Sequence[str], refused: Sequence[str] = ()) -> Dialogue:
    """The messages for taking `request` apart; `names` are lines, `refused` earlier answers with what was wrong."""
    return Turn("system", DECOMPOSE), Turn(
        "user", _DECOMPOSE.format(names=_lines(names), request=escape(request), refused=_again(refused))
    )


def proposal_prompt(
    request: str,
    goals: Sequence[str],
    names: Sequence[str],
    extra: Sequence[str],
    wanted: tuple[int, int],
    refused: Sequence[str] = (),
) -> Dialogue:
    """The messages for proposing `wanted` variants and decoys; goals and names are lines."""
    return Turn("system", PROPOSE), Turn(
        "user",
        _PROPOSE.format(
            request=escape(request),
            goals=_lines(goals),
            names=_lines(names),
            extra=_lines(extra),
            variants=wanted[0],
            decoys=wanted[1],
            refused=_again(refused),
        ),
    )


def _again(refused: Sequence[str]) -> str:
    return _REFUSED.format(refused=_lines(refused)) if refused else ""


def _lines(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts) or "- none"
