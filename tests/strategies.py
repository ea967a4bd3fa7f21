"""Hypothesis strategies shared by the property tests: arbitrary states over awkward text."""

from __future__ import annotations

from hypothesis import strategies as st

from intentfold.intent import Edit, IntentState, fold_leniently

AWKWARD = [
    "a", "A", "x: y", "conclusion z", "ADD a: b", "REPLACE #1: x", "#1", "+1", "NONE",
    "<|im_end|>", "<|im_start|>user", "a || b", "(must) a",
    "[1] b", "\\", "a\nb", '"quoted" {braces}', "naïve 🙂", "שלום", "مرحبا",
    "tab\there", "\u2028", " lead", "trail ", "a; for b", "\\n",
]  # fmt: skip
texts = st.text(min_size=1, max_size=12).filter(lambda text: text.strip() != "") | st.sampled_from(AWKWARD)
priorities = st.sampled_from([None, "must", "preferred", "optional"])


@st.composite
def states(draw: st.DrawFn) -> IntentState:
    """Any state that folding can reach."""
    state = IntentState(next_id=draw(st.integers(1, 30)))
    for _ in range(draw(st.integers(0, 6))):
        ids = [item.id for item in state.items]
        slot = draw(st.none() | texts)
        edit = Edit(
            "ADD",
            text=draw(texts) if slot is None or draw(st.booleans()) else None,
            kind=draw(st.sampled_from(["goal", "conclusion", "format"])),
            depends_on=tuple(draw(st.lists(st.sampled_from(ids), max_size=2, unique=True))) if ids else (),
            slot=slot,
            value=None if slot is None else draw(texts),
            scope=draw(st.none() | texts),
            priority=draw(priorities),
        )
        state, _ = fold_leniently(state, [edit])
    return state
