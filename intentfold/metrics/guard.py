"""The regression guard's fixed suite: held text of our own writing, and small executable tasks.

It asks one thing: did an adapter hurt what its base can do? It is no benchmark, and its scores mean nothing alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intentfold.metrics.statistics import Verdict
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

# (name, what is asked, arguments and results). They are as many as it takes to show within a margin of 0.1 that nothing
# was lost, and that losing one or two is still within it: each stands for itself, no two ask the same.
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
    ("subtract", "returns a minus b", "a, b", [([5, 3], 2), ([1, 4], -3)]),
    ("multiply", "returns the product of a and b", "a, b", [([4, 3], 12), ([-2, 5], -10)]),
    ("remainder", "returns the remainder of a divided by b", "a, b", [([7, 3], 1), ([8, 4], 0)]),
    ("whole_part", "returns how often b goes into a as a whole number", "a, b", [([7, 2], 3), ([3, 5], 0)]),
    ("negate", "returns x with its sign changed", "x", [([3], -3), ([-8], 8)]),
    ("increment", "returns x plus one", "x", [([4], 5), ([-1], 0)]),
    ("cube", "returns x to the power of three", "x", [([2], 8), ([-3], -27)]),
    ("half", "returns x divided by two", "x", [([5], 2.5), ([8], 4.0)]),
    ("is_odd", "returns True if n is odd and False otherwise", "n", [([3], True), ([10], False)]),
    ("is_positive", "returns True if x is above zero and False otherwise", "x", [([2], True), ([0], False)]),
    ("is_multiple", "returns True if a is a multiple of b and False otherwise", "a, b", [([9, 3], True), ([9, 2], False)]),
    ("maximum", "returns the larger of a and b", "a, b", [([3, 8], 8), ([5, -5], 5)]),
    ("minimum", "returns the smaller of a and b", "a, b", [([3, 8], 3), ([5, -5], -5)]),
    ("distance", "returns the absolute difference of a and b", "a, b", [([3, 8], 5), ([4, -1], 5)]),
    ("is_equal", "returns True if a equals b and False otherwise", "a, b", [([2, 2], True), (["x", "y"], False)]),
    ("clip", "returns x, but 0 if x is below 0 and 10 if x is above 10", "x", [([12], 10), ([-1], 0), ([7], 7)]),
    ("first", "returns the first element of the list items", "items", [([[4, 5]], 4), ([["b"]], "b")]),
    ("second", "returns the second element of the list items", "items", [([[4, 5, 6]], 5), ([["a", "b"]], "b")]),
    ("smallest", "returns the smallest number in the list numbers", "numbers", [([[3, 1, 2]], 1), ([[-5, -2]], -5)]),
    ("ascending", "returns the list numbers sorted from small to large", "numbers", [([[3, 1, 2]], [1, 2, 3]), ([[]], [])]),
    ("descending", "returns the list numbers sorted from large to small", "numbers", [([[1, 3, 2]], [3, 2, 1]), ([[4]], [4])]),
    ("backwards", "returns the list items in reverse order", "items", [([[1, 2, 3]], [3, 2, 1]), ([[]], [])]),
    ("average", "returns the mean of the list numbers", "numbers", [([[2, 4]], 3.0), ([[1, 2]], 1.5)]),
    ("doubled", "returns a list with each number of the list numbers times two", "numbers", [([[1, 2]], [2, 4]), ([[]], [])]),
    ("squares", "returns a list of the squares of the list numbers", "numbers", [([[2, -3]], [4, 9]), ([[]], [])]),
    ("evens", "returns a list of the even numbers in the list numbers", "numbers", [([[1, 2, 4]], [2, 4]), ([[3]], [])]),
    ("positives", "returns a list of the numbers above zero in the list numbers", "numbers", [([[1, -2]], [1]), ([[0]], [])]),
    ("without_first", "returns the list items without its first element", "items", [([[1, 2, 3]], [2, 3]), ([["a"]], [])]),
    ("without_last", "returns the list items without its last element", "items", [([[1, 2, 3]], [1, 2]), ([["a"]], [])]),
    ("join_lists", "returns the list a followed by the list b", "a, b", [([[1], [2, 3]], [1, 2, 3]), ([[], []], [])]),
    ("append", "returns the list items with x added at its end", "items, x", [([[1, 2], 3], [1, 2, 3]), ([[], "a"], ["a"])]),
    ("is_in", "returns True if x is in the list items and False otherwise", "items, x", [([[1, 2], 2], True), ([[], 1], False)]),
    ("how_often", "returns how often x is in the list items", "items, x", [([[1, 2, 1], 1], 2), ([[], 1], 0)]),
    ("is_empty", "returns True if the list items is empty and False otherwise", "items", [([[]], True), ([[0]], False)]),
    ("product", "returns the product of the list numbers, 1 if it is empty", "numbers", [([[2, 3, 4]], 24), ([[]], 1)]),
    ("up_to", "returns a list of the whole numbers from 1 to n", "n", [([3], [1, 2, 3]), ([1], [1])]),
    ("sum_up_to", "returns the sum of the whole numbers from 1 to n", "n", [([4], 10), ([1], 1)]),
    ("factorial", "returns the factorial of n", "n", [([5], 120), ([0], 1)]),
    ("whisper", "returns the string text in lower case", "text", [(["HI"], "hi"), (["Ab"], "ab")]),
    ("letters", "returns the number of characters of the string text", "text", [(["abc"], 3), ([""], 0)]),
    ("initial", "returns the first character of the string text", "text", [(["abc"], "a"), (["Z"], "Z")]),
    ("final", "returns the last character of the string text", "text", [(["abc"], "c"), (["Z"], "Z")]),
    ("twice", "returns the string text repeated two times", "text", [(["ab"], "abab"), ([""], "")]),
    ("glue", "returns the string a followed by the string b", "a, b", [(["ab", "c"], "abc"), (["", "x"], "x")]),
    ("words", "returns a list of the words in the string text", "text", [(["a bc d"], ["a", "bc", "d"]), (["one"], ["one"])]),
    ("strip", "returns the string text without spaces at its ends", "text", [([" a b "], "a b"), (["x"], "x")]),
    ("no_spaces", "returns the string text without any spaces", "text", [(["a b c"], "abc"), (["x"], "x")]),
    ("palindrome", "returns True if text reads the same backwards, else False", "text", [(["abba"], True), (["ab"], False)]),
    ("starts_with", "returns whether text starts with start", "text, start", [(["abc", "ab"], True), (["a", "b"], False)]),
    ("greet", "returns the string Hello, a space and name", "name", [(["Ada"], "Hello Ada"), (["Bo"], "Hello Bo")]),
    ("to_number", "returns the whole number that the string text spells", "text", [(["12"], 12), (["-3"], -3)]),
    ("to_text", "returns the number x as a string", "x", [([12], "12"), ([-3], "-3")]),
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


def conclusion(verdicts: Mapping[str, Verdict], solved: float, task_margin: float, *, against_adapter: bool = False) -> str:
    """What the suites say together: hurt (and where), unhurt, or that unhurt is not shown.

    A base that has `solved` no larger share of the tasks than the margin has nothing there that an adapter could be caught
    losing: then unhurt is not shown, whatever the verdict. Against another adapter, which may have hurt the base itself, it
    only says which of the two hurts more.
    """
    hurt, unhurt = ("hurts more", "hurts no more") if against_adapter else ("hurt", "unhurt")
    if worse := [name for name, verdict in verdicts.items() if verdict == "inferior"]:
        return f"{hurt}: {', '.join(worse)}"
    safe = all(verdict in ("superior", "equivalent", "non-inferior") for verdict in verdicts.values())
    if safe and solved > task_margin:
        return unhurt
    return "not shown to hurt no more" if against_adapter else "not shown to be unhurt"


def relative(perplexities: Sequence[float], bases: Sequence[float]) -> float:
    """The geometric mean of how perplexity changed: 1.02 is 2% worse."""
    product = 1.0
    for mine, theirs in zip(perplexities, bases, strict=True):
        product *= (mine / theirs) ** (1 / len(bases))
    return product
