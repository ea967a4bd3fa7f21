"""The regression guard's fixed suite: held text of our own writing, and small executable tasks.

It asks one thing: did an adapter hurt what its base can do? It is no benchmark, and its scores mean nothing alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intentfold.task import SourceTask

# Paragraphs on many subjects, written for this suite; each is a case of its own.
TEXTS = (
    "Bread dough rises because yeast feeds on sugar and gives off gas. Kneading makes the dough stretchy enough to hold that "
    "gas in small bubbles. If it is left in a warm place it will double in about an hour; in the fridge it takes a night.",
    "The harbour was quiet when the ferry came in. Two men in yellow coats caught the ropes and made them fast, and then the "
    "ramp went down with a bang that woke the gulls. Nobody was in a hurry except a boy with a violin case.",
    "To find the median of a list, sort it first. If the list has an odd number of entries, the median is the one in the "
    "middle. If the number is even, take the two in the middle and halve their sum.",
    "A bicycle chain wears out slowly. Each pin grinds away a little of its bushing, and after some thousand kilometres the "
    "chain is longer than it was. A long chain climbs up the teeth of the sprockets and wears them down too.",
    "Dear Ms Olsen, thank you for your letter of 3 March. We have looked at the invoice again and agree that the delivery was "
    "charged twice. The amount will be returned to your account within five working days. We are sorry for the trouble.",
    "Rivers in flat country seldom run straight. On the outside of a bend the water is fast and eats into the bank; on the "
    "inside it is slow and drops its sand. So each bend grows until, in some flood, the river takes the short way across.",
    "She had learned to read from the labels of tins. Her grandmother kept a shop, and on rainy afternoons the girl sat under "
    "the counter and spelled out peas, plums and condensed milk, one letter after another.",
    "A function should do one thing and say so in its name. When you need the word and to describe what it does, it is likely "
    "two functions. Short functions are easier to test, since there are fewer ways through each of them.",
    "The moon always shows us the same side. It turns once about itself in the time in which it goes once around the Earth. "
    "That is no accident: over a very long time the pull of the Earth has slowed it down to just that pace.",
    "Before you paint a wall, wash it and let it dry. Fill the holes, sand them flat and wipe off the dust. Cover the floor "
    "and the sockets. Two thin coats hold better than a thick one, and the second may need less paint than you think.",
    "In most card games the dealer shuffles and the player to the right cuts. Cards are dealt one at a time to the left. Who "
    "looks at the cards before all of them have been dealt gives something away about his own patience.",
    "The committee met on Tuesday. It heard a report on the roof of the school, which has leaked since autumn, and asked for "
    "two more offers. The motion to plant trees along the playing field was passed with one vote against it.",
    "Glass is made of sand, soda and lime. The soda lets the sand melt at a lower heat, and the lime keeps the glass from "
    "dissolving in water afterwards. A trace of iron in the sand gives old window panes their green edge.",
    "If a train leaves at ten and runs at eighty kilometres an hour, it has gone two hundred kilometres by half past twelve. "
    "A second train that leaves at eleven and wants to be there at the same time must run faster: about one hundred and "
    "thirty-three kilometres an hour.",
    "My uncle kept bees behind the garage. He said that you must tell them everything: births, deaths, and who had moved "
    "away. As a child I believed that they flew off to pass the news on, and I was careful about what I said near the hives.",
    "Salt lowers the temperature at which water freezes. That is why it is strewn on icy roads. Below about minus ten degrees "
    "it helps little, and sand, which melts nothing but gives a grip, is the better choice.",
)

# (name, what is asked, arguments and results). A base that solves none of them says nothing about harm: see `guard`.
_FUNCTIONS: tuple[tuple[str, str, str, list[tuple[list[Any], Any]]], ...] = (
    ("add", "returns the sum of a and b", "a, b", [([2, 3], 5), ([-1, 1], 0)]),
    ("double", "returns x times two", "x", [([4], 8), ([0], 0)]),
    ("is_even", "returns True if n is even and False otherwise", "n", [([4], True), ([7], False)]),
    ("last", "returns the last element of the list items", "items", [([[1, 2, 3]], 3), ([["a"]], "a")]),
    ("largest", "returns the largest number in the list numbers", "numbers", [([[3, 9, 2]], 9), ([[-5, -2]], -2)]),
    ("reverse", "returns the string text reversed", "text", [(["abc"], "cba"), ([""], "")]),
    ("count_a", "returns how many letters a are in the string text", "text", [(["banana"], 3), (["xyz"], 0)]),
    ("shout", "returns the string text in upper case", "text", [(["hi"], "HI"), (["Ab"], "AB")]),
    ("total", "returns the sum of the list numbers", "numbers", [([[1, 2, 3]], 6), ([[]], 0)]),
    ("square", "returns x squared", "x", [([5], 25), ([-3], 9)]),
    ("length", "returns the number of elements of the list items", "items", [([[1, 2]], 2), ([[]], 0)]),
    ("absolute", "returns the absolute value of x", "x", [([-4], 4), ([6], 6)]),
)  # fmt: skip


def executable_tasks() -> list[tuple[SourceTask, str]]:
    """Tasks whose answers are Python functions that the sandbox runs, each with its prompt."""
    tasks = []
    for name, does, arguments, calls in _FUNCTIONS:
        tests = [{"args": list(args), "expected": expected} for args, expected in calls]
        payload = {"reference": {"function": name, "tests": tests}}
        request = f"Write a Python function {name}({arguments}) that {does}. Answer with the code only."
        tasks.append((SourceTask(name, "guard", f"guard:{name}", "Apache-2.0", request, (), "code", payload), request))
    return tasks


def answer_code(text: str) -> str:
    """The code in an answer: the first fenced block, or from the first `def` on."""
    if "```" in text:
        block = text.split("```")[1]
        first, newline, rest = block.partition("\n")
        return rest if newline and first.strip().isalpha() else block
    at = text.find("def ")
    return text[at:] if at >= 0 else text


def relative(perplexities: Sequence[float], bases: Sequence[float]) -> float:
    """The geometric mean of how perplexity changed: 1.02 is 2% worse."""
    product = 1.0
    for mine, theirs in zip(perplexities, bases, strict=True):
        product *= (mine / theirs) ** (1 / len(bases))
    return product
