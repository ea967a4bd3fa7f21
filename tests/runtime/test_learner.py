"""Learning assets: a model's edits, quotations, merging of situations, the verbatim learner."""

from __future__ import annotations

from intentfold.asset import Assets, ContextualIntent, Quotation, Requirement, Situation
from intentfold.dialogue import File, Output
from intentfold.runtime.learner import ModelLearner, VerbatimLearner, learn, learn_users, with_situation
from intentfold.runtime.roles import Completion
from intentfold.trace import Exchange, LearningHistory

HISTORY = LearningHistory(
    1, "h", "ann", "review", "CC0-1.0", "train", "train",
    (
        Exchange("request", "Write my review. It is for the styler.", Output("Draft 0", files=(File("a.md", "I save 10 min."),))),
        Exchange("correction", "I haven't timed it. Use [My time].", Output("Draft 1", files=(File("a.md", "[My time]"),))),
        Exchange("answer", "The blue one.", Output("Draft 1b")),
        Exchange("correction", "No timing at all.", Output("Draft 2")),
    ),
    "Good.",
)  # fmt: skip


class Writes:
    """Writes these texts in order and keeps the prompts."""

    name = "writes"

    def __init__(self, *texts: str, stopped: bool = True) -> None:
        self.texts, self.stopped, self.prompts = list(texts), stopped, []

    def complete(self, prompts, max_tokens):
        self.prompts += prompts
        return [Completion(self.texts.pop(0), 1, 1, self.stopped) for _ in prompts]


FIRST = "INTENT: Claims are the user's own.\nREQUIRE +1: Timing says [My time].\nFACT +1: untimed || I haven't timed it."


def test_a_model_learns_step_by_step_and_keeps_what_is_not_contradicted() -> None:
    backend = Writes(FIRST, "WITHDRAW 2\nREQUIRE 1: No timing.", "Reviews without timing.\nmore")
    learned = learn(HISTORY, ModelLearner(backend))
    [intent] = learned.situation.intents
    assert [part.text for part in intent.parts] == ["No timing.", "untimed"]
    assert intent.facts[0].quotation == Quotation("I haven't timed it.", "h:1")
    assert intent.sources == ("h:1", "h:3")
    assert learned.rejected == ()
    assert learned.situation.description == "Reviews without timing."
    assert learned.situation.excerpts == (Quotation("Write my review.", "h:0"),)
    first, second, _ = [prompt[1].content for prompt in backend.prompts]
    assert "  I save 10 min." in first.split("Correction:")[0]
    assert "  [My time]" in first.split("Correction:")[1]
    assert second.startswith("Intents:\n1 intent: Claims are the user's own.\n2 requirement: Timing says [My time].")
    assert "  The blue one." in second


def test_an_invented_quotation_rejects_the_update_and_the_rest_goes_on() -> None:
    backend = Writes(FIRST.replace("haven't timed it.", "haven't timed it!"), "INTENT: x\nREQUIRE +1: No timing.", "d")
    learned = learn(HISTORY, ModelLearner(backend))
    assert [part.text for intent in learned.situation.intents for part in intent.parts] == ["No timing."]
    assert ["not verbatim" in one.reason for one in learned.rejected] == [True]


def test_the_last_line_of_an_output_that_was_cut_off_is_no_edit() -> None:
    learned = learn(HISTORY, ModelLearner(Writes(FIRST, "NONE\n", "d", stopped=False)))
    assert [part.text for intent in learned.situation.intents for part in intent.parts] == ["Timing says [My time]."]


def test_without_context_results_are_not_shown() -> None:
    backend = Writes("NONE", "NONE", "")
    learned = learn(HISTORY, ModelLearner(backend, context=False))
    shown = "\n".join(prompt[1].content for prompt in backend.prompts[:2])
    assert "Draft" not in shown
    assert "I save" not in shown
    assert "Use [My time]." in shown
    assert learned.situation.intents == ()
    assert learned.situation.description == HISTORY.request


def test_the_verbatim_learner_takes_the_users_words() -> None:
    learned = learn(HISTORY, VerbatimLearner())
    assert [part.text for i in learned.situation.intents for part in i.parts] == [
        "I haven't timed it. Use [My time].",
        "No timing at all.",
    ]


def situation(asked: str, requirement: str, source: str) -> Situation:
    intent = ContextualIntent(1, "", (Requirement(2, requirement),))
    return Situation(f"about {source}", (intent,), 3, (source,), (Quotation(asked, f"{source}:0"),))


def test_situations_of_like_requests_are_merged_with_their_sources() -> None:
    assets = with_situation(Assets("ann"), situation("Book a train to Graz.", "Refundable.", "a"))
    assets = with_situation(assets, situation("Write a product review.", "No hype.", "b"))
    assets = with_situation(assets, situation("Book a train to Lille.", "Aisle.", "c"))
    assert [s.sources for s in assets.situations] == [("a", "c"), ("b",)]
    assert assets.situations[0].description == "about a about c"
    assert [part.text for i in assets.situations[0].intents for part in i.parts] == ["Refundable.", "Aisle."]
    assert with_situation(assets, Situation("nothing learned")) == assets


def test_each_user_has_assets_of_its_own() -> None:
    bob = LearningHistory(1, "g", "bob", "review", "CC0-1.0", "train", "train", HISTORY.exchanges, "")
    assets, rejected = learn_users([HISTORY, bob], lambda history: VerbatimLearner())
    assert {user: [s.sources for s in found.situations] for user, found in assets.items()} == {"ann": [("h",)], "bob": [("g",)]}
    assert rejected == []
