"""Functions to write: what they are given, the steps that a user may ask for, and what they return.

A step is one statement over the function's argument; `${name}` stands for a constant or an expression. With its
default a step does nothing, so that each can be left out.
"""


from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from intentfold.sources.builtin.vocabulary import Integer, Kind, Listed, one_of, words


@dataclass(frozen=True, slots=True)
class Step:
    """A step under a slot: a constant of some kind, or one of several expressions."""

    slot: str
    name: str
    line: str
    default: str
    kind: Kind
    choices: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What a function gets: its argument's name, a sampler of inputs, and the steps in the order they are taken.

    `first` are statements that stand before all steps.
    """

    argument: str
    draw: Callable[[random.Random], Any]
    steps: tuple[Step, ...]
    first: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function over some material, and the expression that it returns."""

    name: str
    asks: tuple[str, ...]
    material: Material
    result: str


def constant(slot: str, name: str, kind: Kind, line: str, default: str) -> Step:
    """A step with a constant."""
    return Step(slot, name, line, default, kind)


def choice(slot: str, name: str, line: str, default: str, **choices: str) -> Step:
    """A step with named behaviours (underscores in their names are blanks)."""
    named = {label.replace("_", " "): code for label, code in choices.items()}
    return Step(slot, name, line, default, Listed(tuple(sorted(named))), named)


WORDS = words(
    "amber anchor apple apron arrow autumn badge banana barrel basket beach berry bitter blanket bottle branch breeze bridge "
    "button cabin camel candle canyon carpet castle cellar cherry circle cloud copper corner cotton cricket dinner donkey "
    "dragon eagle echo engine evening falcon feather fiddle finger flower forest fossil garden ginger glacier guitar hammer "
    "harbour hazel helmet island jacket jungle kettle kitten ladder lantern lemon letter lizard magnet mango marble meadow "
    "mirror monkey needle noodle ocean olive onion orange paddle palace paper parrot pepper pillow planet pocket potato "
    "puzzle rabbit ribbon river rocket saddle salmon shadow silver spider spoon summer sunset table thunder ticket tiger "
    "timber tomato tunnel turtle valley velvet violin walnut whistle window winter yellow zebra"
)
LETTER = one_of("a|b|c|d|e|f|g|h|i|l|m|n|o|p|r|s|t")
LABEL = one_of("new|old|pre|sub|top|end|alt|max|min|raw|tmp|fix|key|out|big")


def _numbers(rng: random.Random) -> list[int]:
    """Some numbers, with repeats, negative ones and zeros among them."""
    drawn = [rng.randint(-25, 70) for _ in range(rng.randint(6, 10))] + [rng.randint(0, 9) for _ in range(4)]
    drawn += [*rng.sample(drawn, 2), rng.choice((0, 0, 1, -1))]
    rng.shuffle(drawn)
    return drawn


def _words(rng: random.Random) -> list[str]:
    drawn = rng.sample(WORDS, rng.randint(9, 15))
    drawn += rng.sample(drawn, 2)
    rng.shuffle(drawn)
    return drawn


def _text(rng: random.Random) -> str:
    parts = [
        rng.choice((word, word.title(), word.upper(), str(rng.randint(1, 999)))) for word in rng.sample(WORDS, rng.randint(4, 8))
    ]
    return rng.choice((" ", " ", "  ")).join(parts)


def _pairs(rng: random.Random) -> list[list[Any]]:
    names = rng.sample(WORDS, rng.randint(7, 10))
    names += rng.sample(names, 2)
    return [[name, rng.randint(1, 90)] for name in names]


def _grid(rng: random.Random) -> list[list[int]]:
    width = rng.randint(4, 6)
    return [[rng.randint(-9, 40) for _ in range(width)] for _ in range(rng.randint(4, 7))]


def _limit(rng: random.Random) -> int:
    return rng.randint(18, 60)


NUMBERS = Material(
    "xs",
    _numbers,
    (
        choice(
            "negative numbers",
            "negatives",
            "xs = [${negatives} for x in xs]",
            "x",
            made_positive="abs(x)",
            set_to_zero="max(x, 0)",
            doubled="x * 2 if x < 0 else x",
            set_to_minus_one="max(x, -1)",
            halved="-(-x // 2) if x < 0 else x",
        ),
        choice(
            "repeated numbers",
            "repeats",
            "xs = ${repeats}",
            "xs",
            dropped="list(dict.fromkeys(xs))",
            kept_only="[x for x in xs if xs.count(x) > 1]",
            removed_altogether="[x for x in xs if xs.count(x) == 1]",
            set_to_zero="[0 if x in xs[:i] else x for i, x in enumerate(xs)]",
            made_negative="[-abs(x) if x in xs[:i] else x for i, x in enumerate(xs)]",
        ),
        constant("minimum value", "least", Integer(-20, 40), "xs = [x for x in xs if x >= ${least}]", "float('-inf')"),
        constant("maximum value", "most", Integer(5, 68), "xs = [x for x in xs if x <= ${most}]", "float('inf')"),
        choice(
            "parity",
            "parity",
            "xs = [x for x in xs if ${parity}]",
            "True",
            even_only="x % 2 == 0",
            odd_only="x % 2 == 1",
            even_or_negative="x % 2 == 0 or x < 0",
            odd_or_zero="x % 2 == 1 or x == 0",
            multiples_of_three="x % 3 == 0",
        ),
        constant("number to leave out", "unwanted", Integer(0, 9), "xs = [x for x in xs if x != ${unwanted}]", "None"),
        constant("multiplier", "factor", Integer(2, 19), "xs = [x * ${factor} for x in xs]", "1"),
        constant("amount to add", "offset", Integer(1, 60), "xs = [x + ${offset} for x in xs]", "0"),
        constant("upper cap", "cap", Integer(10, 60), "xs = [min(x, ${cap}) for x in xs]", "float('inf')"),
        constant("lower floor", "floor", Integer(-15, 25), "xs = [max(x, ${floor}) for x in xs]", "float('-inf')"),
        choice(
            "sort order",
            "order",
            "xs = ${order}",
            "xs",
            ascending="sorted(xs)",
            descending="sorted(xs, reverse=True)",
            by_absolute_value="sorted(xs, key=abs)",
            by_last_digit="sorted(xs, key=lambda x: (abs(x) % 10, x))",
            reversed="xs[::-1]",
            by_number_of_digits="sorted(xs, key=lambda x: (len(str(abs(x))), x))",
        ),
        constant("numbers to skip", "skip", Integer(1, 5), "xs = xs[${skip}:]", "0"),
        constant("numbers to keep", "keep", Integer(1, 8), "xs = xs[:${keep}]", "None"),
    ),
)
TERMS = Material(
    "n",
    _limit,
    (
        constant("first term", "start", Integer(2, 40), "xs = [x + ${start} - 1 for x in xs]", "1"),
        constant("distance between terms", "step", Integer(2, 9), "xs = xs[::${step}]", "1"),
        choice(
            "parity",
            "parity",
            "xs = [x for x in xs if ${parity}]",
            "True",
            even_only="x % 2 == 0",
            odd_only="x % 2 == 1",
            multiples_of_three="x % 3 == 0",
            no_multiples_of_four="x % 4",
            multiples_of_five="x % 5 == 0",
        ),
        choice(
            "transformation",
            "change",
            "xs = [${change} for x in xs]",
            "x",
            squared="x * x",
            cubed="x ** 3",
            halved="x // 2",
            digit_sum="sum(map(int, str(x)))",
            bit_count="bin(x).count('1')",
            last_digit="x % 10",
        ),
        choice(
            "signs",
            "sign",
            "xs = [${sign} for i, x in enumerate(xs)]",
            "x",
            alternating="x if i % 2 == 0 else -x",
            all_negative="-x",
            every_third_negative="-x if i % 3 == 2 else x",
            first_negative="-x if i == 0 else x",
            even_terms_negative="-x if x % 2 == 0 else x",
        ),
        constant("multiplier", "factor", Integer(2, 19), "xs = [x * ${factor} for x in xs]", "1"),
        constant("amount to add", "offset", Integer(1, 60), "xs = [x + ${offset} for x in xs]", "0"),
        constant("lower floor", "floor", Integer(4, 30), "xs = [max(x, ${floor}) for x in xs]", "float('-inf')"),
        constant("upper cap", "cap", Integer(6, 40), "xs = [min(x, ${cap}) for x in xs]", "float('inf')"),
        choice(
            "sort order",
            "order",
            "xs = ${order}",
            "xs",
            descending="sorted(xs, reverse=True)",
            reversed="xs[::-1]",
            by_last_digit="sorted(xs, key=lambda x: (abs(x) % 10, x))",
            even_first="sorted(xs, key=lambda x: x % 2)",
            odd_first="sorted(xs, key=lambda x: -(x % 2))",
        ),
        constant("terms to skip", "skip", Integer(1, 6), "xs = xs[${skip}:]", "0"),
        constant("terms to keep", "keep", Integer(1, 9), "xs = xs[:${keep}]", "None"),
    ),
    first=("xs = list(range(1, n + 1))",),
)
WORD_LIST = Material(
    "ws",
    _words,
    (
        choice(
            "repeated words",
            "repeats",
            "ws = ${repeats}",
            "ws",
            dropped="list(dict.fromkeys(ws))",
            kept_only="[w for w in ws if ws.count(w) > 1]",
            removed_altogether="[w for w in ws if ws.count(w) == 1]",
            marked="[w + '*' if w in ws[:i] else w for i, w in enumerate(ws)]",
            emptied="['' if w in ws[:i] else w for i, w in enumerate(ws)]",
        ),
        constant("minimum length", "shortest", Integer(5, 7), "ws = [w for w in ws if len(w) >= ${shortest}]", "0"),
        constant("maximum length", "longest", Integer(4, 7), "ws = [w for w in ws if len(w) <= ${longest}]", "99"),
        constant("letter to contain", "needed", LETTER, "ws = [w for w in ws if ${needed} in w]", "''"),
        constant("letter to avoid", "avoided", LETTER, "ws = [w for w in ws if ${avoided} not in w]", "'?'"),
        constant("letter to remove", "removed", LETTER, "ws = [w.replace(${removed}, '') for w in ws]", "''"),
        constant("letters to keep", "letters", Integer(1, 6), "ws = [w[:${letters}] for w in ws]", "None"),
        choice(
            "letter case",
            "case",
            "ws = [${case} for w in ws]",
            "w",
            upper="w.upper()",
            title="w.title()",
            last_letter_upper="w[:-1] + w[-1:].upper()",
            vowels_upper="''.join(c.upper() if c in 'aeiou' else c for c in w)",
            alternating="''.join(c.upper() if i % 2 else c for i, c in enumerate(w))",
        ),
        choice(
            "spelling direction",
            "direction",
            "ws = [${direction} for w in ws]",
            "w",
            backwards="w[::-1]",
            first_letter_last="w[1:] + w[:1]",
            last_letter_first="w[-1:] + w[:-1]",
            letters_sorted="''.join(sorted(w))",
            mirrored="w + w[::-1]",
        ),
        constant("prefix", "prefix", LABEL, "ws = [${prefix} + w for w in ws]", "''"),
        constant("suffix", "suffix", LABEL, "ws = [w + ${suffix} for w in ws]", "''"),
        choice(
            "sort order",
            "order",
            "ws = ${order}",
            "ws",
            alphabetical="sorted(ws)",
            reverse_alphabetical="sorted(ws, reverse=True)",
            shortest_first="sorted(ws, key=len)",
            longest_first="sorted(ws, key=lambda w: -len(w))",
            by_last_letter="sorted(ws, key=lambda w: (w[-1:], w))",
            reversed="ws[::-1]",
        ),
        constant("words to skip", "skip", Integer(1, 5), "ws = ws[${skip}:]", "0"),
        constant("words to keep", "keep", Integer(1, 8), "ws = ws[:${keep}]", "None"),
    ),
)
TEXT = Material(
    "s",
    _text,
    (
        choice(
            "digits",
            "digits",
            "s = ${digits}",
            "s",
            dropped="''.join(c for c in s if not c.isdigit())",
            masked="''.join('#' if c.isdigit() else c for c in s)",
            set_to_zero="''.join('0' if c.isdigit() else c for c in s)",
            doubled="''.join(c * 2 if c.isdigit() else c for c in s)",
            raised_by_one="''.join(str((int(c) + 1) % 10) if c.isdigit() else c for c in s)",
        ),
        choice(
            "vowels",
            "vowels",
            "s = ${vowels}",
            "s",
            dropped="''.join(c for c in s if c not in 'aeiouAEIOU')",
            masked="''.join('*' if c in 'aeiouAEIOU' else c for c in s)",
            upper_case="''.join(c.upper() if c in 'aeiou' else c for c in s)",
            doubled="''.join(c * 2 if c in 'aeiouAEIOU' else c for c in s)",
            lower_case="''.join(c.lower() if c in 'AEIOU' else c for c in s)",
        ),
        constant("letter to remove", "removed", LETTER, "s = s.replace(${removed}, '')", "''"),
        choice(
            "letter case",
            "case",
            "s = ${case}",
            "s",
            upper="s.upper()",
            lower="s.lower()",
            swapped="s.swapcase()",
            title="s.title()",
            capitalised="s.capitalize()",
        ),
        choice(
            "word order",
            "order",
            "s = ${order}",
            "s",
            reversed="' '.join(s.split(' ')[::-1])",
            alphabetical="' '.join(sorted(s.split(' ')))",
            shortest_first="' '.join(sorted(s.split(' '), key=len))",
            longest_first="' '.join(sorted(s.split(' '), key=lambda w: -len(w)))",
            last_word_first="' '.join(s.split(' ')[-1:] + s.split(' ')[:-1])",
        ),
        choice(
            "spaces",
            "spaces",
            "s = ${spaces}",
            "s",
            removed="s.replace(' ', '')",
            underscores="s.replace(' ', '_')",
            dashes="s.replace(' ', '-')",
            doubled="s.replace(' ', '  ')",
            commas="s.replace(' ', ',')",
            dots="s.replace(' ', '.')",
        ),
        choice(
            "direction",
            "direction",
            "s = ${direction}",
            "s",
            backwards="s[::-1]",
            halves_swapped="s[len(s) // 2:] + s[:len(s) // 2]",
            first_character_last="s[1:] + s[:1]",
            every_second_character="s[::2]",
            mirrored="s + s[::-1]",
        ),
        constant("characters to skip", "skip", Integer(1, 14), "s = s[${skip}:]", "0"),
        constant("characters to keep", "keep", Integer(3, 30), "s = s[:${keep}]", "None"),
        constant("prefix", "prefix", LABEL, "s = ${prefix} + s", "''"),
        constant("suffix", "suffix", LABEL, "s = s + ${suffix}", "''"),
        constant("padding width", "width", Integer(36, 70), "s = s.ljust(${width}, '.')", "0"),
        constant("repetitions", "times", Integer(2, 6), "s = s * ${times}", "1"),
    ),
)
PAIRS = Material(
    "rows",
    _pairs,
    (
        choice(
            "entries of one name",
            "merged",
            "rows = ${merged}",
            "rows",
            added_up="[[n, sum(a for m, a in rows if m == n)] for n in dict.fromkeys(n for n, _ in rows)]",
            first_only="[r for i, r in enumerate(rows) if r[0] not in [m for m, _ in rows[:i]]]",
            last_only="[r for i, r in enumerate(rows) if r[0] not in [m for m, _ in rows[i + 1:]]]",
            largest_only="[[n, max(a for m, a in rows if m == n)] for n in dict.fromkeys(n for n, _ in rows)]",
            dropped="[r for r in rows if [m for m, _ in rows].count(r[0]) == 1]",
        ),
        constant("minimum amount", "least", Integer(5, 60), "rows = [[n, a] for n, a in rows if a >= ${least}]", "0"),
        constant("maximum amount", "most", Integer(30, 85), "rows = [[n, a] for n, a in rows if a <= ${most}]", "float('inf')"),
        constant("letter in the name", "needed", LETTER, "rows = [[n, a] for n, a in rows if ${needed} in n]", "''"),
        constant("letter not in the name", "avoided", LETTER, "rows = [[n, a] for n, a in rows if ${avoided} not in n]", "'?'"),
        constant("amount multiplier", "factor", Integer(2, 19), "rows = [[n, a * ${factor}] for n, a in rows]", "1"),
        constant("fee per entry", "fee", Integer(1, 40), "rows = [[n, a + ${fee}] for n, a in rows]", "0"),
        constant(
            "percentage taken off", "percent", Integer(5, 60, 5), "rows = [[n, a - a * ${percent} // 100] for n, a in rows]", "0"
        ),
        choice(
            "name case",
            "case",
            "rows = [[${case}, a] for n, a in rows]",
            "n",
            upper="n.upper()",
            title="n.title()",
            backwards="n[::-1]",
            three_letters="n[:3]",
            initial="n[:1]",
        ),
        choice(
            "sort order",
            "order",
            "rows = ${order}",
            "rows",
            by_name="sorted(rows)",
            largest_first="sorted(rows, key=lambda r: (-r[1], r[0]))",
            smallest_first="sorted(rows, key=lambda r: (r[1], r[0]))",
            reversed="rows[::-1]",
            longest_name_first="sorted(rows, key=lambda r: (-len(r[0]), r[0], r[1]))",
            by_last_letter="sorted(rows, key=lambda r: (r[0][-1:], r[0], r[1]))",
        ),
        constant("entries to skip", "skip", Integer(1, 4), "rows = rows[${skip}:]", "0"),
        constant("entries to keep", "keep", Integer(1, 7), "rows = rows[:${keep}]", "None"),
    ),
)
GRID = Material(
    "rows",
    _grid,
    (
        choice(
            "orientation",
            "turned",
            "rows = ${turned}",
            "rows",
            transposed="[list(c) for c in zip(*rows)]",
            upside_down="rows[::-1]",
            mirrored="[r[::-1] for r in rows]",
            turned_right="[list(c) for c in zip(*rows[::-1])]",
            turned_left="[list(c) for c in zip(*rows)][::-1]",
        ),
        constant("rows to skip", "skip", Integer(1, 3), "rows = rows[${skip}:]", "0"),
        constant("columns to skip", "left", Integer(1, 3), "rows = [r[${left}:] for r in rows]", "0"),
        choice(
            "negative cells",
            "negatives",
            "rows = [[${negatives} for x in r] for r in rows]",
            "x",
            made_positive="abs(x)",
            set_to_zero="max(x, 0)",
            doubled="x * 2 if x < 0 else x",
            raised_by_ten="x + 10 if x < 0 else x",
            set_to_minus_one="max(x, -1)",
        ),
        constant("cell multiplier", "factor", Integer(2, 19), "rows = [[x * ${factor} for x in r] for r in rows]", "1"),
        constant("amount per cell", "offset", Integer(1, 60), "rows = [[x + ${offset} for x in r] for r in rows]", "0"),
        constant("cell cap", "cap", Integer(5, 35), "rows = [[min(x, ${cap}) for x in r] for r in rows]", "float('inf')"),
        constant("cell floor", "floor", Integer(-4, 20), "rows = [[max(x, ${floor}) for x in r] for r in rows]", "float('-inf')"),
        choice(
            "order within rows",
            "inner",
            "rows = [${inner} for r in rows]",
            "r",
            ascending="sorted(r)",
            descending="sorted(r, reverse=True)",
            reversed="r[::-1]",
            by_last_digit="sorted(r, key=lambda x: (abs(x) % 10, x))",
            first_cell_last="r[1:] + r[:1]",
        ),
        choice(
            "row order",
            "order",
            "rows = ${order}",
            "rows",
            largest_sum_first="sorted(rows, key=lambda r: -sum(r))",
            smallest_sum_first="sorted(rows, key=sum)",
            by_first_cell="sorted(rows)",
            by_last_cell="sorted(rows, key=lambda r: r[-1:])",
            reversed="rows[::-1]",
            by_largest_cell="sorted(rows, key=lambda r: max(r, default=0))",
        ),
        constant("columns to keep", "right", Integer(1, 3), "rows = [r[:${right}] for r in rows]", "None"),
        constant("rows to keep", "keep", Integer(1, 3), "rows = rows[:${keep}]", "None"),
    ),
)

FUNCTIONS = (
    Function("clean_numbers", ("write a function that cleans up a list of numbers", "code a filter for numbers"), NUMBERS, "xs"),
    Function("total_of", ("write a function that adds up selected numbers", "code a sum over a list"), NUMBERS, "sum(xs)"),
    Function(
        "describe_numbers",
        ("write a function that gives count, sum and maximum of numbers", "code a small statistics function"),
        NUMBERS,
        "[len(xs), sum(xs), max(xs, default=0)]",
    ),
    Function(
        "running_total",
        ("write a function for running totals", "code a cumulative sum"),
        NUMBERS,
        "[sum(xs[:i + 1]) for i in range(len(xs))]",
    ),
    Function(
        "number_line",
        ("write a function that prints numbers on one line", "code a formatter for numbers"),
        NUMBERS,
        "' '.join(map(str, xs))",
    ),
    Function(
        "differences",
        ("write a function for the gaps between neighbours in a list", "code the differences of a list"),
        NUMBERS,
        "[b - a for a, b in zip(xs, xs[1:])] + xs[:1]",
    ),
    Function("sequence", ("write a function that makes a number sequence", "code a sequence generator"), TERMS, "xs"),
    Function("sequence_sum", ("write a function that sums a sequence", "code the sum of a series"), TERMS, "sum(xs)"),
    Function(
        "sequence_text", ("write a function that prints a sequence", "code a sequence printer"), TERMS, "', '.join(map(str, xs))"
    ),
    Function(
        "sequence_ends",
        ("write a function for the ends and the length of a sequence", "code a function that sums up a sequence by its ends"),
        TERMS,
        "xs[:2] + xs[-2:] + [len(xs)]",
    ),
    Function("tidy_words", ("write a function that tidies a list of words", "code a word filter"), WORD_LIST, "ws"),
    Function(
        "join_words",
        ("write a function that joins words", "code a function that makes one line of words"),
        WORD_LIST,
        "'/'.join(ws)",
    ),
    Function(
        "word_lengths",
        ("write a function that pairs words with their lengths", "code a table of word lengths"),
        WORD_LIST,
        "[[w, len(w)] for w in ws]",
    ),
    Function(
        "number_words",
        ("write a function that numbers words", "code a numbered word list"),
        WORD_LIST,
        "[str(i) + ' ' + w for i, w in enumerate(ws, 1)]",
    ),
    Function("format_text", ("write a function that formats a text", "code a text formatter"), TEXT, "s"),
    Function(
        "text_blocks",
        ("write a function that cuts a text into blocks", "code a text splitter"),
        TEXT,
        "[s[i:i + 8] for i in range(0, len(s), 8)]",
    ),
    Function(
        "measure_text",
        ("write a function that returns a text with its length", "code a function that measures a text"),
        TEXT,
        "[s, len(s)]",
    ),
    Function(
        "text_codes",
        ("write a function that turns a text into character codes", "code a text encoder"),
        TEXT,
        "[ord(c) for c in s]",
    ),
    Function(
        "list_entries", ("write a function that lists entries with amounts", "code a filter for amounts by name"), PAIRS, "rows"
    ),
    Function(
        "entry_lines",
        ("write a function that prints entries as lines", "code a report of names and amounts"),
        PAIRS,
        "[n + ': ' + str(a) for n, a in rows]",
    ),
    Function(
        "balance",
        ("write a function that totals entries", "code a balance of entries"),
        PAIRS,
        "[[n for n, _ in rows], sum(a for _, a in rows)]",
    ),
    Function(
        "amounts_of",
        ("write a function that takes the amounts out of entries", "code a function for names and amounts apart"),
        PAIRS,
        "[[n for n, _ in rows], [a for _, a in rows]]",
    ),
    Function("shape_grid", ("write a function that reshapes a grid", "code a grid transformation"), GRID, "rows"),
    Function(
        "row_sums",
        ("write a function for the row sums of a grid", "code a function that adds up the rows of a grid"),
        GRID,
        "[[sum(r)] + r[:2] for r in rows]",
    ),
    Function(
        "flat_grid",
        ("write a function that flattens a grid", "code a function that makes a list of a grid"),
        GRID,
        "[x for r in rows for x in r]",
    ),
)
