"""The E2E dataset (Novikova et al. 2017): one task a meaning representation, with all the texts that people wrote for it.

An answer is graded by slot coverage (`graders.text`) in the words of `e2e_words`; BLEU against the texts stands beside
(`graders.bleu`). The texts of people leave values out or say others: the references are those that say every value, and a
meaning representation that none of them says whole makes no task.
"""

from __future__ import annotations

import csv
import functools
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from intentfold.graders.text import grade_text
from intentfold.intent import slot_text
from intentfold.sources.builtin.common import make_conclusions, opening
from intentfold.sources.e2e_words import EXTRAS, NAMES, SENTENCES, SPOKEN, VALUES, phrases
from intentfold.sources.loading import LoadReport, Skip, SourceError
from intentfold.sources.values import MOST_VALUES
from intentfold.task import Goal, SourceTask

FILES = {"trainset.csv": "train", "devset.csv": "dev", "testset_w_refs.csv": "test"}
ALWAYS = 10  # of the phrases for a value, so many are carried whether or not a text uses them
_SLOT = re.compile(r"([A-Za-z ]+)\[([^\[\]]+)\](?:, |$)")
_ASKS = ("describe a place in plain sentences", "write a short text about a place", "say what a place is like")
Meaning = dict[str, str]


def load_e2e(folder: Path) -> LoadReport:
    """The tasks of those of upstream's files (`FILES`) that are in `folder`; `payload["benchmark_split"]` keeps which."""
    found = [name for name in FILES if (folder / name).is_file()]
    if not found:
        raise SourceError(f"{folder}: none of E2E's files {list(FILES)} is there")
    meanings = [(FILES[name], f"{name[:-4]}/{n}", *one) for name in found for n, one in enumerate(_read(folder / name).items())]
    lexicon = _Lexicon(meanings)
    tasks: list[SourceTask] = []
    left: dict[str, str] = {}
    for split, name, key, texts in meanings:
        try:
            tasks.append(_task(split, name, dict(key), texts, lexicon))
        except Skip as reason:
            left[f"e2e/{name}"] = str(reason)
    return LoadReport(tuple(tasks), left)


def _read(path: Path) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Every meaning representation with its texts, in the file's order."""
    found: dict[tuple[tuple[str, str], ...], list[str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames is None or not {"mr", "ref"} <= set(reader.fieldnames):
            raise SourceError(f"{path}:1: expected the columns mr and ref, got {reader.fieldnames}")
        for record in reader:
            meaning, text = record["mr"] or "", record["ref"] or ""
            pairs = tuple((NAMES.get(slot.strip(), slot), value) for slot, value in _SLOT.findall(meaning))
            rest = _SLOT.sub("", meaning)
            if not pairs or rest or (unknown := [slot for slot, _ in pairs if slot not in SPOKEN]):
                what = (
                    f"unknown attributes {unknown}"
                    if pairs and not rest
                    else "no attributes as in `name[The Mill], area[riverside]`"
                )
                raise SourceError(f"{path}:{reader.line_num}: field mr: {what}, got {meaning[:80]!r}")
            found.setdefault(pairs, []).append(text)
    return found


class _Lexicon:
    """The values of every attribute, and for each of them the phrases that the texts use or that come first to mind."""

    def __init__(self, meanings: Sequence[tuple[str, str, tuple[tuple[str, str], ...], list[str]]]) -> None:
        self.values: dict[str, list[str]] = {slot: [*VALUES.get(slot, ()), *EXTRAS.get(slot, ())] for slot in (*SPOKEN, *EXTRAS)}
        for _, _, key, _ in meanings:
            for slot, value in key:
                if value not in self.values[slot]:
                    self.values[slot].append(value)
        self._texts = _words(" | ".join(text for *_, texts in meanings for text in texts))
        self._phrases: dict[tuple[str, str], list[str]] = {}

    def phrases(self, slot: str, value: str) -> list[str]:
        if (slot, value) not in self._phrases:
            every = list(dict.fromkeys(phrases(slot, value)))
            rest = [phrase for phrase in every[ALWAYS:] if _words(phrase) in self._texts]
            self._phrases[slot, value] = [*every[:ALWAYS], *rest]
        return self._phrases[slot, value]


def _task(split: str, name: str, meaning: Meaning, texts: Sequence[str], lexicon: _Lexicon) -> SourceTask:
    accepted = {slot: lexicon.phrases(slot, value) for slot, value in meaning.items()}
    forbidden = {slot: _unless_said(_forbidden(slot, meaning, lexicon), slot, accepted) for slot in (*SPOKEN, *EXTRAS)}
    reference = {"slots": meaning, "realisations": accepted, "forbidden": {s: found for s, found in forbidden.items() if found}}
    rng = random.Random(f"e2e/{name}")
    goals = tuple(Goal(f"g{n}", slot_text(slot, value), slot, value) for n, (slot, value) in enumerate(meaning.items(), start=1))
    parameters = {slot: _parameter(slot, meaning, lexicon, rng) for slot in (*meaning, *SPOKEN, *EXTRAS)}
    slots = list(meaning)
    task = SourceTask(
        id=f"e2e/{name}",
        family="e2e",
        origin="e2e/" + ", ".join(f"{slot}[{value}]" for slot, value in sorted(meaning.items())),
        license="CC-BY-SA-4.0",
        request=opening(_ASKS, rng),
        goals=goals,
        answer_form="text",
        payload={
            "benchmark_split": split,
            "parameters": parameters,
            "program": {
                "order": list(parameters),
                "sentences": SENTENCES,
                "subject": NAMES["name"],
                "choices": {slot: {value: _spoken(slot, value) for value in VALUES[slot]} for slot in VALUES},
            },
            "reference": {**reference, "references": list(dict.fromkeys(texts))},
            "conclusions": make_conclusions([("headline", f"{{{slots[0]}}}, {slots[-1]} {{{slots[-1]}}}")], slots),
        },
    )
    whole = [text for text in task.payload["reference"]["references"] if grade_text(task, text).full]
    if not whole:
        raise Skip("no text that says every value in words that are known")
    task.payload["reference"]["references"] = whole
    return task


def _parameter(slot: str, meaning: Meaning, lexicon: _Lexicon, rng: random.Random) -> dict[str, Any]:
    known = [value for value in lexicon.values[slot] if value != meaning.get(slot)]
    values = rng.sample(known, min(MOST_VALUES, len(known)))
    return {"type": "string", "values": values, "optional": slot not in meaning, "spoken": list(SPOKEN.get(slot, ()))}


def _spoken(slot: str, value: str) -> str:
    match slot:
        case "family friendliness":
            return "family friendly" if value == "yes" else "not family friendly"
        case "price range":
            return f"price range is {value}" if "£" not in value else f"prices are {value}"
        case "customer rating":
            return f"customer rating is {value}"
    return value


def _forbidden(slot: str, meaning: Meaning, lexicon: _Lexicon) -> list[str]:
    """What would say another value than the task's, or one where the task has none."""
    others = [value for value in lexicon.values[slot] if value != meaning.get(slot)]
    if slot == "type of place" and slot not in meaning:
        others.remove("restaurant")  # what people call a place of no stated kind
    mine = set(map(str.casefold, lexicon.phrases(slot, meaning[slot]))) if slot in meaning else set()
    return [p for p in dict.fromkeys(p for value in others for p in lexicon.phrases(slot, value)) if p.casefold() not in mine]


def _unless_said(found: Sequence[str], slot: str, accepted: Mapping[str, Sequence[str]]) -> list[str]:
    """Without what stands in the words for another attribute ("Indian" in "near Raja Indian Cuisine")."""
    others = _words("\n".join(phrase for other, said in accepted.items() if other != slot for phrase in said))
    return [phrase for phrase in found if _words(phrase) not in others]


@functools.lru_cache(maxsize=65536)
def _words(text: str) -> str:
    found = re.findall(r"\w+", text.casefold())
    return f" {' '.join(found)} "
