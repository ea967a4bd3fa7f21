"""The wording banks: well-formed, of the same acts, and with no wording shared between them."""

import itertools
import re
from collections import Counter
from importlib import resources

import pytest
import yaml

BANKS = ("train", "dev", "test")

# act -> (its placeholders, the least number of templates in train); dev and test need a quarter of that
ACTS: dict[str, tuple[tuple[str, ...], int]] = {
    "add": (("slot", "value"), 70),
    "add_answer": (("value",), 35),
    "add_for": (("slot", "value", "scope"), 20),
    "add_text": (("text",), 20),
    "add_must": (("slot", "value"), 15),
    "add_preferred": (("slot", "value"), 15),
    "add_optional": (("slot", "value"), 15),
    "replace_slot": (("slot", "value"), 60),
    "replace_old": (("old", "value"), 40),
    "replace_both": (("slot", "old", "value"), 40),
    "replace_last": (("value",), 35),
    "replace_ordinal": (("ordinal", "value"), 20),
    "replace_text": (("old", "value"), 20),
    "undo": ((), 35),
    "delete_slot": (("slot",), 60),
    "delete_value": (("value",), 35),
    "delete_ordinal": (("ordinal",), 20),
    "delete_text": (("text",), 20),
    "back_slot": (("slot",), 30),
    "back_value": (("value",), 25),
    "readd": (("slot",), 35),
    "must": (("slot",), 25),
    "preferred": (("slot",), 25),
    "optional": (("slot",), 25),
    "chat": ((), 80),
    "mention": (("value",), 40),
    "confirm": (("slot", "value"), 30),
    "confirm_all": ((), 25),
    "ask_status": ((), 15),
    "final": ((), 35),
    "format": (("text",), 15),
    "opener": ((), 35),
    "opener_change": ((), 30),
    "closer": ((), 20),
    "joiner": ((), 15),
    "agent_ack": ((), 25),
    "agent_ask": (("slot",), 25),
    "agent_recap": (("list",), 25),
    "agent_conclude": (("slot", "value", "basis"), 25),
    "agent_chat": ((), 25),
}
QUESTIONS = {"chat", "mention", "ask_status"}  # the user clauses that may end in "?"
FRAGMENTS = {"opener", "opener_change", "closer", "joiner"}


def load(bank: str) -> dict[str, list[str]]:
    path = resources.files("intentfold.construct").joinpath("wording", f"{bank}.yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def expand(template: str) -> list[str]:
    """Every wording that a template's (a|b|) alternations stand for."""
    parts = re.split(r"\(([^()]*)\)", template)  # plain, alternatives, plain, …
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def normal(wording: str) -> str:
    """Case, punctuation and spaces gone; {slot} reads "slot" whatever fills it."""
    return " ".join(re.findall(r"[\w'=>]+", wording.lower()))


def key(act: str, wording: str) -> str:
    """What two banks must not share: joiners are told apart by their punctuation alone."""
    return wording if act == "joiner" else normal(wording)


@pytest.fixture(scope="module")
def banks() -> dict[str, dict[str, list[str]]]:
    return {bank: load(bank) for bank in BANKS}


@pytest.mark.parametrize("bank", BANKS)
def test_a_bank_has_exactly_the_known_acts_in_good_number(banks, bank):
    assert set(banks[bank]) == set(ACTS)
    share = 1 if bank == "train" else 4
    short = {act: (len(banks[bank][act]), least) for act, (_, least) in ACTS.items() if len(banks[bank][act]) * share < least}
    assert not short


@pytest.mark.parametrize("bank", BANKS)
@pytest.mark.parametrize("act", ACTS)
def test_templates_are_well_formed(banks, bank, act):
    wanted = Counter(ACTS[act][0])
    for template in banks[bank][act]:
        assert isinstance(template, str) and template, (act, template)
        assert not re.search(r"\([^()]*\(|\)[^()]*\)|^[^(]*\)|\([^)]*$", template), f"parentheses: {template!r}"
        assert "|" not in re.sub(r"\([^()]*\)", "", template), f"a | outside parentheses: {template!r}"
        for wording in expand(template):
            assert Counter(re.findall(r"\{(\w+)\}", wording)) == wanted, f"{act}: {wording!r}"
            assert not re.search(r"[{}]", re.sub(r"\{\w+\}", "", wording)), f"stray brace: {wording!r}"
            if act == "joiner":
                continue
            assert wording == " ".join(wording.split()), f"spaces: {wording!r}"
            assert not re.search(r" [,;:.?!]", wording), f"a space before punctuation: {wording!r}"
            assert not wording[0].isupper() or re.match(r"I\b|FYI\b", wording), f"starts upper-case: {wording!r}"
            if act.startswith("agent_"):
                assert wording[-1] in ".?!", f"an agent's sentence is whole: {wording!r}"
            elif act not in FRAGMENTS:
                ends = ".!,;:" if act in QUESTIONS else ".!?,;:"
                assert wording[-1] not in ends, f"a clause carries no final punctuation: {wording!r}"


@pytest.mark.parametrize("bank", BANKS)
def test_a_wording_stands_once_and_for_one_act(banks, bank):
    """Twice in an act is waste; in two acts nobody could tell which edit is meant."""
    meant: dict[str, str] = {}
    for act, templates in banks[bank].items():
        wordings = list(itertools.chain.from_iterable(map(expand, templates)))
        assert not [w for w, n in Counter(wordings).items() if n > 1], act
        if act in FRAGMENTS or act.startswith("agent_"):
            continue
        for wording in wordings:
            assert meant.setdefault(normal(wording), act) == act, f"{wording!r}: {act} or {meant[normal(wording)]}"


@pytest.mark.parametrize("one, other", list(itertools.combinations(BANKS, 2)))
def test_banks_share_no_wording(banks, one, other):
    """Not even across acts, so that no wording is learned in one bank and met in another."""

    def wordings(bank: str) -> dict[str, str]:
        return {
            key(act, wording): f"{act}: {template!r}"
            for act, templates in banks[bank].items()
            for template in templates
            for wording in expand(template)
        }

    left, right = wordings(one), wordings(other)
    assert not [(left[k], right[k]) for k in left.keys() & right.keys()]


def test_expand_takes_every_combination():
    assert expand("(please |)set the {slot} to (a|b)") == [
        "please set the {slot} to a",
        "please set the {slot} to b",
        "set the {slot} to a",
        "set the {slot} to b",
    ]
    assert expand("plain") == ["plain"]
