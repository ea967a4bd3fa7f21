"""The page of traces in a real browser: what it shows, what it finds, and that no text of a trace becomes a part of it."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote

import pytest

from intentfold.metrics.trace_page import trace_page
from intentfold.records import write_jsonl
from intentfold.trace import Branch, Episode, Stale
from tests.episodes import house, small_house
from tests.pages import Page, in_browser
from tests.tiny import script

EVIL = '</script><script>document.title="broken"</script><img src=x onerror="document.title=1"><b>&amp;</b> "quoted" \u202e'


def evil() -> Episode:
    """An episode all of whose free texts try to be markup."""
    one = house("evil <b>id</b>")
    turns = [replace(turn, user=f"{EVIL} {turn.user}", reply=EVIL, phenomena=("undo",)) for turn in one.turns]
    turns[1] = replace(turns[1], branches=(Branch(EVIL, one.turns[1].edits, ()),))
    return replace(one, turns=tuple(turns), clean=EVIL, stale=(Stale("decoy", EVIL, None, None, True),))


def shown(tmp_path, episodes, fragment: str = "") -> str:
    """The browser's page without what it was made from."""
    path = tmp_path / "traces.html"
    path.write_text(trace_page("Traces <i>", episodes), encoding="utf-8")
    page = in_browser(path, tmp_path / "profile", fragment)
    assert not Page(page).faults
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_a_dialogue_stands_beside_its_states_with_what_went_stale_struck_through(tmp_path) -> None:
    stale = (Stale("variant", "city: Porto", "city", "Porto", True), Stale("decoy", "pool: yes", "pool", "yes", False))
    page = shown(tmp_path, [small_house(), replace(house(), stale=stale)], "#id=house")
    turns = page.split('<div class="turn">')[1:]
    assert len(turns) == 6
    assert "Book me a house. city: Porto. I want a pool." in turns[0]
    assert '<p class="edit">SET city: Porto</p>' in turns[0]
    assert '<li class="new">city: Porto</li>' in turns[0] and "<s>" not in turns[0]
    assert "<s>pool: yes</s>" in turns[1]
    # The city's change takes the conclusion that rested on it.
    assert '<li class="new">city: Lisbon</li>' in turns[3]
    assert {"<s>pool: yes</s>", "<s>city: Porto</s>", "<s>conclusion beds: 3</s>"} <= set(re.findall(r"<s>.*?</s>", turns[3]))
    assert "<td>variant</td><td>city: Porto</td><td>the grader takes full credit away (executed)</td>" in page
    assert "<td>decoy</td><td>pool: yes</td><td>unverified" in page
    assert "Lisbon" in page.split("Reference answer (calls)")[1]
    assert "2 of 2 episodes" in page


@pytest.mark.parametrize(
    ("fragment", "found"),
    [
        ("", ["house", "small", "sql"]),
        ("#family=houses", ["house", "small"]),
        ("#load=1", ["sql"]),
        ("#phenomenon=undo", ["small"]),
        ("#q=SCRATCH+THAT", ["house", "sql"]),
        ("#q=scratch&load=3", ["house"]),
        ("#q=no+such+words", []),
        ("#q=%3C%22a%22%3E", ["small"]),
    ],
)
def test_filters_and_search(tmp_path, fragment, found) -> None:
    small = small_house()
    small = replace(small, turns=(replace(small.turns[0], phenomena=("undo",), reply='Is <"A"> it?'), *small.turns[1:]))
    other = replace(house("sql"), load=1, task=replace(house().task, family="sql"))
    page = shown(tmp_path, [house(), small, other], fragment)
    listed = re.findall(r"<a [^>]*>(\w+) · b=", page.split("<nav", 1)[1].split("</nav>")[0])
    assert listed == found
    assert f"{len(found)} of 3 episodes" in page


def test_nothing_in_a_trace_becomes_markup(tmp_path) -> None:
    page = shown(tmp_path, [evil()], "#id=" + quote("evil <b>id</b>"))
    assert "<title>Traces &lt;i&gt;</title>" in page
    assert page.count("&lt;/script&gt;&lt;script&gt;") >= 14  # user and agent of six turns, branch, stale item, clean request
    tags = Page(page).tags
    assert "img" not in tags and tags.count("script") == 0
    assert "\\u202e" in page and "\u202e" not in page


def test_thousands_are_listed_a_page_at_a_time_and_any_is_opened(tmp_path) -> None:
    one = house()
    many = [replace(one, id=f"e{n}") for n in range(3000)]
    page = shown(tmp_path, many, "#id=e2999")
    assert "3000 of 3000 episodes" in page
    assert page.count(" · b=3") == 200 and "show more" in page
    assert "<h2>e2999</h2>" in page and page.count('class="turn"') == 6


def test_the_page_of_a_build(tmp_path) -> None:
    for split, names in (("train", ("a", "b", "c")), ("test", ("d",))):
        write_jsonl(tmp_path / f"{split}.jsonl", [house(name) for name in names])
    view = script("data_gen/view_traces.py")
    view.main(["--build", str(tmp_path)])
    text = (tmp_path / "traces.html").read_text()
    assert "4 episodes" in text and all(f'"id":"{name}"' in text for name in "abcd")
    view.main(["--build", str(tmp_path), "--most", "2", "--splits", "[train]", "--page", str(tmp_path / "two.html")])
    text = (tmp_path / "two.html").read_text()
    assert "2 of 3 episodes" in text and text.count('"id":"') == 2
    view.main(["--build", str(tmp_path), "--splits", "[test]", "--page", str(tmp_path / "two.html")])
    assert "1 episodes" in (tmp_path / "two.html").read_text()
    with pytest.raises(SystemExit, match="no episodes"):
        view.main(["--build", str(tmp_path / "none")])


def test_the_page_takes_no_other_files_place(tmp_path, capsys) -> None:
    write_jsonl(tmp_path / "train.jsonl", [house("a")])
    before = (tmp_path / "train.jsonl").read_bytes()
    with pytest.raises(SystemExit):
        script("data_gen/view_traces.py").main(["--build", str(tmp_path), "--page", str(tmp_path / "train.jsonl")])
    assert "page: expected a file that ends in .html" in capsys.readouterr().err
    assert (tmp_path / "train.jsonl").read_bytes() == before
