"""A report as a browser would see it, by a real HTML parser: whole, and in need of nothing outside its folder."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# Attributes by which a page loads, or leads to, something.
LOADS = {"src", "srcset", "href", "xlink:href", "data", "poster", "action", "formaction", "background"}


class Page(HTMLParser):
    """Open elements, ids and references of a page; `faults` says what is not well-formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.references: list[tuple[str, str, str]] = []
        self.faults: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        names = [name for name, _ in attrs]
        self.faults += [f"<{tag}> has {name} twice" for name in set(names) if names.count(name) > 1]
        self.faults += [f"<{tag}> has the handler {name}" for name in names if name.startswith("on")]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.references += [(tag, name, value or "") for name, value in attrs if name in LOADS]
        self.faults += [f"<{tag} style> loads {value}" for name, value in attrs if name == "style" and "url(" in (value or "")]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()} closes what is not open")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style" and ("url(" in data or "@import" in data):
            self.faults.append(f"a style loads something: {data[:80]}")


def check_page(path: Path) -> Page:
    """The page, which must be well-formed, load nothing, and lead only to places and files that are there."""
    page = Page(path.read_text(encoding="utf-8"))
    assert not page.faults, page.faults
    assert len(set(page.ids)) == len(page.ids)
    assert not {"script", "iframe", "object", "embed", "link", "base", "form"} & set(page.tags)
    for tag, name, value in page.references:
        parts = urlsplit(value)
        assert tag == "a", f"<{tag} {name}={value!r}> loads something"
        assert not parts.scheme and not parts.netloc, f"<{tag} {name}={value!r}> leads out"
        if parts.path:
            assert (path.parent / unquote(parts.path)).is_file(), f"{value!r} is not there"
        if parts.fragment and not parts.path:
            assert parts.fragment in page.ids, f"no place {value!r}"
    return page


def in_browser(path: Path, profile: Path, fragment: str = "") -> str:
    """The page, at a place in it, as a headless browser holds it after a while; the test is skipped without a Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", "--disable-quic", f"--user-data-dir={profile}"]
    return subprocess.run(
        [chromium, *flags, "--virtual-time-budget=2000", "--dump-dom", path.as_uri() + fragment],
        capture_output=True, text=True, timeout=240, check=True,
    ).stdout  # fmt: skip
