"""Output conventions: how they are said, kept, changed and withdrawn; the gate and its one repair."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentfold.dialogue import Turn
from intentfold.intent import IntentItem
from intentfold.runtime.conventions import RULES, Convention, clauses, convention_in, conventions_of
from intentfold.runtime.format_tracker import FormatTracker
from intentfold.runtime.gate import answer_through_gate, mend, violations
from intentfold.runtime.roles import View
from intentfold.runtime.scripted import ExecutorAgent
from tests.episodes import house, table_task

ARGUMENTS = {"length": "4", "fence": "sql"}


def convention(text: str) -> Convention:
    found = convention_in(text)
    assert found is not None
    return found


def formats(*texts: str) -> tuple[IntentItem, ...]:
    return tuple(IntentItem(id, text, "format") for id, text in enumerate(texts, start=1))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
def test_a_convention_reads_back_from_its_own_words(rule) -> None:
    said = Convention(rule, ARGUMENTS.get(rule.group, ""))
    assert convention_in(said.text) == said


SAID = [
    ("answer with SQL only", "answer with SQL only"),
    ("Just the SQL, please", "answer with SQL only"),
    ("write the calls as a JSON list", "answer with JSON only"),
    ("reply in valid JSON, and nothing else", "answer with JSON only"),
    ("answer with the number only", "answer with the number only"),
    ("give me just the number", "answer with the number only"),
    ("answer with the function only", "answer with code only"),
    ("keep it to at most 25 words", "answer in at most 25 words"),
    ("Answer in all caps", "answer in upper case"),
    ("put everything on one line", "answer on one line"),
    ("in a fenced python block", "answer in a fenced python block"),
    ("in a fenced code block", "answer in a fenced block"),
    ("no bullet points", "answer without bullet points"),
    ("write a function that prints numbers on one line", None),
    ("letter case: upper case", None),
    ("a pool and at most 4 guests", None),
    ("I no longer want JSON only", None),
]


@pytest.mark.parametrize(("clause", "text"), SAID)
def test_phrases(clause, text) -> None:
    found = [c.text for part in clauses(clause) if (c := convention_in(part)) is not None]
    assert found == ([] if text is None else [text])


def test_setting_changing_and_withdrawing() -> None:
    tracker = FormatTracker()
    story = [
        ("Book a table for two. Answer with JSON only.", ["answer with JSON only"]),
        ("Keep it to at most 25 words, just the number please.", ["answer with the number only", "answer in at most 25 words"]),
        ("Make that at most 9 words.", ["answer with the number only", "answer in at most 25 words"]),
        ("Keep it within 9 words.", ["answer with the number only", "answer in at most 9 words"]),
        ("Drop the word limit but answer in lower case.", ["answer with the number only", "answer in lower case"]),
        ("Lower case doesn't matter any more. It need not be the number only.", []),
        ("No need for JSON.", []),
    ]
    for turn, expected in story:
        assert sorted(item.text for item in tracker.fold(turn).items) == sorted(expected), turn
    assert all(item.kind == "format" for item in tracker.state.items)


KEEPS = [
    ("answer with JSON only", '[{"name": "f"}]', 'Sure: {"name": "f"}'),
    ("answer with SQL only", "SELECT a FROM t WHERE b = 'x'", "Here is the query: SELECT a FROM t"),
    ("answer with the number only", "-1,234.5", "It is 12 apples"),
    ("answer with code only", "def f(x):\n    return x", "Sure"),
    ("answer without bullet points", "a - b", "- a\n- b"),
    ("answer without headings", "a # b", "# Title\na"),
    ("answer in upper case", "AB 1", "Ab"),
    ("answer in lower case", "ab 1", "Ab"),
    ("answer in at most 2 words", "a b", "a b c"),
    ("answer in one paragraph", "a\nb", "a\n\nb"),
    ("answer on one line", "a b", "a\nb"),
    ("answer in a fenced block", "```\na\n```", "a"),
    ("answer in a fenced sql block", "```sql\na\n```", "```\na\n```"),
]


@pytest.mark.parametrize(("text", "good", "bad"), KEEPS)
def test_what_keeps_and_what_breaks_a_convention(text, good, bad) -> None:
    assert violations(good, formats(text)) == ()
    assert violations(bad, formats(text)) == (text,)
    assert violations(bad, (IntentItem(1, text, "goal"),)) == ()


def test_a_fence_is_looked_into() -> None:
    both = formats("answer with SQL only", "answer in a fenced sql block")
    assert violations("```sql\nSELECT 1\n```", both) == ()
    assert violations("```sql\nIt is this one\n```", both) == ("answer with SQL only",)
    assert mend("SELECT 1", both) == "```sql\nSELECT 1\n```"
    assert mend("```sql\nSELECT 1\n```", both) == "```sql\nSELECT 1\n```"


@given(st.text(max_size=60), st.sets(st.sampled_from([row[0] for row in KEEPS])))
def test_checks_are_total_and_mending_a_kept_form_changes_nothing(answer, texts) -> None:
    items = formats(*texts)
    if not violations(answer, items) and not any(c.rule.group == "fence" for c in conventions_of(items)):
        assert mend(answer, items) == answer


class Stubborn:
    """Answers from a list and remembers what it was shown."""

    name = "stubborn"

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.seen: list[View] = []

    def answer(self, views):
        self.seen += views
        return [self.answers.pop(0) for _ in views]


def test_the_gate_asks_once_more_and_no_more() -> None:
    view = View((Turn("user", "How many?"),), formats("answer with the number only"))
    for repair, left in (("12", ()), ("about 12", ("answer with the number only",))):
        agent = Stubborn("It is 12.", repair)
        [gated] = answer_through_gate(agent, [view])
        assert (gated.answer, gated.broken, gated.left) == (repair, ("answer with the number only",), left)
        assert [(v.draft, v.violations) for v in agent.seen] == [("", ()), ("It is 12.", ("answer with the number only",))]


def test_only_faulty_answers_are_repaired() -> None:
    view = View((Turn("user", "How many?"),), formats("answer with the number only"))
    agent = Stubborn("12", "twelve", "no conventions here", "13")
    gated = answer_through_gate(agent, [view, view, View(view.dialogue, None)])
    assert [g.answer for g in gated] == ["12", "13", "no conventions here"]
    assert len(agent.seen) == 4


def test_the_executor_mends_by_rule() -> None:
    items = (*house().final_state.items, *formats("answer in a fenced json block"))
    [gated] = answer_through_gate(ExecutorAgent(), [View((), items, table_task())])
    assert gated.broken == ("answer in a fenced json block",)
    assert gated.left == ()
    assert gated.answer.startswith("```json\n[{")
    with pytest.raises(ValueError, match="needs a task and items"):
        ExecutorAgent().answer([View((), items)])
