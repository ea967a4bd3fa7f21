"""A Spider query taken apart into what a user would say: what to list, conditions, order and limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest

from sqlglot import exp

from intentfold.intent import normalise
from intentfold.sources.spider_schema import Column, Scope, joined

_AGGREGATES: dict[type[exp.Expr], str] = {exp.Avg: "average", exp.Max: "highest", exp.Min: "lowest", exp.Sum: "total"}
_COMPARISONS: dict[type[exp.Expr], tuple[str, list[str]]] = {
    exp.EQ: ("{}", ["{} equal to"]),
    exp.NEQ: ("{} other than", ["{} different from"]),
    exp.GT: ("{} above", ["{} over", "{} more than"]),
    exp.LT: ("{} below", ["{} under", "{} less than"]),
    exp.GTE: ("minimum {}", ["{} of at least"]),
    exp.LTE: ("maximum {}", ["{} of at most"]),
}
_OPERATORS: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.LT: "<", exp.GTE: ">=", exp.LTE: "<="}
_LIKE = (
    (r"%([^%_]+)%", "containing", "'%' || {value} || '%'"),
    (r"([^%_]+)%", "starting with", "{value} || '%'"),
    (r"%([^%_]+)", "ending in", "'%' || {value}"),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition with its literal taken out: `sql` holds `{value}`; no `column` where it is about an aggregate."""

    slot: str
    spoken: list[str]
    value: str | int | float
    sql: str
    column: Column | None

    @property
    def type(self) -> str:
        """The parameter type."""
        return "string" if isinstance(self.value, str) else "number"


@dataclass(frozen=True, slots=True)
class Parts:
    """A query in parts. `selects` and `orders` map words to SQL, the query's own first, other plausible ones after it.

    `base` selects everything, without conditions, order and limit; grouping and DISTINCT stay in it.
    """

    base: str
    selects: dict[str, str]
    orders: dict[str, str]
    conditions: list[Condition]
    having: list[Condition]
    limit: int | None


def take_apart(query: exp.Select, scope: Scope) -> Parts | None:
    """The parts, or None where one of them has no plain words (subqueries, OR over columns, arithmetic, self-joins)."""
    if scope.has_self_join or len(list(query.find_all(exp.Select))) > 1:
        return None
    groups = [_phrase(group, scope) for group in (query.args["group"].expressions if query.args.get("group") else ())]
    items = [item.unalias() for item in query.expressions]
    ordered = query.args["order"].expressions if query.args.get("order") else []
    words = [_phrase(item, scope) for item in items]
    orders = [_order_phrase(item, scope) for item in ordered]
    conditions = [_condition(part, scope) for part in _conjuncts(query.args.get("where"))]
    having = [_condition(part, scope) for part in _conjuncts(query.args.get("having"))]
    limit = query.args["limit"].expression if query.args.get("limit") else None
    if None in (*groups, *words, *orders, *conditions, *having) or not (limit is None or isinstance(limit, exp.Literal)):
        return None
    if len(set(words)) < len(words):
        return None
    base = query.copy()
    base.set("expressions", [exp.Star()])
    for part in ("where", "having", "order", "limit"):
        base.set(part, None)
    fixed = {normalise(group) for group in groups if group}
    return Parts(
        base.sql("sqlite"),
        _selects(items, fixed, bool(query.args.get("distinct")), [group for group in groups if group], scope),
        _orders(ordered, scope) if ordered else {},
        list(chain.from_iterable(filter(None, conditions))),
        list(chain.from_iterable(filter(None, having))),
        None if limit is None else int(limit.name),
    )


def literal_value(literal: exp.Literal) -> str | int | float:
    """The literal's value."""
    if literal.is_string:
        return str(literal.this)
    return float(literal.this) if re.search(r"[.eE]", literal.this) else int(literal.this)


def _conjuncts(clause: exp.Expr | None) -> list[exp.Expr]:
    if clause is None:
        return []
    return [part.unnest() for part in (clause.this.flatten() if isinstance(clause.this, exp.And) else [clause.this])]


def _phrase(item: exp.Expr, scope: Scope) -> str | None:
    """A listed, grouped or ordered expression in words."""
    if isinstance(item, exp.Star):
        return "everything"
    if isinstance(item, exp.Column):
        column = scope.find(item)
        return None if column is None else scope.phrase(column)
    if isinstance(item, exp.Count):
        if isinstance(item.this, exp.Star):
            return "number of rows" if len(scope.tables) > 1 else f"number of {_plural(scope.words)}"
        different = isinstance(item.this, exp.Distinct)
        inner = _phrase(item.this.expressions[0] if different else item.this, scope)
        return inner and f"number of {'different ' if different else ''}{_plural(inner)}"
    if type(item) in _AGGREGATES and isinstance(item.this, exp.Column):
        inner = _phrase(item.this, scope)
        return inner and f"{_AGGREGATES[type(item)]} {inner}"
    return None


def _plural(words: str) -> str:
    return words if words.endswith("s") else re.sub(r"(?<=[^aeiou])y$", "ie", words) + "s"


def _order_phrase(item: exp.Ordered, scope: Scope) -> str | None:
    words = _phrase(item.this, scope)
    return words and f"{words}, {'highest' if item.args.get('desc') else 'lowest'} first"


def _selects(items: list[exp.Expr], fixed: set[str], distinct: bool, groups: list[str], scope: Scope) -> dict[str, str]:
    lists = [items, *_other_lists(items, fixed, scope)]
    found: dict[str, str] = {}
    for chosen in lists:
        words = [str(_phrase(item, scope)) for item in chosen]
        if len(set(words)) == len(words):
            text = ("different " if distinct else "") + joined(words) + (f" for each {joined(groups)}" if groups else "")
            found.setdefault(text, ", ".join(item.sql("sqlite") for item in chosen))
    return found


def _other_lists(items: list[exp.Expr], fixed: set[str], scope: Scope) -> Iterator[list[exp.Expr]]:
    """The list with one member exchanged, then with one left out or one more."""
    exchanged = [
        [[*items[:i], other, *items[i + 1 :]] for other in _others(item, scope)]
        for i, item in enumerate(items)
        if normalise(str(_phrase(item, scope))) not in fixed
    ]
    yield from (chosen for row in zip_longest(*exchanged) for chosen in row if chosen)
    if len(items) > 1:
        yield items[:-1]
    elif isinstance(items[0], exp.Column):
        yield from ([items[0], other] for other in _columns(scope))


def _others(item: exp.Expr, scope: Scope) -> list[exp.Expr]:
    if isinstance(item, exp.Column | exp.Star):
        return _columns(scope)
    numbers = [column for column in _columns(scope) if scope.is_numeric(column)]
    counts = [exp.Count(this=exp.Distinct(expressions=[column])) for column in _columns(scope)]
    same = [kind(this=item.this.copy()) for kind in _AGGREGATES if type(item) in _AGGREGATES and kind is not type(item)]
    return [*same, *(kind(this=column.copy()) for column in numbers for kind in (exp.Avg, exp.Max)), *counts]


def _columns(scope: Scope) -> list[exp.Expr]:
    """Every column, keys last."""
    columns = sorted((column for _, table in scope.tables for column in table), key=lambda column: column.is_key)
    return [exp.maybe_parse(scope.sql(column), dialect="sqlite") for column in columns]


def _orders(ordered: list[exp.Ordered], scope: Scope) -> dict[str, str]:
    """The order, the opposite one, then those by other columns."""
    opposite = [exp.Ordered(this=item.this.copy(), desc=not item.args.get("desc")) for item in ordered]
    others = [[exp.Ordered(this=column, desc=bool(ordered[0].args.get("desc")))] for column in _columns(scope)]
    found: dict[str, str] = {}
    for items in (ordered, opposite, *others):
        text = ", then ".join(str(_order_phrase(item, scope)) for item in items)
        sql = (f"{item.this.sql('sqlite')}{' DESC' if item.args.get('desc') else ''}" for item in items)
        found.setdefault(text, ", ".join(sql))
    return found


def _condition(part: exp.Expr, scope: Scope) -> list[Condition] | None:
    """The condition(s) that the conjunct states (BETWEEN states two), None where it has no plain words."""
    if isinstance(part, exp.Between):
        bounds = (exp.GTE(this=part.this, expression=part.args["low"]), exp.LTE(this=part.this, expression=part.args["high"]))
        found = [_condition(bound, scope) for bound in bounds]
        return None if None in found else list(chain.from_iterable(filter(None, found)))
    negated = isinstance(part, exp.Not)
    compared = part.this if negated else part
    literal = compared.args.get("expression")
    words = _phrase(compared.this, scope) if isinstance(compared, exp.Binary) else None
    if words is None or not isinstance(literal, exp.Literal):
        return None
    column = scope.find(compared.this) if isinstance(compared.this, exp.Column) else None
    value, left = literal_value(literal), compared.this.sql("sqlite")
    if isinstance(value, str) and (not value or value != value.strip()):
        return None
    if isinstance(compared, exp.Like):
        no = "not " if negated else ""
        for pattern, how, right in _LIKE:
            match = re.fullmatch(pattern, str(value))
            if match:
                return [Condition(f"{words} {no}{how}", [], match[1], f"{left} {no.upper()}LIKE {right}", column)]
        return None
    if negated or type(compared) not in _COMPARISONS:
        return None
    slot, spoken = _COMPARISONS[type(compared)]
    sql = f"{left} {_OPERATORS[type(compared)]} {{value}}"
    return [Condition(slot.format(words), [phrase.format(words) for phrase in spoken], value, sql, column)]
