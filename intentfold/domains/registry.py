"""Domains by name, and what is the same in all of them: those that trajectories act in, and services that agents work in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from intentfold.dialogue import Observation
from intentfold.domains import delivery, shop, trip
from intentfold.domains.verdicts import Verdict
from intentfold.tool import Tool
from intentfold.trajectory import Domain, Requirement


@dataclass(frozen=True, slots=True)
class Rules:
    """A domain's rules: scope, validity of an action, verdict on a requirement, and the scripted actor."""

    in_scope: Callable[[Requirement], bool]
    is_budget: Callable[[Requirement], bool]
    fault: Callable[[Mapping[str, Any], Mapping[str, Any]], str]
    verdict: Callable[[Mapping[str, Any], Mapping[str, Any], Requirement], Verdict]
    choose: Callable[[Mapping[str, Any], Sequence[Requirement]], dict[str, Any]]


RULES: dict[Domain, Rules] = {
    "shop": Rules(shop.in_scope, shop.is_budget, shop.fault, shop.verdict, shop.choose),
    "trip": Rules(trip.in_scope, trip.is_budget, trip.fault, trip.verdict, trip.choose),
}


def unmet(
    domain: Domain, environment: Mapping[str, Any], action: Mapping[str, Any], intention: Sequence[Requirement]
) -> tuple[Requirement, ...]:
    """The requirements in scope that the action does not satisfy."""
    rules = RULES[domain]
    return tuple(r for r in intention if rules.in_scope(r) and rules.verdict(environment, action, r) != "satisfied")


Environment = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Service:
    """A service's environment of tools: what it holds after some calls, and the calls that make the benchmark's own orders."""

    brief: str
    tools: Callable[[Environment], tuple[Tool, ...]]
    outcome: Callable[[Environment, Sequence[Observation]], list[dict[str, Any]]]
    reference_calls: Callable[[Environment, Sequence[Mapping[str, Any]]], list[tuple[str, dict[str, str]]]]


SERVICES: dict[str, Service] = {
    "delivery": Service(delivery.BRIEF, delivery.tools, delivery.outcome, delivery.reference_calls),
}


def service_of(domain: str) -> Service:
    """The service of that name; raises `ValueError` for a domain whose tasks can be read but have no environment here."""
    if domain not in SERVICES:
        raise ValueError(f"domain must be one of {sorted(SERVICES)}, whose tools are known here, got {domain!r}")
    return SERVICES[domain]
