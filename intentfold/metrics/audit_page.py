"""A page on which people judge sampled turns by the rubric: one file, opened without a server, that saves what they say.

It shows no automatic verdict: who judges is not led. Its script only reads the form; texts of dialogues are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from intentfold.dialogue import Dialogue
from intentfold.metrics.document import escaped
from intentfold.prompts.audit_judge import RUBRIC

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem 5rem; color: #1c1c1c; }
section { border-top: 2px solid #ccc; padding: .6rem 0; } pre { white-space: pre-wrap; background: #f7f7f7; padding: .5rem; }
.last { background: #fff6d6; padding: .3rem .5rem; } .grid { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
fieldset { border: 0; padding: 0; margin: .3rem 0; } label { margin-right: 1rem; } textarea { width: 100%; }
#bar { position: fixed; bottom: 0; left: 0; right: 0; background: #eee; padding: .6rem 1rem; }
"""
_SCRIPT = """
"use strict";
const sample = document.body.dataset.sample, key = "intentfold-audit-" + sample;
const chosen = (id, aspect) => {
  const input = document.querySelector(`input[name="${CSS.escape(id + " " + aspect)}"]:checked`);
  return input && input.value !== "" ? input.value === "yes" : null;
};
const judgements = () => ({
  version: 1, sample, judge: document.getElementById("judge").value,
  judgements: [...document.querySelectorAll("section")].map(section => ({
    id: section.dataset.id, fidelity: chosen(section.dataset.id, "fidelity"), coherence: chosen(section.dataset.id, "coherence"),
    note: section.querySelector("textarea").value,
  })).filter(one => one.fidelity !== null || one.coherence !== null || one.note !== ""),
});
const show = () => {
  const done = judgements().judgements.filter(one => one.fidelity !== null && one.coherence !== null).length;
  document.getElementById("done").textContent = done + " of " + document.querySelectorAll("section").length + " judged";
};
const restore = saved => {
  document.getElementById("judge").value = saved.judge;
  for (const one of saved.judgements) {
    for (const section of document.querySelectorAll("section")) {
      if (section.dataset.id !== one.id) continue;
      section.querySelector("textarea").value = one.note;
      for (const aspect of ["fidelity", "coherence"]) for (const input of section.querySelectorAll("input"))
        if (input.name === one.id + " " + aspect && one[aspect] !== null)
          input.checked = input.value === (one[aspect] ? "yes" : "no");
    }
  }
};
try { const saved = localStorage.getItem(key); if (saved) restore(JSON.parse(saved)); } catch (error) { console.warn(error); }
document.addEventListener("input", () => {
  show();
  try { localStorage.setItem(key, JSON.stringify(judgements())); } catch (error) { console.warn(error); }
});
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(judgements(), null, 1)], {type: "application/json"}));
  link.download = "judgements-" + sample + ".json";
  link.click();
});
show();
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One turn to be judged: the dialogue that it ends, the state before it, and the scheduled edits, as lines."""

    id: str
    dialogue: Dialogue
    state: str
    edits: str


def audit_page(sample: str, cases: Sequence[Case]) -> str:
    """The page of a sample, whose hash stands in what it saves."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    questions = "".join(f"<li><b>{escaped(aspect)}</b>: {escaped(question)}</li>" for aspect, question in RUBRIC.items())
    body = "\n".join(map(_section, cases))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>Audit {escaped(sample)}</title>\n'
        f'<style>{_STYLE}</style>\n</head>\n<body data-sample="{escaped(sample)}">\n<h1>Audit of {len(cases)} turns</h1>\n'
        f"<p>Judge the marked turn of each dialogue. Both questions, or leave a turn out:</p>\n<ul>{questions}</ul>\n"
        f'<p><label>Who judges <input id="judge"></label></p>\n{body}\n'
        f'<div id="bar"><button id="save">Save judgements</button> <span id="done"></span></div>\n'
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _section(case: Case) -> str:
    lines = [f"<p><b>{'User' if turn.role == 'user' else 'Agent'}:</b> {escaped(turn.content)}</p>" for turn in case.dialogue]
    last = lines[-1].replace("<p>", '<p class="last">', 1)
    earlier = "".join(lines[:-1])
    folded = f"<details open><summary>What was said before</summary>{earlier}</details>" if earlier else ""
    choices = "".join(
        f"<fieldset><b>{aspect}</b>: "
        + "".join(
            f'<label><input type="radio" name="{escaped(f"{case.id} {aspect}")}" value="{answer}"> {answer}</label>'
            for answer in ("yes", "no")
        )
        + "</fieldset>"
        for aspect in RUBRIC
    )
    return (
        f'<section data-id="{escaped(case.id)}">{folded}{last}<div class="grid"><div>Active before it'
        f"<pre>{escaped(case.state)}</pre></div><div>Scheduled<pre>{escaped(case.edits)}</pre></div></div>"
        f'{choices}<textarea placeholder="Note"></textarea></section>'
    )
