"""Data to text: attributes of a thing in plain sentences; what a decoy adds must not be said."""

from __future__ import annotations

import random

from intentfold.records import content_hash
from intentfold.sources.builtin.common import LICENSE, Setting, draw_setting, make_conclusions, make_goals, opening, parameters
from intentfold.sources.builtin.text_entities import ENTITIES, Attribute
from intentfold.task import SourceTask

MOST_STATED, MOST_DECOYS = 5, 7


def task(index: int, seed: int) -> SourceTask:
    """The task of that index: the same for the same seed, always."""
    rng = random.Random(f"text-{seed}-{index}")
    entity = rng.choice(ENTITIES)
    name, *others = entity.attributes
    chosen = rng.sample(others, rng.randint(2, MOST_STATED - 1))
    stated = [name, *(attribute for attribute in others if attribute in chosen)]
    settings = [draw_setting(a.slot, a.kind, rng) for a in stated]
    sentences = {a.slot: rng.choice(a.sentences) for a in stated}
    subject = settings[0].value
    said = " ".join(sentences[s.slot].replace("{subject}", subject).replace("{value}", s.value) for s in settings)
    decoys = [a for a in rng.sample(others, len(others)) if a not in chosen and _separate(a, said)][:MOST_DECOYS]
    optional = [draw_setting(a.slot, a.kind, rng) for a in decoys]
    sentences |= {a.slot: rng.choice(a.sentences) for a in decoys}
    detail = rng.choice(settings[1:]).slot
    return SourceTask(
        id=f"text-{seed}-{index}",
        family="text",
        origin=f"text:{content_hash(said)}",
        license=LICENSE,
        request=opening(entity.asks, rng),
        goals=make_goals(settings, "text", rng),
        answer_form="text",
        payload={
            "parameters": parameters(settings, optional),
            "program": {"order": list(sentences), "sentences": sentences, "subject": name.slot},
            "reference": {
                "slots": {s.slot: s.value for s in settings},
                "realisations": {a.slot: _phrases(a, s) for a, s in zip(stated, settings, strict=True)},
                "forbidden": {a.slot: list(a.cues) for a in decoys},
                "references": [said],
            },
            "conclusions": make_conclusions([("headline", f"{{{name.slot}}} with {detail} {{{detail}}}")], sentences),
        },
    )


def _separate(attribute: Attribute, said: str) -> bool:
    """Whether a decoy's cue is no part of what the goals say (two amounts in euros can't be told apart)."""
    return not any(cue in said.casefold() for cue in attribute.cues)


def _phrases(attribute: Attribute, setting: Setting) -> list[str]:
    return [phrase.replace("{value}", setting.value) for phrase in attribute.phrases]
