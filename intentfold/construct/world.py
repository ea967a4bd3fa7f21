"""What the builder of trajectories needs of a domain: an environment to act in, and wishes that make sense there."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from intentfold.construct.wording import Bank
from intentfold.trajectory import Domain, Requirement

Place = tuple[str, str | None]


class World(Protocol):
    """One environment and the user's opening in it. `request` is what is said first, `wishes` what it states (must-haves)."""

    @property
    def domain(self) -> Domain: ...
    @property
    def origin(self) -> str: ...
    @property
    def license(self) -> str: ...
    @property
    def environment(self) -> Mapping[str, Any]: ...
    @property
    def wishes(self) -> tuple[Requirement, ...]: ...

    def request(self, bank: Bank, rng: random.Random) -> str:
        """The opening words; every wish's value stands in them."""
        ...

    def opening_places(self) -> Sequence[Place]:
        """What the first turn asks for beside the wishes."""
        ...

    def places(self) -> Sequence[Place]:
        """Every (field, scope) that a requirement may be about."""
        ...

    def value(self, place: Place, intention: Sequence[Requirement], rng: random.Random) -> str | None:
        """A value for the place, other than the one that it has; None where the environment has none."""
        ...

    def looser(self, requirement: Requirement, intention: Sequence[Requirement], rng: random.Random) -> str | None:
        """A value that asks for less; None where there is none."""
        ...

    def spoken(self, place: Place) -> str:
        """How the field and its scope are spoken of."""
        ...

    def offer(self, action: Mapping[str, Any]) -> str:
        """A few words for what an action gets."""
        ...


def either(value: str, alternatives: Sequence[str], rng: random.Random) -> str | None:
    """`value or another`: a relaxation of a value that is no conjunction or alternative yet."""
    if " or " in value or " and " in value:
        return None
    others = [other for other in alternatives if other.casefold() != value.casefold()]
    return f"{value} or {rng.choice(others)}" if others else None
