"""Shares and agreement of audits, against numbers worked by hand; the page on which people judge, in a real browser."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

from intentfold.dialogue import Turn
from intentfold.metrics.audit import Assessed, agreement, pass_shares, read_judgements
from intentfold.metrics.audit_page import Case, audit_page
from intentfold.records import RecordError
from tests.pages import Page, in_browser

OURS = [Assessed("a:0", True, True), Assessed("a:1", True, False), Assessed("b:0", False, None), Assessed("c:0", True, True)]
THEIRS = [Assessed("a:0", True, True), Assessed("a:1", False, False), Assessed("b:0", False, True), Assessed("d:0", True, True)]
CLUSTERS = {"a:0": "a", "a:1": "a", "b:0": "b", "c:0": "c"}


def test_what_was_not_assessed_has_not_passed() -> None:
    found = pass_shares(OURS, [CLUSTERS[one.id] for one in OURS])
    assert found["fidelity"]["passed"].mean == 3 / 4
    assert (found["coherence"]["passed"].mean, found["coherence"]["assessed"]) == (2 / 4, 3)
    assert found["coherence"]["passed"].clusters == 3
    assert found["coherence"]["passed"].low < 0.5 < found["coherence"]["passed"].high


def test_agreement_is_over_what_both_judged() -> None:
    found = agreement(OURS, THEIRS, CLUSTERS)
    # Fidelity: (yes, yes), (yes, no), (no, no): 2/3 the same; chance 2/3 · 1/3 + 1/3 · 2/3 = 4/9.
    assert found["fidelity"].same is not None
    assert found["fidelity"].same.mean == pytest.approx(2 / 3)
    assert found["fidelity"].kappa == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    # Coherence: (yes, yes), (no, no); b:0 has one verdict alone.
    assert found["coherence"].same is not None
    assert (found["coherence"].same.n, found["coherence"].kappa) == (2, 1.0)
    assert agreement(OURS, [], CLUSTERS)["fidelity"].same is None
    alike = agreement(OURS[:1], OURS[:1], CLUSTERS)["fidelity"]
    assert alike.kappa is None


def saved(path: Path, **other: object) -> Path:
    one = {"id": "a:0", "fidelity": True, "coherence": None, "note": ""}
    path.write_text(json.dumps({"version": 1, "sample": "s", "judge": "me", "judgements": [one], **other}))
    return path


def test_a_file_of_another_sample_or_of_no_known_turn_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.json"
    assert read_judgements(saved(path), "s", ["a:0"]).judgements == (Assessed("a:0", True, None),)
    with pytest.raises(RecordError, match=r"j\.json: expected version 1, sample t, got 1, 's'"):
        read_judgements(saved(path), "t", ["a:0"])
    with pytest.raises(RecordError, match="must stand in the sample, and once"):
        read_judgements(saved(path), "s", ["b:0"])
    with pytest.raises(RecordError, match=r"j\.json: .*field judgements\.0\.fidelity"):
        read_judgements(saved(path, judgements=[{"id": "a:0", "fidelity": "yes", "coherence": True}]), "s", ["a:0"])


CASES = [
    Case("a:0", (Turn("user", "Porto </script><b>& now"),), "empty", "SET city: Porto"),
    Case('b "1":2', (Turn("user", "Hi."), Turn("assistant", "Yes?"), Turn("user", "Faro.")), "city: Porto", "SET city: Faro"),
]


def test_the_page_is_whole_and_escapes_what_it_shows(tmp_path: Path) -> None:
    text = audit_page("s1", CASES)
    page = Page(text)
    assert page.faults == []
    assert "</script><b>" not in text.split("<script>")[0]
    assert "Porto &lt;/script&gt;&lt;b&gt;&amp; now" in text
    assert text.count("<script>") == 1
    assert re.search(r"default-src .none.", html.unescape(text))


# Judges like a person: a click on each answer, then what would be saved is put where the browser's dump shows it.
CLICKS = """<script>
document.getElementById("judge").value = "me";
const click = (id, aspect, answer) => [...document.querySelectorAll("input")]
  .filter(input => input.name === id + " " + aspect && input.value === answer)[0].click();
click("a:0", "fidelity", "yes"); click("a:0", "coherence", "no"); click('b "1":2', "fidelity", "no");
document.querySelector("textarea").value = "odd";
let blob = null;
URL.createObjectURL = made => { blob = made; return "blob:made"; };
document.getElementById("save").click();
blob.text().then(text => { const out = document.createElement("pre"); out.id = "out"; out.textContent = text;
  document.body.append(out); });
</script></body>"""


def test_a_browser_saves_what_was_judged(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(audit_page("s1", CASES).replace("</body>", CLICKS), encoding="utf-8")
    shown = in_browser(path, tmp_path / "profile")
    assert "1 of 2 judged" in shown
    match = re.search(r'<pre id="out">(.*?)</pre>', shown, re.DOTALL)
    assert match is not None
    (tmp_path / "saved.json").write_text(html.unescape(match[1]), encoding="utf-8")
    found = read_judgements(tmp_path / "saved.json", "s1", [case.id for case in CASES])
    assert found.judge == "me"
    assert found.judgements == (Assessed("a:0", True, False, "odd"), Assessed('b "1":2', False, None))
