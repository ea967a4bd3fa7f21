"""Product review scripts: a looked-up price, a routine, honest timing, a disclosure in its place (after LiveAsset, figure 3)."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from intentfold.construct.corrective.work import (
    MET,
    NOT_APPLICABLE,
    Criterion,
    Family,
    Finding,
    States,
    almost,
    file_text,
    lines_of,
    unmet,
)
from intentfold.dialogue import File, Observation, Output
from intentfold.tool import Tool

PATH = "script.md"
PRODUCTS = {
    "hair styler": ("drying and styling in one go", "fast motor", "busy mornings"),
    "pressure cooker": ("sealing the lid with one twist", "quiet valve", "school evenings"),
    "robot mop": ("rinsing its own pads", "low frame", "pet weekends"),
    "folding bike": ("folding in three moves", "belt drive", "train commutes"),
    "desk lamp": ("dimming by a tap", "wide head", "late study sessions"),
    "hand blender": ("snapping on the whisk", "long cable", "Sunday baking"),
    "water filter": ("refilling from the top", "slim jug", "crowded breakfasts"),
    "travel kettle": ("collapsing flat", "dual voltage", "hotel stays"),
}


HYPE = ("amazing", "game-changer", "incredible", "must-have")


def contents(rng: random.Random) -> dict[str, str]:
    product = rng.choice(sorted(PRODUCTS))
    feature, other, routine = PRODUCTS[product]
    price = rng.randrange(19, 260) + rng.choice((0.49, 0.9, 0.95))
    return {
        "product": product,
        "feature": feature,
        "other": other,
        "routine": routine,
        "price": f"{price:.2f}",
        "rounded": f"{round(price / 10 + 1) * 10}",
        "minutes": str(rng.choice((5, 8, 10, 12, 15, 20))),
        "timed": "yes" if rng.random() < 0.75 else "",
        "angle": rng.choice(("after a month of use", "for beginners", "compared with my old one", "in thirty seconds")),
    }


def tastes(rng: random.Random) -> dict[str, str]:
    return {
        "hype": rng.choice(HYPE),
        "limit": rng.choice(("4", "5", "6")),
        "sponsor": rng.choice(("Norvik", "Calder Home", "Plumeria", "Ostara", "Bexley")),
    }


def render(v: Mapping[str, str], states: States) -> Output:
    limit = int(v["limit"])
    more = {"met": "", "near": " tested here again by me today", "unmet": " tested by someone who has tried them all before"}
    title = f"The {v['product']}{more[states['short_title']]}".split()
    title = title[: {"met": limit, "near": limit + 1, "unmet": limit + 4}[states["short_title"]]]
    routine = {
        "met": f"On {v['routine']}, {v['feature']} means one step less.",
        "near": f"It offers {v['feature']}. Hello, {v['routine']}!",
        "unmet": f"It offers {v['feature']} and a {v['other']}.",
    }[states["routine_benefit"]]
    timing = {
        "met": "It takes me [My time] from start to finish.",
        "near": f"I save {v['minutes']} minutes, that is [My time].",
        "unmet": f"I save {v['minutes']} minutes every day.",
        "absent": "",
    }[states["own_timing"]]
    price = f"It costs {v['price']} euros." if states["price_lookup"] != "unmet" else f"It costs about {v['rounded']} euros."
    hype = {
        "met": "The build feels solid.",
        "near": f"The build feels solid, almost {v['hype']}.",
        "unmet": f"It is {v['hype']}!",
    }
    advert = f"Paid partnership with {v['sponsor']}."
    closing = "Tell me what you would use it for."
    disclosure = states["disclosure_last"]
    body = [
        f"# {' '.join(title)}",
        *([advert] if disclosure == "near" else []),
        f"Today: the {v['product']}, {v['angle']}.",
        routine,
        timing,
        price,
        hype[states["no_hype"]],
        closing,
        *([advert] if disclosure == "met" else []),
    ]
    calls = () if states["price_lookup"] == "near" else (Observation("lookup_product", {"name": v["product"]}, _product(v)),)
    reply = f"The script for the {v['product']} is in {PATH}."
    return Output(reply, calls, (File(PATH, "\n".join(line for line in body if line) + "\n"),))


def _product(v: Mapping[str, str]) -> str:
    return f"{v['product']}: {v['price']} euros, in stock"


def tools(v: Mapping[str, str]) -> tuple[Tool, ...]:
    def look(arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        if v["product"].casefold() not in arguments["name"].casefold():
            return "no such product"
        return f"{_product(v)}. It offers {v['feature']} and a {v['other']}; made for {v['routine']}"

    return (Tool("lookup_product", "price and features of a product", ("name",), look),)


BRIEF = (
    f"Write the script into {PATH}: a title after `# `, then a line for each sentence. A feature is named in the words of the"
    " lookup. The price stands in a sentence of its own: It costs PRICE euros. A time that the speaker fills in is written"
    " [My time], one that is claimed as a number of minutes."
)


def missing(output: Output) -> str:
    return "" if file_text(output, PATH).strip() else f"there is no {PATH}"


def _sentences(text: str) -> list[str]:
    return [part for line in lines_of(text) for part in re.split(r"(?<=[.!?])\s+", line)]


def routine_benefit(v: Mapping[str, str], output: Output) -> Finding:
    told = [s for s in _sentences(file_text(output, PATH)) if v["feature"] in s]
    if any(v["routine"] in sentence for sentence in told):
        return MET
    evidence = told[0] if told else ""
    if v["routine"] in file_text(output, PATH):
        return almost(f"the script names {v['routine']} but does not say what {v['feature']} does for them", evidence)
    return unmet(f"the script never says how {v['feature']} helps on {v['routine']}", evidence)


def own_timing(v: Mapping[str, str], output: Output) -> Finding:
    text = file_text(output, PATH)
    claim = next((s for s in _sentences(text) if re.search(r"\d+ minutes", s)), "")
    if claim:
        found = almost if "[My time]" in claim else unmet
        return found(f"the script claims {v['minutes']} minutes as the user's own time", claim)
    return MET if "[My time]" in text else NOT_APPLICABLE


def price_lookup(v: Mapping[str, str], output: Output) -> Finding:
    line = next((s for s in _sentences(file_text(output, PATH)) if "costs" in s), "")
    seen = any(call.name == "lookup_product" and v["price"] in call.result for call in output.calls)
    if f"{v['price']} euros" not in line:
        return unmet("the price in the script is not the one that the lookup returned", line)
    return MET if seen else almost("the script states a price that was never looked up", line)


def disclosure_last(v: Mapping[str, str], output: Output) -> Finding:
    lines = lines_of(file_text(output, PATH))
    told = [line for line in lines if f"Paid partnership with {v['sponsor']}." in line]
    if not told:
        return unmet(f"the script does not disclose the partnership with {v['sponsor']}")
    return MET if lines[-1] == told[-1] else almost("the disclosure is not the last line of the script", told[-1])


def no_hype(v: Mapping[str, str], output: Output) -> Finding:
    # The user names one such word and means them all: which of them the agent would use, nobody knows beforehand.
    loud = (v["hype"], *HYPE)
    line = next((s for s in _sentences(file_text(output, PATH)) if any(word in s for word in loud)), "")
    if not line:
        return MET
    used = next(word for word in loud if word in line)
    return (almost if "almost" in line else unmet)(f"the script calls it {used}", line)


def short_title(v: Mapping[str, str], output: Output) -> Finding:
    title = next((line for line in lines_of(file_text(output, PATH)) if line.startswith("# ")), "# ")
    size, limit = len(title.split()) - 1, int(v["limit"])
    if size <= limit:
        return MET
    return (almost if size == limit + 1 else unmet)(f"the title has {size} words, more than {limit}", title)


FAMILY = Family(
    "review_script",
    (
        Criterion("routine_benefit", "preference", "near_miss", routine_benefit),
        Criterion("own_timing", "context", "near_miss", own_timing, condition="timed", contradicts=True),
        Criterion("price_lookup", "specification", "no_evidence", price_lookup),
        Criterion("disclosure_last", "specification", "wrong_place", disclosure_last),
        Criterion("no_hype", "preference", "near_miss", no_hype),
        Criterion("short_title", "preference", "near_miss", short_title, novel=True),
    ),
    contents,
    tastes,
    render,
    tools,
    BRIEF,
    missing,
)
