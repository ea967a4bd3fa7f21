"""Situations for word problems: what is multiplied, added, taken off, scaled, and what a decoy may adjust."""
# ruff: noqa: E501  (a table: one row, one line)

from __future__ import annotations

from dataclasses import dataclass

from intentfold.sources.builtin.vocabulary import Decimal, Integer, Kind

Named = tuple[str, Kind]


@dataclass(frozen=True, slots=True)
class Scenario:
    """Products of a rate and a count for several things, then single amounts.

    `factors` are a rate and a count, where `{one}` and `{many}` stand for a thing of `things`; `chain` are two counts
    that may stand in place of the one.
    `total` names the product for one thing. `extras` are added or (with a leading -) taken off; the result may be
    multiplied by one of `times` or shared among one of `shares`. `adjustments` are for decoys: expressions over
    `result` and `value`.
    """

    name: str
    asks: tuple[str, ...]
    factors: tuple[Named, Named]
    chain: tuple[Named, ...]
    total: str
    things: tuple[tuple[str, str], ...]
    extras: tuple[Named, ...]
    times: tuple[Named, ...]
    shares: tuple[Named, ...]
    adjustments: tuple[tuple[str, str, Kind], ...]


def things(words: str) -> tuple[tuple[str, str], ...]:
    """Things from words between bars: `apple` (plural with s) or `knife/knives`."""
    return tuple((one, many or one + "s") for one, _, many in (word.partition("/") for word in words.split("|")))


SMALL, COUNT, MANY = Integer(2, 12), Integer(3, 40), Integer(10, 200, 5)
PERCENT = Integer(5, 60, 5)

MONEY = (
    ("discount", "result - value", Integer(1, 40)),
    ("delivery fee", "result + value", Integer(2, 45)),
    ("discount percentage", "result * (100 - value) / 100", PERCENT),
    ("tax percentage", "result * (100 + value) / 100", PERCENT),
    ("service charge", "result + value", Integer(3, 70)),
    ("gift card value", "result - value", Integer(5, 60, 5)),
    ("donation", "result + value", Integer(1, 50)),
    ("number of repeats", "result * value", Integer(2, 9)),
)
AMOUNT = (
    ("spare amount", "result + value", Integer(2, 60)),
    ("rejected amount", "result - value", Integer(1, 40)),
    ("loss percentage", "result * (100 - value) / 100", PERCENT),
    ("growth percentage", "result * (100 + value) / 100", PERCENT),
    ("number of repeats", "result * value", Integer(2, 9)),
    ("amount from last month", "result + value", Integer(5, 90, 5)),
    ("amount set aside", "result - value", Integer(1, 30)),
)
TIME = (
    ("break time", "result + value", Integer(5, 60, 5)),
    ("time saved", "result - value", Integer(5, 60, 5)),
    ("delay", "result + value", Integer(1, 45)),
    ("number of repeats", "result * value", Integer(2, 9)),
    ("overrun percentage", "result * (100 + value) / 100", PERCENT),
    ("head start", "result - value", Integer(1, 30)),
    ("clean-up time", "result + value", Integer(2, 50)),
)
LENGTH = (
    ("detour", "result + value", Integer(2, 60)),
    ("shortcut", "result - value", Integer(1, 40)),
    ("number of repeats", "result * value", Integer(2, 9)),
    ("walk at the end", "result + value", Integer(1, 12)),
    ("towed distance", "result - value", Integer(2, 30)),
    ("error margin percentage", "result * (100 + value) / 100", PERCENT),
    ("lap around the lake", "result + value", Integer(3, 25)),
)

FRUIT = things(
    "apple|banana|cherry/cherries|fig|kiwi|lemon|lime|mango/mangoes|melon|orange|papaya|peach/peaches|pear|plum|quince"
)
GOODS = things(
    "basket|blanket|candle|chair|cup|cushion|doll|hat|jar|kettle|lamp|mug|pan|pillow|plate|rug|scarf/scarves|spoon|stool|towel|tray|vase"
)
TOOLS = things(
    "bolt|brush/brushes|drill|file|hammer|hinge|ladder|nail|pump|rope|saw|screw|shovel|spring|switch/switches|valve|wrench/wrenches"
)
PAPER = things(
    "album|atlas/atlases|booklet|brochure|calendar|card|catalogue|diary/diaries|flyer|guide|journal|leaflet|magazine|manual|map|notebook|poster|report"
)
JOBS = things(
    "cleaning/cleaning|cooking/cooking|driving/driving|editing/editing|filing/filing|fishing/fishing|gardening/gardening|packing/packing|painting/painting|plumbing/plumbing|sewing/sewing|teaching/teaching|welding/welding"
)
SPORTS = things(
    "boxing/boxing|cycling/cycling|dancing/dancing|hiking/hiking|jogging/jogging|judo/judo|rowing/rowing|skating/skating|skiing/skiing|squash/squash|swimming/swimming|tennis/tennis|yoga/yoga"
)
ROADS = things(
    "bridge road|canal path|city road|coast road|country road|forest trail|highway|hill road|mountain pass|river track|toll road|valley road"
)
PLANTS = things(
    "barley/barley|bean|beet|cabbage|carrot|leek|lettuce|maize/maize|oat|onion|pea|potato/potatoes|pumpkin|radish/radishes|spinach/spinach|tomato/tomatoes|turnip|wheat/wheat"
)
ROOMS = things(
    "attic|ballroom|barn|chapel|gym|hall|hangar|kitchen|library/libraries|lobby/lobbies|lounge|office|studio|tent|theatre|workshop"
)
DEVICES = things(
    "boiler|charger|computer|dryer|fan|freezer|fridge|heater|lamp|mixer|oven|printer|pump|radio|router|scanner|screen|washer"
)
BAKED = things(
    "bagel|baguette|biscuit|brownie|bun|cookie|croissant|cupcake|loaf/loaves|muffin|pancake|pastry/pastries|pie|pretzel|roll|scone|tart|waffle"
)
PUPILS = things(
    "actor|cadet|camper|child/children|choir member|climber|dancer|diver|guest|hiker|nurse|pilot|player|pupil|runner|sailor|scout|student|teacher|tourist"
)

SCENARIOS = (
    Scenario(
        "order",
        (
            "work out what an order costs",
            "add up a shop order",
            "calculate the price of an order",
            "find the total of a purchase",
        ),
        (("price per {one}", Decimal(1.5, 30, 0.5)), ("number of {many}", COUNT)),
        (("{many} per box", SMALL), ("number of boxes of {many}", COUNT)),
        "cost of the {many}",
        GOODS,
        (("packing fee", Integer(2, 60)), ("-store credit", Integer(2, 40)), ("price of the cart", Integer(20, 150, 5))),
        (("number of branches", SMALL),),
        (("people sharing the bill", SMALL),),
        MONEY,
    ),
    Scenario(
        "stall",
        ("find out what a market stall earned", "calculate the income of a stall", "work out the stall's takings"),
        (("price of one {one}", Decimal(1.5, 9, 0.5)), ("{many} sold", MANY)),
        (("{many} sold per hour", COUNT), ("hours of selling {many}", SMALL)),
        "takings from the {many}",
        FRUIT,
        (("-stall rent", Integer(5, 80)), ("-fuel cost", Integer(3, 40)), ("sale of the old scales", Integer(5, 60))),
        (("number of market days", SMALL),),
        (("partners of the stall", SMALL),),
        MONEY,
    ),
    Scenario(
        "trip",
        ("work out how far a trip is", "calculate the distance of a journey", "find the length of a trip"),
        (("speed on the {one}", Integer(10, 110, 5)), ("hours on the {one}", SMALL)),
        (),
        "distance on the {one}",
        ROADS,
        (("ferry distance", COUNT), ("-distance skipped", Integer(1, 9)), ("distance to the start", COUNT)),
        (("number of trips", SMALL),),
        (("number of stages", SMALL),),
        LENGTH,
    ),
    Scenario(
        "wages",
        ("work out someone's pay", "calculate wages", "find out what a worker earned", "add up the pay of a week"),
        (("hourly wage for {one}", Decimal(9, 45, 0.5)), ("hours of {one}", COUNT)),
        (("hours of {one} per day", SMALL), ("days of {one}", SMALL)),
        "pay for {one}",
        JOBS,
        (("bonus", MANY), ("-union fee", Integer(1, 20)), ("-tool rental", Integer(2, 30))),
        (("number of workers", SMALL),),
        (("people sharing the pay", SMALL),),
        MONEY,
    ),
    Scenario(
        "factory",
        ("calculate a factory's output", "work out how many pieces a plant makes", "find the output of a workshop"),
        (("{many} made per hour", COUNT), ("hours of making {many}", SMALL)),
        (("hours of making {many}", SMALL), ("machines for {many}", SMALL)),
        "{many} in all",
        TOOLS,
        (("pieces in stock", MANY), ("-faulty pieces", Integer(1, 30)), ("pieces bought in", COUNT)),
        (("number of shifts", SMALL),),
        (("number of customers", SMALL),),
        AMOUNT,
    ),
    Scenario(
        "printing",
        ("work out how many sheets are needed", "calculate the paper for a print run", "find the number of sheets"),
        (("sheets per {one}", COUNT), ("number of {many}", COUNT)),
        (("{many} per class", SMALL), ("classes that get {many}", SMALL)),
        "sheets for the {many}",
        PAPER,
        (("sheets for the tests", MANY), ("-sheets left from before", Integer(2, 30)), ("cover sheets", COUNT)),
        (("number of schools", SMALL),),
        (("number of printers", SMALL),),
        AMOUNT,
    ),
    Scenario(
        "training",
        ("work out the calories of a training week", "calculate the calories burned", "add up an athlete's calories"),
        (("calories per minute of {one}", Integer(3, 15)), ("minutes of {one}", Integer(10, 90, 5))),
        (("minutes of {one}", Integer(10, 90, 5)), ("sessions of {one}", SMALL)),
        "calories from {one}",
        SPORTS,
        (("calories from the warm-up", COUNT), ("-calories from snacks", Integer(10, 90, 5)), ("calories from walking", MANY)),
        (("number of athletes", SMALL),),
        (("number of training days", SMALL),),
        AMOUNT,
    ),
    Scenario(
        "harvest",
        ("calculate a harvest", "work out the weight of a harvest", "find out how much a farm harvested"),
        (("kilos per bed of {many}", COUNT), ("beds of {many}", COUNT)),
        (("beds of {many} per field", SMALL), ("fields of {many}", SMALL)),
        "kilos of {many}",
        PLANTS,
        (("kilos from the greenhouse", MANY), ("-kilos eaten by birds", Integer(1, 30)), ("kilos from the neighbour", COUNT)),
        (("number of farms", SMALL),),
        (("number of lorries", SMALL),),
        AMOUNT,
    ),
    Scenario(
        "seats",
        ("count the seats of a venue", "work out how many people fit", "calculate the seats for an event"),
        (("rows in the {one}", COUNT), ("seats per row in the {one}", COUNT)),
        (),
        "seats in the {one}",
        ROOMS,
        (("folding chairs", COUNT), ("-broken seats", Integer(1, 12)), ("standing places", MANY)),
        (("number of evenings", SMALL),),
        (("number of groups", SMALL),),
        AMOUNT,
    ),
    Scenario(
        "tiles",
        ("work out the area of some rooms", "calculate the floor area", "find out how many square metres there are"),
        (("length of the {one}", COUNT), ("width of the {one}", COUNT)),
        (),
        "area of the {one}",
        ROOMS,
        (("area of the stairs", COUNT), ("-area of the pillars", Integer(1, 9)), ("area of the terrace", MANY)),
        (("number of floors", SMALL),),
        (("number of painters", SMALL),),
        AMOUNT,
    ),
    Scenario(
        "energy",
        ("work out how much energy is used", "calculate an energy bill in units", "add up the energy use"),
        (("units per hour of the {one}", Decimal(1.5, 9, 0.5)), ("hours of the {one}", COUNT)),
        (("hours per day of the {one}", SMALL), ("days with the {one}", COUNT)),
        "units of the {one}",
        DEVICES,
        (("units for lighting", MANY), ("-units from the solar panel", Integer(2, 30)), ("units for the lift", COUNT)),
        (("number of flats", SMALL),),
        (("number of tenants", SMALL),),
        AMOUNT,
    ),
    Scenario(
        "bakery",
        ("work out how long the baking takes", "calculate baking time", "find the minutes needed in a bakery"),
        (("minutes per tray of {many}", Integer(5, 45)), ("trays of {many}", COUNT)),
        (),
        "minutes for the {many}",
        BAKED,
        (("minutes to heat the oven", COUNT), ("-minutes done yesterday", Integer(1, 15)), ("minutes to cool", COUNT)),
        (("number of orders", SMALL),),
        (("number of ovens", SMALL),),
        TIME,
    ),
    Scenario(
        "excursion",
        ("work out what an excursion costs", "calculate the price of a group trip", "find the cost of an outing"),
        (("ticket price per {one}", Decimal(2, 25, 0.5)), ("number of {many}", COUNT)),
        (("{many} per bus", COUNT), ("buses of {many}", SMALL)),
        "tickets of the {many}",
        PUPILS,
        (("bus rent", MANY), ("-grant from the club", Integer(5, 60, 5)), ("guide fee", COUNT)),
        (("number of days", SMALL),),
        (("number of families", SMALL),),
        MONEY,
    ),
    Scenario(
        "sewing",
        ("work out how much cloth is needed", "calculate the cloth for an order", "find out the metres of cloth"),
        (("metres of cloth per {one}", Decimal(1.5, 6, 0.5)), ("number of {many}", COUNT)),
        (("{many} per customer", SMALL), ("customers for {many}", SMALL)),
        "cloth for the {many}",
        things(
            "apron|bag|blouse|cape|coat|costume|curtain|dress/dresses|flag|gown|jacket|kilt|robe|sail|shirt|skirt|suit|tent|vest"
        ),
        (("metres for samples", COUNT), ("-metres in the cupboard", Integer(1, 12)), ("metres for lining", COUNT)),
        (("number of shops", SMALL),),
        (("number of tailors", SMALL),),
        LENGTH[2:3] + AMOUNT[:4] + AMOUNT[5:],
    ),
    Scenario(
        "reading",
        ("work out how long some reading takes", "calculate reading time", "find out the minutes of reading"),
        (("minutes per page of the {one}", Decimal(1.5, 5, 0.5)), ("pages of the {one}", MANY)),
        (),
        "minutes for the {one}",
        things(
            "comic|contract|diary/diaries|essay|fable|guidebook|handbook|letter|memoir|novel|paper|play|poem|report|saga|script|story/stories|textbook|thesis/theses"
        ),
        (("minutes for notes", COUNT), ("-minutes read on the train", Integer(1, 20)), ("minutes for the index", COUNT)),
        (("number of readers", SMALL),),
        (("number of evenings", SMALL),),
        TIME,
    ),
    Scenario(
        "savings",
        ("work out how much someone saved", "calculate savings", "add up the money in a piggy bank"),
        (("weekly savings from {one}", Integer(2, 60)), ("weeks of {one}", COUNT)),
        (),
        "savings from {one}",
        JOBS,
        (("birthday money", MANY), ("-money spent on sweets", Integer(1, 20)), ("money from the aunt", COUNT)),
        (("number of children", SMALL),),
        (("number of siblings", SMALL),),
        MONEY,
    ),
)
