"""SQL on generated sqlite databases: conditions, order, limit and the information wanted are slots.

Many tasks share one database. Every condition of a task matters, and the values offered as variants and decoys
change what comes back.
"""

from __future__ import annotations

import operator
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from intentfold.records import canonical_json, content_hash
from intentfold.sources.builtin.common import LICENSE, VALUES, Setting, make_conclusions, make_goals, opening, parameters
from intentfold.sources.builtin.sql_domains import DOMAINS, Column, Domain, Parent
from intentfold.task import SourceTask

TASKS_PER_DATABASE, ROWS, PARENTS, TEXTS = 20, 26, 6, 5
JOINED, WANTED_SHARE, SORTED_SHARE = 0.6, 0.5, 0.4
LEAST_DECOYS, MOST_DECOYS, ATTEMPTS = 5, 8, 200
SORT, LIMIT, WANTED = "sort order", "number of results", "information wanted"
ANY_ORDER = "names A to Z"


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition that a slot fills."""

    slot: str
    type: str
    sql: str
    matching: Mapping[str, frozenset[int]]  # for each value worth naming, the numbers of the rows that fulfil it


@dataclass(frozen=True, slots=True)
class Database:
    """A generated database: its script and rows, and how it can be asked.

    `orders` holds the numbers of the rows in each sort order, `columns` the cells of each number column.
    """

    domain: Domain
    script: tuple[str, ...]
    query: str
    clauses: Mapping[str, Clause]
    choices: Mapping[str, Mapping[str, Mapping[str, str]]]
    orders: Mapping[str, tuple[int, ...]]
    columns: Mapping[str, tuple[float, ...]]


@lru_cache(maxsize=64)
def database(number: int, seed: int) -> Database:
    """The database of that number."""
    rng = random.Random(f"sql-{seed}-database-{number}")
    domain = rng.choice(DOMAINS)
    parent = domain.parent if rng.random() < JOINED else None
    own = [
        *rng.sample(domain.texts, rng.randint(2, len(domain.texts))),
        *rng.sample(domain.numbers, rng.randint(2, len(domain.numbers))),
    ]
    rng.shuffle(own)
    script, references = _parent_script(parent, rng)
    pools = {column: column.kind.sample(rng, TEXTS + 2) for column in own}
    header = [f"{domain.key} TEXT", *map(_declared, own), *([f"{parent.reference} TEXT"] if parent else [])]
    rows = [
        [_text(name), *(_cell(column, pools[column], rng) for column in own), *([rng.choice(references)] if parent else [])]
        for name in domain.names.sample(rng, ROWS)
    ]
    script += _table(domain.table, header, rows)
    prefix = "T1." if parent else ""
    key = prefix + domain.key
    columns = {prefix + column.name: column for column in own}
    source = domain.table
    if parent:
        source = f"{domain.table} AS T1 JOIN {parent.table} AS T2 ON T1.{parent.reference} = T2.name"
        columns |= {f"T2.{column.name}": column for column in parent.columns}
    numbers = {name: column for name, column in columns.items() if column.kind.type != "string"}
    orders = _orders(key, numbers)

    connection = sqlite3.connect(":memory:")
    connection.executescript(";\n".join(script))
    names, *cells = zip(*connection.execute(f"SELECT {', '.join((key, *columns))} FROM {source}"), strict=True)
    place = {name: number for number, name in enumerate(names)}
    sorted_places = {
        label: tuple(place[name] for (name,) in connection.execute(f"SELECT {key} FROM {source} ORDER BY {piece['order']}"))
        for label, piece in orders.items()
    }
    connection.close()
    clauses = {
        clause.slot: clause
        for (name, column), values in zip(columns.items(), cells, strict=True)
        for clause in _clauses(name, column, values, pools.get(column, ()))
    }
    choices = {WANTED: _wanted(domain, key, numbers), SORT: orders}
    by_noun = {column.noun: values for column, values in zip(columns.values(), cells, strict=True)}
    return Database(domain, tuple(script), f"SELECT {key} FROM {source}", clauses, choices, sorted_places, by_noun)


def _parent_script(parent: Parent | None, rng: random.Random) -> tuple[list[str], list[str]]:
    """The parent's statements and the names (as literals) that rows may refer to."""
    if parent is None:
        return [], []
    names = [_text(name) for name in parent.names.sample(rng, PARENTS)]
    pools = {column: column.kind.sample(rng, TEXTS) for column in parent.columns}
    rows = [[name, *(_cell(column, pools[column], rng) for column in parent.columns)] for name in names]
    return _table(parent.table, ["name TEXT", *map(_declared, parent.columns)], rows), names


def _table(name: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    filled = ", ".join(f"({', '.join(row)})" for row in rows)
    return [f"CREATE TABLE {name} ({', '.join(header)})", f"INSERT INTO {name} VALUES {filled}"]


def _declared(column: Column) -> str:
    return f"{column.name} {({'string': 'TEXT', 'integer': 'INTEGER', 'number': 'REAL'})[column.kind.type]}"


def _cell(column: Column, pool: Sequence[str], rng: random.Random) -> str:
    """A cell as a literal: texts come from a few, so that they repeat."""
    return _text(rng.choice(pool[:TEXTS])) if column.kind.type == "string" else column.kind.sample(rng, 1)[0]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _clauses(name: str, column: Column, cells: Sequence[Any], pool: Sequence[str]) -> Iterator[Clause]:
    def clause(label: str, sign: str, values: Iterable[Any], holds: Callable[[Any, Any], bool]) -> Clause:
        matching = {_shown(v): frozenset(n for n, cell in enumerate(cells) if holds(cell, v)) for v in values}
        return Clause(f"{label} {column.noun}".strip(), column.kind.type, f"{name} {sign} {{value}}", matching)

    # Look-alikes that no row has are named too.
    values = sorted({*cells, *pool}) if column.kind.type == "string" else sorted(set(cells))
    if column.kind.type == "string":
        yield clause("", "=", values, operator.eq)
        yield clause("excluded", "<>", values, operator.ne)
    else:
        yield clause("minimum", ">=", values, operator.ge)
        yield clause("maximum", "<=", values, operator.le)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wanted(domain: Domain, key: str, numbers: Mapping[str, Column]) -> dict[str, dict[str, str]]:
    wanted = {f"number of {domain.things}": {"select": "COUNT(*)"}}
    for name, column in numbers.items():
        wanted[f"average {column.noun}"] = {"select": f"ROUND(AVG({name}), 2)"}
        wanted[f"highest {column.noun}"] = {"select": f"MAX({name})"}
        wanted[f"names and {column.noun}"] = {"select": f"{key}, {name}"}
    return wanted


def _orders(key: str, numbers: Mapping[str, Column]) -> dict[str, dict[str, str]]:
    orders = {ANY_ORDER: {"order": key}, "names Z to A": {"order": f"{key} DESC"}}
    for name, column in numbers.items():
        # Ties come in the order of names.
        orders[f"lowest {column.noun} first"] = {"order": f"{name}, {key}"}
        orders[f"highest {column.noun} first"] = {"order": f"{name} DESC, {key}"}
    return orders


def compose(base: Database, values: Mapping[str, str]) -> str:
    """The query that these slot values ask for."""
    query = base.query
    if WANTED in values:
        query = f"SELECT {base.choices[WANTED][values[WANTED]]['select']}{query[query.index(' FROM ') :]}"
    conditions = [
        clause.sql.format(value=_text(values[slot]) if clause.type == "string" else values[slot])
        for slot, clause in base.clauses.items()
        if slot in values
    ]
    if conditions:
        query += f" WHERE {' AND '.join(conditions)}"
    if SORT in values:
        query += f" ORDER BY {base.choices[SORT][values[SORT]]['order']}"
    if LIMIT in values:
        query += f" LIMIT {values[LIMIT]}"
    return query


def task(index: int, seed: int) -> SourceTask:
    """The task of that index: the same for the same seed, always."""
    rng = random.Random(f"sql-{seed}-{index}")
    number = index // TASKS_PER_DATABASE
    base = database(number, seed)
    for _ in range(ATTEMPTS):
        values = _draw(base, rng)
        if values is None:
            continue
        stated, optional = _settings(base, values, rng)
        if len(optional) >= LEAST_DECOYS and all(len(setting.others) >= 2 for setting in stated):
            return _assemble(base, stated, optional, number, index, seed, rng)
    raise ValueError(f"task sql-{seed}-{index}: no query fits its database in {ATTEMPTS} attempts")


def _draw(base: Database, rng: random.Random) -> dict[str, str] | None:
    """Slot values of a query whose every part matters, or None where these don't."""
    pivot = rng.randrange(ROWS)
    values = {}
    for slot in rng.sample(sorted(base.clauses), rng.choice((2, 2, 3, 3, 3, 4))):
        fitting = [value for value, places in base.clauses[slot].matching.items() if pivot in places]
        if not fitting:  # the only value of its column cannot be excluded
            return None
        values[slot] = rng.choice(fitting)
    if rng.random() < WANTED_SHARE:
        values[WANTED] = rng.choice(list(base.choices[WANTED]))
    matching = outcome(base, {slot: value for slot, value in values.items() if slot != WANTED})
    listed = values.get(WANTED, "names").startswith("names")
    if listed and len(matching) > 2 and rng.random() < SORTED_SHARE:
        values[SORT] = rng.choice(list(base.choices[SORT]))
        if rng.random() < 0.5:
            values[LIMIT] = str(rng.randint(1, len(matching) - 1))
    gold = outcome(base, values)
    matters = (outcome(base, {s: v for s, v in values.items() if s != slot}) != gold for slot in values)
    return values if all(matters) else None


def outcome(base: Database, values: Mapping[str, str]) -> tuple[Any, ...]:
    """What the query for these values returns, in short: equal outcomes are equal results."""
    places = base.orders[values.get(SORT, ANY_ORDER)]
    for slot, value in values.items():
        if slot in base.clauses:
            matching = base.clauses[slot].matching[value]
            places = tuple(place for place in places if place in matching)
    what, _, noun = values.get(WANTED, "names").partition(" ")
    if what == "number":
        return (len(places),)
    if what in ("average", "highest"):
        cells = [base.columns[noun][place] for place in places]
        return (round(sum(cells) / len(cells), 2) if what == "average" else max(cells),) if cells else (None,)
    return (noun, *places[: int(values.get(LIMIT, ROWS))])


def _settings(base: Database, values: Mapping[str, str], rng: random.Random) -> tuple[list[Setting], list[Setting]]:
    """The task's slots with other values, and slots for decoys: only values that change the answer."""
    gold = outcome(base, values)
    candidates = {slot: (clause.type, list(clause.matching)) for slot, clause in base.clauses.items()}
    candidates |= {slot: ("string", list(pieces)) for slot, pieces in base.choices.items()}
    candidates[LIMIT] = ("integer", [str(number) for number in range(1, ROWS)])

    def telling(slot: str) -> list[str]:
        _, possible = candidates[slot]
        found = (
            value
            for value in rng.sample(possible, len(possible))
            if value != values.get(slot) and outcome(base, {**values, slot: value}) != gold
        )
        return list(islice(found, VALUES - 1))

    stated = [Setting(slot, candidates[slot][0], value, tuple(telling(slot))) for slot, value in values.items()]
    optional: list[Setting] = []
    for slot in rng.sample(sorted(candidates.keys() - values.keys()), len(candidates) - len(values)):
        others = telling(slot) if len(optional) < MOST_DECOYS else []
        if len(others) > 1:
            optional.append(Setting(slot, candidates[slot][0], others[0], tuple(others[1:])))
    return stated, optional


def _assemble(
    base: Database, stated: list[Setting], optional: list[Setting], number: int, index: int, seed: int, rng: random.Random
) -> SourceTask:
    values = {setting.slot: setting.value for setting in stated}
    used = {setting.slot for setting in (*stated, *optional)}
    kinds = [slot for slot in values if slot not in (SORT, LIMIT, WANTED)]
    skeleton = [base.query, sorted(kinds), values.get(SORT), values.get(WANTED), LIMIT in values]
    one, other = rng.sample(kinds, 2)
    conclusions = [("filter so far", f"{{{one}}} with {other} {{{other}}}"), ("shown first", f"{{{LIMIT}}} by {{{SORT}}}")]
    program: dict[str, Any] = {
        "query": base.query,
        "conditions": {slot: clause.sql for slot, clause in base.clauses.items() if slot in used},
        "choices": {slot: pieces for slot, pieces in base.choices.items() if slot in used},
    }
    if LIMIT in used:
        program["limit"] = LIMIT
    return SourceTask(
        id=f"sql-{seed}-{index}",
        family="sql",
        origin=f"sql:{seed}-{number}:{content_hash(canonical_json(skeleton))}",
        license=LICENSE,
        request=opening(base.domain.asks, rng),
        goals=make_goals(stated, "sql", rng),
        answer_form="sql",
        payload={
            "parameters": parameters(stated, optional),
            "program": program,
            "reference": {"sql": compose(base, values)},
            "database": {"script": list(base.script)},
            "conclusions": make_conclusions(conclusions, values),
        },
    )
