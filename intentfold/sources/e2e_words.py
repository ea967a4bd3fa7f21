"""How people say the attributes of the E2E restaurants: for every value the phrases that say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

VALUES: Mapping[str, Sequence[str]] = {
    "type of place": ("coffee shop", "pub", "restaurant"),
    "kind of food": ("Chinese", "English", "French", "Indian", "Italian", "Japanese", "Fast food"),
    "price range": ("cheap", "moderate", "high", "less than £20", "£20-25", "more than £30"),
    "customer rating": ("low", "average", "high", "1 out of 5", "3 out of 5", "5 out of 5"),
    "part of town": ("city centre", "riverside"),
    "family friendliness": ("yes", "no"),
}
# Attributes that no E2E record has: what a user might ask to have mentioned, and take back.
EXTRAS: Mapping[str, Sequence[str]] = {
    "music": ("live jazz", "piano music", "a folk band"),
    "seating": ("a roof terrace", "garden tables", "window seats"),
    "opening time": ("7 am", "8 am", "11 am"),
    "parking": ("a car park", "bicycle racks", "valet parking"),
    "dessert": ("apple pie", "cheesecake", "gingerbread"),
}
SENTENCES: Mapping[str, str] = {
    "name of the place": "{value} is the name of the place.",
    "type of place": "{subject} is a {value}.",
    "kind of food": "It serves {value} food.",
    "price range": "Its {value}.",
    "customer rating": "Its {value}.",
    "part of town": "It is in the {value} area.",
    "family friendliness": "It is {value}.",
    "landmark nearby": "It is near {value}.",
    **{extra: f"Its {extra}: {{value}}." for extra in EXTRAS},
}
SPOKEN: Mapping[str, Sequence[str]] = {
    "name of the place": ("name",),
    "type of place": ("kind of place",),
    "kind of food": ("cuisine", "food"),
    "price range": ("prices",),
    "customer rating": ("rating",),
    "part of town": ("area",),
    "family friendliness": ("family friendly",),
    "landmark nearby": ("place nearby",),
}
# Upstream's names.
NAMES: Mapping[str, str] = {
    "name": "name of the place",
    "eatType": "type of place",
    "food": "kind of food",
    "priceRange": "price range",
    "customer rating": "customer rating",
    "area": "part of town",
    "familyFriendly": "family friendliness",
    "near": "landmark nearby",
}
_NUMBERS = {"1": "one", "3": "three", "5": "five"}
_RATED = {
    "low": ("low", "poor", "bad", "poorly"),
    "average": ("average", "an average", "averagely", "medium", "decent"),
    "high": ("high", "highly", "great", "good", "excellent", "top", "well"),
}
_PRICED = {
    "cheap": ("cheap", "cheaply", "low", "inexpensive", "affordable", "budget"),
    "moderate": ("moderate", "moderately", "average", "mid", "medium", "reasonable", "reasonably", "fair"),
    "high": ("high", "highly", "higher", "expensive", "upper"),
}
_FAMILY = [
    f"{who}{joint}{how}"
    for who in ("family", "families", "kid", "kids", "child", "children", "childrens", "children's", "kid's")
    for joint in (" ", "-")
    for how in ("friendly", "friendy")
]
_WELCOME = (
    "families", "for kids", "for children", "for the family", "for the whole family", "kids welcome", "children welcome",
    "welcomes children", "welcomes kids", "kids are welcome", "children are welcome", "suitable for children", "for family",
    "a good place to bring children",
)  # fmt: skip
_NEGATIONS = (
    "not", "not a", "not an", "non", "not very", "isn't", "isn't a", "is not", "not considered", "no", "not for",
    "unsuitable for",    "not suitable for", "not recommended for", "not good for", "not appropriate for",
    "not particularly", "not really",
    "isn't very", "nor", "nor is it", "isn’t", "doesn't cater to", "does not cater to", "does not cater for", "not open to",
    "not geared towards",
)  # fmt: skip


def phrases(attribute: str, value: str) -> list[str]:
    """The phrases that say that the attribute has the value; those of attributes without a list of values are the value."""
    match attribute:
        case "type of place":
            return [value, f"{value}s", *(["coffee-shop", "coffee house", "café", "cafe"] if value == "coffee shop" else [])]
        case "kind of food":
            return [value, *(["British"] if value == "English" else ["fast-food"] if value == "Fast food" else [])]
        case "price range":
            return _price(value)
        case "customer rating":
            return _rating(value)
        case "part of town":
            return _AREAS[value]
        case "family friendliness":
            return _friendly(value == "yes")
    return [value, *([value.removeprefix("The ")] if value.startswith("The ") and attribute == "landmark nearby" else [])]


_AREAS = {
    "city centre": [
        "city centre", "city center", "city-centre", "centre of the city", "center of the city", "centre of town",
        "center of town",        "centre city", "center city", "town centre", "town center", "heart of the city",
        "city's centre", "city's center",
        "centre of Cambridge", "downtown", "in the city", "central",
    ],
    "riverside": [
        "riverside", "river side", "river-side", "riverfront", "by the river", "near the river", "on the river",
        "along the river",        "river area", "beside the river", "side of the river", "close to the river",
        "next to the river", "riverbank",
    ],
}  # fmt: skip


def _price(value: str) -> list[str]:
    if value in _PRICED:
        alone = {"cheap": ["cheap", "inexpensive", "cheaply", "affordable"], "high": ["expensive", "pricey", "costly"]}
        found = alone.get(value, ["moderately", "moderate"])
        for word in _PRICED[value]:
            found.append(f"price range is {word}")
            found += [
                f"{word}{joint}{what}" for joint in (" ", "-") for what in ("price", "prices", "priced", "pricing", "price range")
            ]
            found += [
                f"{word} cost",
                f"{word} range",
                f"{word} range price",
                f"{word}er priced",
                f"{word} ranged",
                f"{word}-range",
            ]
            found += [f"price is {word}", f"prices are {word}", f"priced {word}", f"priced at {word}"]
            found += [
                f"price range of {word}",
                f"price range {word}",
                f"prices range from {word}",
                f"range is {word}",
                f"ly {word}",
            ]
        return found
    if value == "£20-25":
        ends = [("£20", "£25"), ("£20", "25"), ("20", "25"), ("20", "£25")]
        joints = ("-", " - ", " to ", " and ", "–", " and the ", " through ")
        return [f"{low}{joint}{high}" for low, high in ends for joint in joints] + ["20-25£", "20 to 25 pounds", "£20 -25"]
    amount = value[-3:]
    few, many = (
        ("less than", "under", "below", "cheaper than", "not more than", "lower than"),
        ("more than", "over", "above", "higher than"),
    )
    words = few if value.startswith("less") else many
    sums = (amount, amount[1:], f"{amount[1:]} pounds", f"{amount[1:]}£", f"L{amount[1:]}", f"{amount}.00")
    return [f"{word} {sum_}" for word in (*words, *(f"{w} the" for w in words)) for sum_ in sums]


def _rating(value: str) -> list[str]:
    if value in _RATED:
        found = []
        for word in _RATED[value]:
            found.append(f"customer rating is {word}")
            for what in ("rating", "ratings", "rated", "review", "reviews"):
                found += [
                    f"{word}{joint}{who}{what}" for joint in (" ", "-") for who in ("", "customer ", "customers ", "consumer ")
                ]
            found += [f"{word} rating by customers", f"{word} by customers", f"{word} by its customers", f"{word} scores"]
            found += [
                f"{word} customer rate",
                f"{word} customer satisfaction",
                f"{word}  customer rating",
                f"{word} costumer rating",
            ]
            for ahead in (
                "rating is",
                "ratings are",
                "rating of",
                "rated",
                "rated as",
                "rates",
                "rate it",
                "rating was",
                "rating",
            ):
                found.append(f"{ahead} {word}")
            found += [
                f"rating that is {word}",
                f"rated {word}",
                f"customer rating is {word}",
                f"rate it as {word}",
                f"rated it {word}",
            ]
            found += [f"ratings of {word}", f"reviews are {word}", f"rated it as {word}", f"rating as {word}", f"ratings {word}"]
        return found
    digit = value[0]
    word = _NUMBERS[digit]
    found = []
    for number in (digit, word):
        found += [f"{number} out of {five}" for five in ("5", "five")]
        found += [f"{number}{joint}star{s}" for joint in (" ", "-") for s in ("", "s", "rating")]
        found += [f"rating of {number}", f"rated {number}", f"rated at {number}", f"rated a {number}", f"rating is {number}"]
    return [
        *found,
        f"{digit}/5",
        f"{digit} of 5",
        f"{digit} / 5",
        f"{digit} out 5",
        f"{digit} in 5",
        f"{word} of five",
        f"{digit} out or 5",
    ]


def _friendly(yes: bool) -> list[str]:
    if yes:
        return [
            *_FAMILY,
            *_WELCOME,
            "friendly for families",
            "family atmosphere",
            "family oriented",
            "family venue",
            "family coffee shop",
        ]
    negated = [
        f"{no}{joint}{phrase}"
        for no in _NEGATIONS
        for joint in (" ", "-")
        for phrase in (*_FAMILY, *_WELCOME, "kids", "children")
    ]
    others = [
        "adult only",
        "adults only",
        "adult-only",
        "adults-only",
        "child free",
        "child-free",
        "kid free",
        "kid-free",
        "no kids",
        "adult oriented",
        "adult audience",
        "children not permitted",
    ]
    return [
        *negated,
        *others,
        "family unfriendly",
        "family-unfriendly",
        "no children",
        "unfriendly to families",
        "child unfriendly",
    ]
