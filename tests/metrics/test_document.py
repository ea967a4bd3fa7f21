"""Reports that show hostile text as it is, and run none of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from intentfold.metrics.document import Figure, Heading, Links, Pair, Table, Text, to_html, to_markdown, visible
from intentfold.metrics.svg import Band, Bar, intervals
from tests.pages import Page, check_page, in_browser

HOSTILE = [
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=1">',
    "</pre></table></body><h1>owned</h1>",
    "| a | b |\n|---|---|",
    "[click](javascript:alert(1)) ![x](http://example.test/x.png)",
    "a\x00b\x1b[31mc\u202eabc\u2066x\ud800",
    "]]>&lt;script&gt;",
    "# heading\n- item\n```\ncode",
]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data) -> None:
        self.text.append(data)


def blocks(text: str):
    bars = [Bar(text, 0.5, 0.2, 0.9, True)]
    return [
        Heading(text, 1),
        Text(text),
        Table((text, "b"), ((text, text),)),
        Table(("a",), ((text,),), text),
        Pair((text, text), (text, text)),
        Figure(intervals(bars, text, Band(text, 0.5, 0.4, 0.6)), text),
        Links(("results.json",)),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_tag_and_stays_readable(text) -> None:
    parser, plain = Tags(), Tags()
    parser.feed(to_html(text, blocks(text)))
    plain.feed(to_html("x", blocks("x")))
    # As many tags as harmless text of as many lines: a line break in a cell is one.
    tags = [tag for tag, _ in parser.tags if tag != "br"]
    assert tags == [tag for tag, _ in plain.tags]
    assert all(not name.startswith("on") for _, attributes in parser.tags for name in attributes)
    assert visible(text).splitlines()[0] in "".join(parser.text)
    to_html(text, blocks(text)).encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_tables_keep_their_shape_and_hold_no_markup(text) -> None:
    shown = to_markdown(blocks(text))
    shown.encode("utf-8")
    for line in shown.splitlines():
        bare = re.sub(r"\\.", "", line).replace("<br>", "")
        assert "<" not in bare
        assert "](" not in bare.replace("[results.json](results.json)", "") or bare == "- [results.json](results.json)"
        assert bare.count("|") in (0, 2, 3, 4)


def test_unseen_characters_are_spelled_out() -> None:
    assert visible("a\x00b\u202ec\nd\te") == "a\\u0000b\\u202ec\nd\te"


def test_a_page_asks_for_nothing() -> None:
    page = to_html("t", blocks("x"))
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"(?!results\.json)", page)


def test_a_plot_is_drawn_to_scale() -> None:
    svg = intervals([Bar("a", 0.5, 0.0, 1.0), Bar("b", 1.0, 1.0, 1.0)], "score")
    assert 'cx="435.0"' in svg  # halfway between 220 and 650
    assert 'cx="650.0"' in svg
    assert 'x1="220.0"' in svg


def test_the_page_in_a_browser(tmp_path) -> None:
    page = tmp_path / "report.html"
    page.write_text(to_html("the title", [block for text in HOSTILE for block in blocks(text)]), encoding="utf-8")
    shown = in_browser(page, tmp_path / "profile")
    parser = Tags()
    parser.feed(shown)
    tags = [tag for tag, _ in parser.tags]
    assert "<title>the title</title>" in shown
    assert "script" not in tags
    assert "img" not in tags
    assert tags.count("h1") == len(HOSTILE)
    assert tags.count("svg") == len(HOSTILE)


def test_every_cell_is_shown_and_a_quote_ends_no_attribute() -> None:
    shown = to_html("t", [Table(("a", "b"), (("one", "two"), ("three", "four\nfive"))), Links(('a" onclick="x.json',))])
    assert "<tr><td>one</td><td>two</td></tr>\n<tr><td>three</td><td>four<br>five</td></tr>" in shown
    parser = Tags()
    parser.feed(shown)
    assert [attributes for tag, attributes in parser.tags if tag == "a"] == [{"href": 'a" onclick="x.json'}]


FAULTY = [
    ("<p>a<b>c</p>", "</p> at"),
    ("<p>a", "<p> is not closed"),
    ('<p onclick="x()">a</p>', "handler onclick"),
    ("<style>p { background: url(http://x/y.png) }</style>", "a style loads something"),
]


@pytest.mark.parametrize(("text", "fault"), FAULTY)
def test_a_page_that_is_not_whole_is_found_out(text, fault) -> None:
    assert any(fault in found for found in Page(text).faults)


LEADING = [
    '<img src="x.png">', '<a href="https://example.test/">x</a>', '<a href="missing.json">x</a>', '<a href="#nowhere">x</a>',
    "<script>1</script>", '<link rel="stylesheet" href="x.css">',
]  # fmt: skip


@pytest.mark.parametrize("text", LEADING)
def test_a_page_that_needs_something_else_is_found_out(text, tmp_path) -> None:
    (tmp_path / "report.html").write_text(text)
    with pytest.raises(AssertionError):
        check_page(tmp_path / "report.html")


def test_whatever_its_texts_say_a_page_is_whole(tmp_path) -> None:
    (tmp_path / "results.json").touch()
    (tmp_path / "report.html").write_text(to_html("t", [block for text in HOSTILE for block in blocks(text)]), encoding="utf-8")
    assert check_page(tmp_path / "report.html").tags.count("svg") == len(HOSTILE)
