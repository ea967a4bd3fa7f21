"""Research notes: the finding first, claims with sources that the search returned, small samples named, no advice."""

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

PATH = "note.md"
TOPICS = {
    "four-day weeks": ("output held steady", "sick days fell"),
    "night shifts": ("errors rose after midnight", "naps helped a little"),
    "standing desks": ("back pain eased", "typing slowed"),
    "remote onboarding": ("new hires asked fewer questions", "mentors met weekly"),
    "open offices": ("face-to-face talk dropped", "messages doubled"),
    "code review bots": ("small defects were caught earlier", "reviews got longer"),
    "bike subsidies": ("car trips declined", "winter use stayed low"),
    "library hours": ("evening visits grew", "staff costs rose"),
}
AUTHORS = ("Lindqvist", "Okafor", "Moreau", "Tanaka", "Villanueva", "Petrov", "Haddad", "Sorensen")


def contents(rng: random.Random) -> dict[str, str]:
    topic = rng.choice(sorted(TOPICS))
    first, second = rng.sample(AUTHORS, 2)
    small = rng.random() < 0.75
    few, many = rng.randrange(12, 48), rng.randrange(200, 900)
    return {
        "topic": topic,
        "finding": TOPICS[topic][0],
        "second": TOPICS[topic][1],
        "author": first,
        "other": second,
        "few": str(few),
        "many": str(many),
        "small": "yes" if small else "",
        "reader": rng.choice(("the board", "my thesis group", "the works council", "our newsletter")),
    }


def tastes(rng: random.Random) -> dict[str, str]:
    return {"title": rng.choice(("Evidence Brief", "Deficiency Log", "Reading Digest", "Findings Memo"))}


def render(v: Mapping[str, str], states: States) -> Output:
    size = _size(v)
    title = {"met": v["title"], "near": f"{v['title']} (draft)", "unmet": f"Notes on {v['topic']}"}[states["exact_title"]]
    marks = {"met": (" [1]", " [2]"), "near": (" [1]", " [3]"), "unmet": ("", "")}[states["cite_claims"]]
    finding = f"Main finding: {v['finding']}{marks[0]}"
    background = f"Background: {v['topic']} have been studied for some years."
    second = f"Also: {v['second']}{marks[1]}"
    order = {
        "met": [finding, background, second],
        "near": [background, finding, second],
        "unmet": [background, second, finding],
    }[states["finding_first"]]
    sample = {
        "met": f"The sample is small (n = {size}).",
        "near": "The sample is on the small side.",
        "unmet": f"{v['author']} ran a careful study.",
        "absent": f"{v['author']} ran a careful study.",
    }[states["small_sample"]]
    advice = {
        "met": [],
        "near": [f"One might well recommend {v['topic']}."],
        "unmet": [f"Everyone should adopt {v['topic']} now."],
    }[states["no_advice"]]
    questions = {
        "met": ["## Open questions", "- Does it last?", "- Who gains least?"],
        "near": ["## Open questions", "- Does it last?"],
        "unmet": [],
    }[states["open_questions"]]
    calls = (Observation("search_papers", {"query": v["topic"]}, _papers(v)),)
    text = "\n".join([f"# {title}", *order, sample, *advice, *questions]) + "\n"
    return Output(f"I put the note on {v['topic']} into {PATH}.", calls, (File(PATH, text),))


def _size(v: Mapping[str, str]) -> str:
    return v["few"] if v["small"] else v["many"]


def _papers(v: Mapping[str, str]) -> str:
    return f"[1] {v['author']} 2021, n = {_size(v)}: {v['finding']}; [2] {v['other']} 2023: {v['second']}"


def tools(v: Mapping[str, str]) -> tuple[Tool, ...]:
    def search(arguments: Mapping[str, str], before: Sequence[Observation]) -> str:
        return _papers(v) if v["topic"].casefold() in arguments["query"].casefold() else "nothing found"

    return (Tool("search_papers", "papers on a topic, numbered, with what they found", ("query",), search),)


BRIEF = (
    f"Write the note into {PATH}: a title after `# `, then a line for each claim in the very words of the search; sources are"
    " cited by their number in brackets. Where the size of a sample is named, the line says `sample is` and `n = ` and the"
    " number. Sections begin with `## `."
)


def missing(output: Output) -> str:
    return "" if file_text(output, PATH).strip() else f"there is no {PATH}"


def _body(output: Output) -> list[str]:
    return [line for line in lines_of(file_text(output, PATH)) if not line.startswith("# ")]


def finding_first(v: Mapping[str, str], output: Output) -> Finding:
    lines = _body(output)
    place = next((n for n, line in enumerate(lines) if v["finding"] in line), -1)
    if place == 0:
        return MET
    found = almost if place == 1 else unmet
    return found("the note does not open with the main finding", lines[0] if lines else "")


def cite_claims(v: Mapping[str, str], output: Output) -> Finding:
    returned = {mark for call in output.calls for mark in re.findall(r"\[\d+\]", call.result)}
    claims = [line for line in _body(output) if v["finding"] in line or v["second"] in line]
    for line in claims:
        marks = set(re.findall(r"\[\d+\]", line))
        if not marks:
            return unmet("a claim in the note has no source", line)
        if not marks <= returned:
            return almost("a claim cites a source that the search did not return", line)
    return MET


def exact_title(v: Mapping[str, str], output: Output) -> Finding:
    title = next((line[2:] for line in lines_of(file_text(output, PATH)) if line.startswith("# ")), "")
    if title == v["title"]:
        return MET
    return (almost if v["title"] in title else unmet)(f"the title is not exactly {v['title']}", title)


def small_sample(v: Mapping[str, str], output: Output) -> Finding:
    sizes = [int(n) for call in output.calls for n in re.findall(r"n = (\d+)", call.result)]
    sizes = [size for size in sizes if size < 50]
    if not sizes:
        return NOT_APPLICABLE
    told = next((line for line in _body(output) if "sample is" in line), "")
    if any(f"n = {size}" in told for size in sizes):
        return MET
    if told:
        return almost("the note calls the sample small without its size", told)
    return unmet(f"the note is silent about a sample of only {sizes[0]}")


def no_advice(v: Mapping[str, str], output: Output) -> Finding:
    line = next((line for line in _body(output) if re.search(r"\b(should|recommend)\b", line)), "")
    if not line:
        return MET
    return (almost if "recommend" in line else unmet)("the note gives advice", line)


def open_questions(v: Mapping[str, str], output: Output) -> Finding:
    lines = _body(output)
    if "## Open questions" not in lines:
        return unmet("the note has no section with open questions")
    count = len(lines) - lines.index("## Open questions") - 1
    return MET if count >= 2 else almost("fewer than two open questions are listed", lines[-1])


FAMILY = Family(
    "research_note",
    (
        Criterion("finding_first", "preference", "wrong_place", finding_first),
        Criterion("cite_claims", "specification", "no_evidence", cite_claims),
        Criterion("exact_title", "preference", "near_miss", exact_title),
        Criterion("small_sample", "context", "near_miss", small_sample, condition="small"),
        Criterion("no_advice", "preference", "near_miss", no_advice),
        Criterion("open_questions", "specification", "near_miss", open_questions, novel=True),
    ),
    contents,
    tastes,
    render,
    tools,
    BRIEF,
    missing,
)
