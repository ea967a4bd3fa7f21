"""Whether histories and ledgers still say what this environment finds: labels rest on that."""

from __future__ import annotations

from collections.abc import Sequence

from intentfold.construct.corrective.registry import FAMILIES
from intentfold.construct.corrective.targets import scenario_of
from intentfold.construct.corrective.work import assess
from intentfold.records import RecordError
from intentfold.trace import Pair


def check_environment(pairs: Sequence[Pair]) -> None:
    """Raise `RecordError` where a recorded assessment is not what the check of today finds on the recorded output.

    That is so where families changed since the histories were built, or where a ledger is not that of its history.
    """
    for history, ledger in pairs:
        if history.family not in FAMILIES:
            raise RecordError(f"{history.id}: no family {history.family!r}, expected one of {sorted(FAMILIES)}")
        family, scenario = FAMILIES[history.family], scenario_of(history, ledger)
        keys = {criterion.key for criterion in family.criteria}
        for number, (exchange, recorded) in enumerate(zip(history.exchanges, ledger.assessments, strict=True)):
            for found in recorded:
                if found.key not in keys:
                    raise RecordError(f"{history.id}, exchange {number}: {family.name} has no requirement {found.key!r}")
                now = assess(family, scenario, exchange.output, found.key)
                if now != found:
                    raise RecordError(f"{history.id}, exchange {number}: expected {now} by its check, the ledger says {found}")
