"""Traces to look at: one page for a build, opened without a server, that shows any of thousands of episodes when asked for it.

The episodes stand in the page as JSON lines, of which the script reads one at a time, and puts texts in as text alone: nothing
that a trace says can become markup. What is shown is a part of the address, so that a link leads to it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from intentfold.codec.edits import encode_edits
from intentfold.codec.state import item_line
from intentfold.graders import GoldError, reference_answer
from intentfold.intent import IntentState
from intentfold.metrics.document import escaped, visible
from intentfold.records import canonical_json
from intentfold.trace import Episode

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; color: #1c1c1c; }
header { padding: .5rem 1rem; background: #f2f2f2; border-bottom: 1px solid #ccc; } h1 { font-size: 1.1rem; margin: 0 0 .3rem; }
main { display: grid; grid-template-columns: 19rem 1fr; } nav { border-right: 1px solid #ccc; height: 85vh; overflow: auto; }
nav a { display: block; padding: .2rem .6rem; color: inherit; overflow-wrap: anywhere; } nav a.shown { background: #dbe9f9; }
article { padding: 0 1rem 3rem; height: 85vh; overflow: auto; } label { margin-right: .8rem; }
.turn { display: grid; grid-template-columns: 3fr 2fr; gap: 1rem; border-top: 1px solid #ccc; padding: .5rem 0; }
.turn p { margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere; } .edit { font-family: monospace; color: #0a5; }
ul { margin: .2rem 0; padding-left: 1.2rem; overflow-wrap: anywhere; } .new { background: #e3f6e3; } s { color: #a33; }
table { border-collapse: collapse; } th, td { border: 1px solid #ccc; padding: .1rem .5rem; text-align: left; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f7f7f7; padding: .4rem; } .quiet { color: #666; }
"""
_SCRIPT = """
"use strict";
const PAGE = 200, FIELDS = ["family", "load", "split", "phenomenon"];
const byId = id => document.getElementById(id);
const index = JSON.parse(byId("index").textContent), lines = byId("episodes").textContent.trim().split("\\n");
let most = PAGE;
const el = (tag, text, kind) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  return node;
};
const asked = () => new URLSearchParams(location.hash.slice(1));
const to = changes => {
  const params = asked();
  for (const [name, value] of Object.entries(changes)) value ? params.set(name, value) : params.delete(name);
  return "#" + params;
};
const values = (one, field) => field === "phenomenon" ? one.phenomena : [String(one[field])];
// Words as they stand in the lines, which are JSON without `<`.
const written = words => JSON.stringify(words.toLowerCase()).slice(1, -1).replaceAll("<", "\\\\u003c");
const fits = (one, place, params) =>
  FIELDS.every(field => !params.get(field) || values(one, field).includes(params.get(field)))
  && (!params.get("q") || lines[place].toLowerCase().includes(written(params.get("q"))));
const list = params => {
  const nav = byId("list"), found = [];
  index.forEach((one, place) => { if (fits(one, place, params)) found.push(one); });
  nav.replaceChildren(...found.slice(0, most).map(one => {
    const link = el("a", one.id + " · b=" + one.load + " · " + one.turns + " turns", one.id === params.get("id") ? "shown" : "");
    link.href = to({id: one.id});
    return link;
  }));
  if (found.length > most) {
    const more = el("button", "show more");
    more.addEventListener("click", () => { most += PAGE; list(asked()); });
    nav.append(more);
  }
  byId("count").textContent = found.length + " of " + index.length + " episodes";
};
const items = (one, turn) => {
  const ul = el("ul");
  turn.active.forEach(n => ul.append(el("li", one.texts[n], turn.added.includes(n) ? "new" : "")));
  turn.stale.forEach(n => { const li = el("li"); li.append(el("s", one.texts[n])); ul.append(li); });
  return ul;
};
const said = (who, text) => { const p = el("p"); p.append(el("b", who + ": "), text); return p; };
const step = (one, turn, number) => {
  const row = el("div", undefined, "turn"), left = el("div"), right = el("div");
  left.append(said("User " + number, turn.user));
  turn.edits.forEach(edit => left.append(el("p", edit, "edit")));
  if (turn.phenomena.length) left.append(el("p", turn.phenomena.join(", "), "quiet"));
  if (turn.reply) left.append(said("Agent", turn.reply));
  if (turn.branches.length) {
    const more = el("details");
    more.append(el("summary", turn.branches.length + " other turns from here"));
    for (const [user, edits] of turn.branches) more.append(said("User", user), ...edits.map(edit => el("p", edit, "edit")));
    left.append(more);
  }
  right.append(el("b", "State"), items(one, turn));
  row.append(left, right);
  return row;
};
const consequences = one => {
  const table = el("table"), head = el("tr");
  ["what goes stale", "item", "if it is obeyed all the same"].forEach(name => head.append(el("th", name)));
  table.append(head);
  for (const [kind, text, verified] of one.stale) {
    const row = el("tr");
    row.append(el("td", kind), el("td", text),
      el("td", verified ? "the grader takes full credit away (executed)" : "unverified: only a judge could tell"));
    table.append(row);
  }
  return one.stale.length ? table : el("p", "No variant and no decoy.");
};
const show = id => {
  const article = byId("episode"), place = index.findIndex(one => one.id === id);
  if (place < 0) return article.replaceChildren(el("p", id ? "No episode " + id : "Choose an episode."));
  const one = JSON.parse(lines[place]), known = index[place];
  article.replaceChildren(
    el("h2", id), el("p", known.family + ", b = " + known.load + ", " + known.split + ", origin " + one.origin, "quiet"),
    ...one.turns.map((turn, n) => step(one, turn, n + 1)), el("h3", "Grader's consequence"), consequences(one),
    el("h3", "Reference answer (" + one.form + ")"), el("pre", one.reference),
    el("h3", "The same in one request"), el("pre", one.clean));
  article.scrollTop = 0;
};
const refresh = () => {
  const params = asked();
  for (const name of [...FIELDS, "q"]) byId(name).value = params.get(name) || "";
  list(params);
  show(params.get("id"));
};
for (const name of FIELDS) {
  const known = new Set(index.flatMap(one => values(one, name)));
  byId(name).append(new Option("all", ""), ...[...known].sort().map(value => new Option(value, value)));
}
for (const name of [...FIELDS, "q"]) byId(name).addEventListener(name === "q" ? "input" : "change", event => {
  most = PAGE;
  history.replaceState(null, "", to({[name]: event.target.value}));
  list(asked());
});
window.addEventListener("hashchange", refresh);
refresh();
"""


def trace_page(title: str, episodes: Sequence[Episode]) -> str:
    """The page of these episodes; it runs its own script alone and loads nothing."""
    policy = f"default-src 'none'; style-src '{_digest(_STYLE)}'; script-src '{_digest(_SCRIPT)}'"
    choices = "".join(
        f'<label>{name} <select id="{name}"></select></label>\n' for name in ("family", "load", "split", "phenomenon")
    )
    index = [_entry(episode) for episode in episodes]
    lines = "\n".join(_embedded(_episode(episode)) for episode in episodes)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>{escaped(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<header><h1>{escaped(title)}</h1>\n{choices}"
        f'<label>words <input id="q" type="search"></label> <span id="count"></span></header>\n'
        f'<main><nav id="list"></nav><article id="episode"></article></main>\n'
        f'<script type="application/json" id="index">{_embedded(index)}</script>\n'
        f'<script type="text/plain" id="episodes">\n{lines}\n</script>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n'
    )


def _digest(inline: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def _embedded(data: Any) -> str:
    """JSON on one line that nothing in it can end: `<` stands only inside strings."""
    return canonical_json(data).replace("<", "\\u003c")


def _entry(episode: Episode) -> dict[str, Any]:
    """What the list and its filters know of an episode."""
    phenomena = sorted({one for turn in episode.turns for one in turn.phenomena})
    return {
        "id": visible(episode.id),
        "family": visible(episode.task.family),
        "load": episode.load,
        "split": episode.split,
        "turns": len(episode.turns),
        "phenomena": [visible(one) for one in phenomena],
    }


def _episode(episode: Episode) -> dict[str, Any]:
    """What is shown of an episode; items by their place in `texts`."""
    places: dict[str, int] = {}
    stale: dict[int, None] = {}
    shown_before: list[int] = []
    before = IntentState()
    turns = []
    for turn in episode.turns:
        active = [places.setdefault(visible(item_line(item)), len(places)) for item in turn.state.items]
        # What went away stays in sight, struck through; what came back is active again.
        stale |= dict.fromkeys(place for place in shown_before if place not in active)
        stale = dict.fromkeys(place for place in stale if place not in active)
        turns.append(
            {
                "user": visible(turn.user),
                "edits": _edit_lines(turn.edits, before),
                "phenomena": [visible(one) for one in turn.phenomena],
                "reply": visible(turn.reply),
                "active": active,
                "added": [place for place in active if place not in shown_before],
                "stale": list(stale),
                "branches": [[visible(branch.user), _edit_lines(branch.edits, before)] for branch in turn.branches],
            }
        )
        before, shown_before = turn.state, active
    return {
        "origin": visible(episode.task.origin),
        "form": episode.task.answer_form,
        "reference": visible(_reference(episode)),
        "clean": visible(episode.clean),
        "stale": [[one.kind, visible(one.text), one.verified] for one in episode.stale],
        "texts": list(places),
        "turns": turns,
    }


def _edit_lines(edits: Any, before: IntentState) -> list[str]:
    return [visible(line) for line in encode_edits(edits, before).splitlines()] if edits else []


def _reference(episode: Episode) -> str:
    try:
        return reference_answer(episode.task)
    except GoldError as error:
        return f"none: {error}"
