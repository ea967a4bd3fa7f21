"""Kinds of values and the words that they are made of.

A kind samples distinct values; every other one after the first looks like the first (3 and 13, May 12 and May 21,
Portland and Porto), so that a value has to be read and cannot be guessed. Names are put together from parts: there
are too many of them to learn by heart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

ATTEMPTS = 12


class Kind(Protocol):
    """A kind of value of one parameter type."""

    @property
    def type(self) -> str:
        """The parameter's type in a payload."""
        ...

    def sample(self, rng: random.Random, count: int) -> list[str]:
        """At most `count` distinct values as a user would say them: fewer where the kind has no more."""
        ...


def _distinct(count: int, first: str, draw: Callable[[], str], similar: Callable[[], str]) -> list[str]:
    """`first` and up to `count` - 1 others, every other one of them similar to it."""
    values = {first: None}
    for attempt in range(ATTEMPTS * count):
        if len(values) >= count:
            break
        values[similar() if attempt % 2 == 0 else draw()] = None
    return list(values)


@dataclass(frozen=True, slots=True)
class Listed:
    """One of the options; in sorted order neighbours look alike."""

    options: tuple[str, ...]
    type: ClassVar[str] = "string"

    def sample(self, rng: random.Random, count: int) -> list[str]:
        """Distinct options."""
        last = len(self.options) - 1
        place = rng.randint(0, last)

        def similar() -> str:
            return self.options[min(last, max(0, place + rng.choice((-3, -2, -1, 1, 2, 3))))]

        return _distinct(count, self.options[place], lambda: rng.choice(self.options), similar)


def one_of(options: str) -> Listed:
    """A `Listed` from words between bars: `one_of("window|aisle")`."""
    return Listed(tuple(sorted(options.split("|"))))


@dataclass(frozen=True, slots=True)
class Composed:
    """Parts filled into a pattern; a similar value differs in one part."""

    pattern: str
    parts: tuple[tuple[str, ...], ...]
    type: ClassVar[str] = "string"

    def sample(self, rng: random.Random, count: int) -> list[str]:
        """Distinct values."""
        chosen = [rng.choice(part) for part in self.parts]

        def similar() -> str:
            changed = list(chosen)
            place = rng.randrange(len(changed))
            changed[place] = rng.choice(self.parts[place])
            return self.pattern.format(*changed)

        def draw() -> str:
            return self.pattern.format(*(rng.choice(part) for part in self.parts))

        return _distinct(count, self.pattern.format(*chosen), draw, similar)


@dataclass(frozen=True, slots=True)
class Integer:
    """Whole numbers from `low` to `high`."""

    low: int
    high: int
    step: int = 1
    type: ClassVar[str] = "integer"

    def sample(self, rng: random.Random, count: int) -> list[str]:
        """Distinct numbers as digits."""

        def draw() -> int:
            return rng.randrange(self.low, self.high + 1, self.step)

        first = draw()
        alike = [n for n in look_alikes(first, self.step) if self.low <= n <= self.high and (n - self.low) % self.step == 0]
        return _distinct(count, str(first), lambda: str(draw()), lambda: str(rng.choice(alike or [draw()])))


@dataclass(frozen=True, slots=True)
class Decimal:
    """Numbers from `low` to `high` in steps of `step`, at most two decimals."""

    low: float
    high: float
    step: float
    type: ClassVar[str] = "number"

    def sample(self, rng: random.Random, count: int) -> list[str]:
        """Distinct numbers in plain notation."""
        steps = round((self.high - self.low) / self.step)
        first = rng.randint(0, steps)
        alike = [n for n in look_alikes(first, 1) if n <= steps]

        def show(n: int) -> str:
            return f"{round(self.low + n * self.step, 2):g}"

        return _distinct(count, show(first), lambda: show(rng.randint(0, steps)), lambda: show(rng.choice(alike or [0])))


def look_alikes(number: int, step: int) -> list[int]:
    """Numbers that are easily taken for `number`: a digit more, swapped digits, one step off."""
    if number < 0:
        return [-n for n in look_alikes(-number, step)]
    digits = str(number)
    near = [int("1" + digits), int(digits + "0"), int(digits[::-1]), number + step, number - step, number + 10 * step]
    return [n for n in dict.fromkeys(near) if n >= 0 and n != number]


@dataclass(frozen=True, slots=True)
class Dates:
    """Days of the year, such as "May 12"."""

    type: ClassVar[str] = "string"

    def sample(self, rng: random.Random, count: int) -> list[str]:
        """Distinct days."""
        month, day = rng.choice(MONTHS), rng.randint(1, 28)
        alike = [n for n in look_alikes(day, 1) if 1 <= n <= 28]

        def similar() -> str:
            return f"{month} {rng.choice(alike)}" if rng.random() < 0.7 else f"{rng.choice(MONTHS)} {day}"

        return _distinct(count, f"{month} {day}", lambda: f"{rng.choice(MONTHS)} {rng.randint(1, 28)}", similar)


@dataclass(frozen=True, slots=True)
class YesNo:
    """Yes or no."""

    type: ClassVar[str] = "boolean"

    def sample(self, rng: random.Random, count: int) -> list[str]:
        """Both, in any order."""
        return rng.sample(["yes", "no"], min(count, 2))


def product(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Every first part joined to every second one, sorted."""
    return tuple(sorted({a + b for a in first for b in second}))


def words(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


MONTHS = words("January February March April May June July August September October November December")
FIRST_NAMES = words(
    "Ada Adil Aiko Alba Amara Ana Anna Anton Arun Asha Astrid Ayo Bela Bianca Boris Bruno Cara Carlo Chen Clara "
    "Dalia Damon Dario Deniz Dina Edda Elias Elin Elio Emre Enid Erik Esra Eva Fadi Farah Felix Fiona Freya Gaia "
    "Greta Hana Hanna Hugo Ida Ilya Imani Ines Iris Ivan Ivo Jalal Jana Jonas Jun Kaito Kamal Karin Kaya Kenji "
    "Kira Lars Leila Lena Leo Lina Linus Luca Lucia Luis Maja Malik Mara Marco Maria Marta Mateo Mei Mila Milan "
    "Mina Mira Mona Nadia Naomi Nils Nina Noa Nora Olga Omar Oskar Otis Paola Petra Pia Priya Quinn Rafa Rana "
    "Ravi Remy Rita Rosa Rui Sade Salma Samir Sana Sara Selin Sofia Sven Tara Tarek Theo Tilda Timo Tomas Uma "
    "Vera Viktor Wanda Wei Willa Yara Yuki Yusuf Zain Zoe Zora"
)
SURNAMES = product(
    words(
        "Al Bar Bel Bran Cal Car Dal Dan Del Dor El Fal Far Gal Har Hol Kel Kor Lan Lor Mal Mar Mer Mor Nor Or Pel Ral "
        "Sol Tal Tor Val Ver Wil Zel"
    ),
    words("bach bury dane den ez feld ford gard ien ino ison kov land lin man mark more nes rick sen ski ston ton vez wick win"),
)
PLACES = product(
    words(
        "Alder Ash Ber Black Bram Brook Cam Clay Cold Crow Dun East El Fair Fern Glen Gold Gran Green Hal Hart Haw Hol "
        "Kings Lake Lang Lin Long Mal Mar Mill Mont Nor Oak Old Port Red Ross Sal San Stan Ston Thorn Var Wal West Wind "
        "Win Wood"
    ),
    words(
        "acre bay beck borough bourne bridge burg by cliff combe dale den don field ford gate haven holm hurst ley mere "
        "mont mouth ona port stead ton vale ville wick worth"
    ),
)
REAL_CITIES = one_of(
    "Aarhus|Accra|Adelaide|Amman|Ankara|Antwerp|Athens|Auckland|Austin|Baku|Bangkok|Barcelona|Bari|Basel|Beirut|"
    "Belfast|Belgrade|Bergen|Berlin|Bern|Bilbao|Bogota|Bologna|Bonn|Bordeaux|Boston|Bremen|Brisbane|Bristol|Brussels|"
    "Bucharest|Budapest|Cairo|Calgary|Cardiff|Cartagena|Chennai|Chicago|Cologne|Colombo|Cordoba|Cork|Dakar|Dallas|Delhi|"
    "Denver|Dresden|Dublin|Durban|Geneva|Genoa|Ghent|Girona|Glasgow|Granada|Graz|Hamburg|Hamilton|Hanoi|Havana|Helsinki|"
    "Istanbul|Jakarta|Kigali|Krakow|Kyoto|Lagos|Leeds|Leipzig|Lima|Lisbon|Ljubljana|London|Lyon|Madrid|Malaga|Malmo|Manila|"
    "Marseille|Melbourne|Milan|Montreal|Munich|Nairobi|Nantes|Naples|Nice|Osaka|Oslo|Ottawa|Palermo|Paris|Perth|Porto|"
    "Portland|Prague|Quito|Riga|Rome|Rotterdam|Salzburg|Santiago|Santander|Seoul|Seville|Sofia|Split|Sydney|Taipei|Tallinn|"
    "Tampere|Tokyo|Toronto|Toulon|Toulouse|Trieste|Tunis|Turin|Utrecht|Valencia|Vancouver|Venice|Verona|Vienna|Vilnius|"
    "Warsaw|Zagreb|Zurich"
)
ADJECTIVES = words(
    "Amber Ancient Autumn Bitter Blue Brave Bright Broken Calm Copper Crimson Crooked Distant Early Electric Empty Endless "
    "Faded Final First Fragile Gentle Golden Grand Hidden Hollow Humble Idle Iron Ivory Last Late Little Lost Lucky Midnight "
    "Narrow Northern Paper Patient Plain Proud Quiet Rapid Restless Rising Royal Rusty Second Secret Silent Silver Simple "
    "Sleepy Slow Small Spring Steady Summer Sunken Sweet Tender Third Twisted Velvet Wandering Western Wild Winter Wooden"
)
NOUNS = words(
    "Anchor Arrow Atlas Bakery Ballad Beacon Bell Birch Bridge Canyon Castle Cellar Chapter Circle Clock Cloud Coast Compass "
    "Crossing Dance Dawn Desert Echo Engine Feather Field Flame Forest Garden Gate Glacier Harbour Harvest Hill Horizon Island "
    "Journey Kitchen Ladder Lantern Letter Lighthouse Machine Map Meadow Mirror Moon Mountain Ocean Orchard Palace Parade Path "
    "Pearl Piano Planet River Road Rose Sail Season Shadow Shore Signal Song Star Station Stone Storm Summit Table Tiger Tower "
    "Train Valley Violin Voyage Wall Wave Window Winter Workshop"
)

MODEL_NAMES = words(
    "Aero Arca Bolt Cirro Corva Delta Dune Eon Flint Flux Gala Halo Helix Iris Juno Kite Lumo Mira Nova Onda Orbi Pico Quad "
    "Rho Riva Solo Terra Tria Vela Zeno"
)

CITY = Listed(tuple(sorted({*PLACES, *REAL_CITIES.options})))
PERSON = Composed("{} {}", (FIRST_NAMES, SURNAMES))
FIRST_NAME = Listed(tuple(sorted(FIRST_NAMES)))
SURNAME = Listed(SURNAMES)
TITLE = Composed("{} {}", (ADJECTIVES, NOUNS))
STREET = Composed(
    "{} {} {}",
    (tuple(map(str, range(1, 100))), PLACES, words("Street Lane Road Avenue Square Row Court Way")),
)
CODE = Composed("{}{}-{}", (tuple("ABCDEFGHKLMNPRSTVWXZ"), tuple("ACEHKMPRTX"), tuple(map(str, range(1000, 10000)))))
DATE = Dates()
CLOCK = Composed("{}:{} {}", (tuple(map(str, range(1, 13))), words("00 05 10 15 20 30 40 45 50 55"), words("am pm")))
WEEKDAY = one_of("Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday")
MONTH = Listed(MONTHS)
YES_NO = YesNo()
COLOUR = one_of(
    "amber|beige|black|blue|bronze|brown|burgundy|coral|cream|crimson|gold|green|grey|indigo|ivory|lilac|maroon|mint|navy|"
    "olive|orange|peach|pink|plum|purple|red|rose|ruby|sand|silver|teal|turquoise|violet|white|yellow"
)
LANGUAGE = one_of(
    "Arabic|Basque|Bengali|Bulgarian|Catalan|Croatian|Czech|Danish|Dutch|English|Estonian|Finnish|French|Georgian|German|"
    "Greek|Hebrew|Hindi|Hungarian|Icelandic|Irish|Italian|Japanese|Korean|Latvian|Lithuanian|Malay|Norwegian|Persian|Polish|"
    "Portuguese|Romanian|Serbian|Slovak|Slovenian|Spanish|Swahili|Swedish|Tamil|Thai|Turkish|Ukrainian|Urdu|Vietnamese|Welsh"
)
CUISINE = one_of(
    "Argentine|Basque|Brazilian|Cantonese|Caribbean|Catalan|Ethiopian|French|Georgian|German|Greek|Hungarian|Indian|Italian|"
    "Japanese|Korean|Lebanese|Malaysian|Mexican|Moroccan|Nepali|Persian|Peruvian|Polish|Portuguese|Spanish|Sichuan|Syrian|"
    "Thai|Tunisian|Turkish|Ukrainian|Vietnamese"
)
