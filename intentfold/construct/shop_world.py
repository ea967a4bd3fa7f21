"""Shop requests with a catalogue generated around them: WebShop's own catalogue is not at hand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from intentfold.construct.wording import Bank, say
from intentfold.construct.world import Place, either
from intentfold.domains import shop
from intentfold.domains.verdicts import limit
from intentfold.intent import normalise
from intentfold.sources.shop_words import FIELDS, OPTIONS, PRODUCTS, SEVERAL
from intentfold.sources.webshop import ShopRequest
from intentfold.trajectory import Domain, Requirement

CATALOGUE = 9
EXTRA_FIELDS = 3
_BRANDS = ("Norvale", "Quillon", "Tarrin", "Brightmoor", "Ostrel", "Fennick", "Larkham", "Duvane", "Pellow", "Vesper")


class ShopWorld:
    """One request and its catalogue. The first product meets every wish; how the others do is chance."""

    domain: Domain = "shop"

    def __init__(self, request: ShopRequest, rng: random.Random) -> None:
        self._text = request.text
        self.origin, self.license = request.origin, request.license
        self.wishes = tuple(Requirement(field, value, None, "must") for field, value in request.wishes)
        wished = {field: value for field, value in request.wishes if field != "product"}
        others = [field for field in FIELDS[request.group] if field not in wished]
        self._fields = [*wished, *rng.sample(others, min(EXTRA_FIELDS, len(others)))]
        self._values: dict[str, list[str]] = {}
        for field in self._fields:
            own = wished[field].split(" and ") if field in wished else []
            more = [value for value in FIELDS[request.group][field] if value not in own]
            self._values[field] = [*own, *rng.sample(more, min(4 if field in OPTIONS else 3, len(more)))]
        self.environment = {"products": [self._product(number, request, wished, rng) for number in range(CATALOGUE)]}

    def _product(self, number: int, request: ShopRequest, wished: dict[str, str], rng: random.Random) -> dict[str, Any]:
        product = dict(request.wishes)["product"]
        if number >= CATALOGUE - 2:
            product = rng.choice([other for other in PRODUCTS[request.group] if other != product])
        attributes: dict[str, list[str]] = {"product": [product]}
        choices: dict[str, list[str]] = {}
        for field in self._fields:
            own = wished[field].split(" and ") if field in wished else []
            many = min(
                len(self._values[field]), rng.randint(2, 3) if field in OPTIONS else 1 + (field in SEVERAL and rng.random() < 0.6)
            )
            values = rng.sample(self._values[field], many)
            if own and (number == 0 or rng.random() < 0.45):
                values = [*own, *(value for value in values if value not in own)][: max(many, len(own))]
            if field in OPTIONS:
                choices[field] = values
            elif number == 0 or rng.random() < 0.9:
                attributes[field] = values
        base = rng.uniform(12, 90) if number else rng.uniform(40, 90)
        variants: list[dict[str, str]] = [{}]
        for field, values in choices.items():
            variants = [{**variant, field: value} for variant in variants for value in values]
        return {
            "asin": f"B0{rng.randrange(10**8):08d}",
            "title": f"{rng.choice(_BRANDS)} {product}",
            "attributes": attributes,
            "variants": [{"options": options, "price": round(base * rng.choice((0.9, 1, 1, 1.15)), 2)} for options in variants],
        }

    def request(self, bank: Bank, rng: random.Random) -> str:
        """The goal text itself."""
        return self._text

    def opening_places(self) -> Sequence[Place]:
        """A price."""
        return ((shop.PRICE, None),)

    def places(self) -> Sequence[Place]:
        """The catalogue's fields; the product itself stays."""
        return ((shop.PRICE, None), *((field, None) for field in self._fields))

    def value(self, place: Place, intention: Sequence[Requirement], rng: random.Random) -> str | None:
        """A price near what the rest costs, or one of the field's values in the catalogue."""
        now = next((r.value for r in intention if (r.field, r.scope) == place), "")
        if place[0] == shop.PRICE:
            found = f"under ${ceil(self._least(intention) * rng.choice((0.65, 0.8, 0.9, 1.15)) / 5) * 5}"
            return found if found != now else None
        values = [value for value in self._values[place[0]] if value not in now.split(" and ")]
        if len(values) > 1 and place[0] in SEVERAL and rng.random() < 0.15:
            return " and ".join(rng.sample(values, 2))
        return rng.choice(values) if values else None

    def looser(self, requirement: Requirement, intention: Sequence[Requirement], rng: random.Random) -> str | None:
        """A higher price, another value beside the one asked for, or one of two fewer."""
        if requirement.field == shop.PRICE:
            bound = limit(requirement.value)
            assert bound is not None
            return f"under ${max(ceil((self._least(intention) + 1) / 5) * 5, ceil(bound.amount * 1.2 / 5) * 5)}"
        if " and " in requirement.value:
            return rng.choice(requirement.value.split(" and "))
        if requirement.field == "product":
            return None
        return either(requirement.value, self._values[requirement.field], rng)

    def _least(self, intention: Sequence[Requirement]) -> float:
        """What the best choice costs where the price is no matter."""
        rest = [r for r in intention if r.field != shop.PRICE]
        return shop.price(self.environment, shop.choose(self.environment, rest))

    def spoken(self, place: Place) -> str:
        """The field."""
        return place[0]

    def offer(self, action: Mapping[str, Any]) -> str:
        """Title, options and price."""
        title = next(p["title"] for p in self.environment["products"] if p["asin"] == action["asin"])
        options = ", ".join(action["options"].values())
        return f"the {title}{f' ({options})' if options else ''} at ${shop.price(self.environment, action):.2f}"


def builtin_requests(count: int, rng: random.Random, bank: Bank) -> list[ShopRequest]:
    """Requests of our own invention, in the form of goal texts; the same rng and bank give the same ones."""
    found: dict[str, ShopRequest] = {}
    while len(found) < count:
        group = rng.choice(sorted(PRODUCTS))
        product = rng.choice(PRODUCTS[group])
        fields = rng.sample(sorted(FIELDS[group]), rng.choice((2, 2, 3, 3, 4)))
        wishes = [(field, rng.choice(FIELDS[group][field])) for field in fields]
        before = rng.randint(0, len(wishes))
        after = " and ".join(value for _, value in wishes[before:])
        what = " ".join([*(value for _, value in wishes[:before]), product])
        text = say(bank, "shop_request", rng, what=f"{what} with {after}" if after else what)
        ordered = (*wishes[:before], ("product", product), *wishes[before:])
        found.setdefault(normalise(text), ShopRequest(text, normalise(text), "Apache-2.0", group, ordered))
    return list(found.values())
