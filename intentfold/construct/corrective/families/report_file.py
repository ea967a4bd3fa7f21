"""Sales reports as files: rows from a query, a total that adds up, dates, currency, gaps named; a reply that stays short."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from intentfold.construct.corrective.work import MET, NOT_APPLICABLE, Criterion, Family, Finding, States, almost, unmet
from intentfold.dialogue import File, Observation, Output
from intentfold.tool import Tool

REGIONS = ("north", "south", "harbour", "uplands", "lakeside", "midtown")
ITEMS = ("tiles", "lamps", "chairs", "rugs", "kettles", "shelves", "mirrors", "clocks")
YEAR = 2026
MONTHS = {"March": "03", "April": "04", "June": "06", "September": "09", "November": "11"}


def contents(rng: random.Random) -> dict[str, str]:
    month = rng.choice(sorted(MONTHS))
    items = rng.sample(ITEMS, 3)
    values = {
        "region": rng.choice(REGIONS),
        "month": month,
        "number": MONTHS[month],
        "gap": rng.choice(ITEMS) if rng.random() < 0.75 else "",
        "reader": rng.choice(("accounting", "the regional lead", "Friday's meeting", "the auditors")),
    }
    if values["gap"] in items:
        items.remove(values["gap"])
    for place, item in enumerate(items[:2], start=1):
        values[f"item{place}"] = item
        values[f"day{place}"] = f"{rng.randrange(1, 28)}"
        values[f"sum{place}"] = str(rng.randrange(120, 980))
    return values


def tastes(rng: random.Random) -> dict[str, str]:
    return {"currency": rng.choice(("EUR", "CHF", "SEK", "PLN")), "folder": rng.choice(("reports", "monthly", "figures"))}


def _path(v: Mapping[str, str]) -> str:
    return f"{v['folder']}/{v['month'].lower()}-{v['region']}.md"


def render(v: Mapping[str, str], states: States) -> Output:
    unit = f" {v['currency']}" if states["currency"] == "met" else ""
    dated = states["iso_dates"]

    def date(place: int) -> str:
        day = v[f"day{place}"]
        iso = f"{YEAR}-{v['number']}-{int(day):02d}"
        if dated == "met" or (dated == "near" and place == 1):
            return iso
        return iso.replace("-", "/") if dated == "near" else f"{day} {v['month']}"

    rows = [f"{date(n)} | {v[f'item{n}']} | {v[f'sum{n}']}{unit}" for n in (1, 2)]
    if v["gap"]:
        mark = {"met": "not reported", "near": "", "unmet": "0"}[states["flag_missing"]]
        rows.append(f"{date(2)} | {v['gap']} | {mark}".rstrip())
    total = int(v["sum1"]) + int(v["sum2"])
    stated = {"met": [total], "near": [total - 10], "unmet": []}[states["total_row"]]
    head = "date | item | amount" + (f" ({v['currency']})" if states["currency"] == "near" else "")
    lines = [head, *rows, *(f"Total | | {value}{unit}" for value in stated)]
    if states["source_line"] == "met":
        lines.append("Source: sales ledger")
    path = {"met": _path(v), "near": _path(v).split("/")[1], "unmet": "report.md"}[states["file_name"]]
    says = [f"The {v['month']} report for {v['region']} is in {path}."]
    if states["short_reply"] != "met":
        says.append(f"{v['item1']} made {v['sum1']}.")
    if states["short_reply"] == "unmet":
        says.append(f"{v['item2']} made {v['sum2']}, so things look fine overall and nothing stands out.")
    if states["source_line"] == "near":
        says.append("Source: sales ledger.")
    calls = (Observation("query_sales", {"month": v["month"], "region": v["region"]}, _sales(v)),)
    return Output(" ".join(says), calls, (File(path, "\n".join(lines) + "\n"),))


def _sales(v: Mapping[str, str]) -> str:
    rest = f"; {v['gap']}: no figure" if v["gap"] else ""
    return "; ".join(f"{v[f'item{n}']} {v[f'sum{n}']} on day {v[f'day{n}']}" for n in (1, 2)) + rest


def tools(v: Mapping[str, str]) -> tuple[Tool, ...]:
    def query(arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        if (arguments["month"], arguments["region"]) != (v["month"], v["region"]):
            return f"no sales of {arguments['region']} in {arguments['month']}; regions are {', '.join(REGIONS)}"
        return f"in {YEAR}: {_sales(v)}"

    return (Tool("query_sales", "the sales of a region in a month", ("month", "region"), query),)


BRIEF = (
    "Write the report into one file: a line `date | item | amount`, a line of that form for each item, a line that begins"
    " with `Total` where there is a total, and nothing after the figures but what the user wants there. Figures that the"
    " reply repeats are put as: ITEM made AMOUNT."
)


def missing(output: Output) -> str:
    return "" if any(" | " in line for line in _lines(output)) else "there is no report with rows"


def _lines(output: Output) -> list[str]:
    return [line for file in output.files for line in file.text.splitlines()]


def _rows(v: Mapping[str, str], output: Output) -> list[str]:
    return [line for line in _lines(output) if any(f"| {v[f'item{n}']} |" in line for n in (1, 2))]


def file_name(v: Mapping[str, str], output: Output) -> Finding:
    paths = [file.path for file in output.files]
    if paths == [_path(v)]:
        return MET
    found = almost if any(path and _path(v).endswith(f"/{path}") for path in paths) else unmet
    return found(f"the report is not saved as {_path(v)}", paths[0] if paths else "")


def total_row(v: Mapping[str, str], output: Output) -> Finding:
    line = next((line for line in _lines(output) if line.startswith("Total")), "")
    if not line:
        return unmet("the report has no total")
    stated, right = re.findall(r"\d+", line), int(v["sum1"]) + int(v["sum2"])
    return MET if stated == [str(right)] else almost(f"the total does not add up: the rows make {right}", line)


def iso_dates(v: Mapping[str, str], output: Output) -> Finding:
    wrong = [line for line in _rows(v, output) if not re.match(r"\d{4}-\d\d-\d\d \|", line)]
    if not wrong:
        return MET
    evidence = wrong[0].split(" |")[0]
    found = almost if len(wrong) < len(_rows(v, output)) else unmet
    return found("not every date is written as year, month, day", evidence)


def currency(v: Mapping[str, str], output: Output) -> Finding:
    wrong = [line for line in _rows(v, output) if not line.endswith(f" {v['currency']}")]
    if not wrong:
        return MET
    if any(v["currency"] in line for line in _lines(output)):
        return almost("the currency stands in the header, not at the amounts", wrong[0])
    return unmet(f"the amounts do not carry {v['currency']}", wrong[0])


def short_reply(v: Mapping[str, str], output: Output) -> Finding:
    told = [said for n in (1, 2) if (said := f"{v[f'item{n}']} made {v[f'sum{n}']}") in output.reply]
    if not told:
        return MET
    found = almost if len(told) == 1 else unmet
    return found("the reply repeats figures of the report", told[0])


def flag_missing(v: Mapping[str, str], output: Output) -> Finding:
    gaps = [item for call in output.calls for item in re.findall(r"(\w+): no figure", call.result)]
    if not gaps:
        return NOT_APPLICABLE
    line = next((line for line in _lines(output) if f"| {gaps[0]} |" in line), "")
    if "not reported" in line:
        return MET
    if line.endswith("|"):
        return almost(f"the amount of {gaps[0]} is left blank", line)
    return unmet(f"the report invents an amount for {gaps[0]}, which has none", line)


def source_line(v: Mapping[str, str], output: Output) -> Finding:
    lines = _lines(output)
    if lines and lines[-1] == "Source: sales ledger":
        return MET
    if "Source: sales ledger" in output.reply:
        return almost("the source stands in the reply, not at the end of the report", "Source: sales ledger")
    return unmet("the report does not name its source")


FAMILY = Family(
    "report_file",
    (
        Criterion("file_name", "specification", "near_miss", file_name),
        Criterion("total_row", "specification", "near_miss", total_row),
        Criterion("iso_dates", "preference", "near_miss", iso_dates),
        Criterion("currency", "context", "wrong_place", currency),
        Criterion("short_reply", "preference", "near_miss", short_reply),
        Criterion("flag_missing", "specification", "near_miss", flag_missing, condition="gap"),
        Criterion("source_line", "specification", "wrong_place", source_line, novel=True),
    ),
    contents,
    tastes,
    render,
    tools,
    BRIEF,
    missing,
)
