"""Grades per second: the warm sandbox against a fresh isolated interpreter for every answer, for code and SQL.

    python scripts/bench_grading.py --seconds 5

Both arms hold programs by the same kernel mechanisms and grade the same answers on one core; the arms take turns, so
that a machine busy with other work slows both. The bar is a ratio of 10.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from intentfold.graders import Sandbox

CODE = "def f(n):\n    return sorted(str(i) for i in range(n))[:3]"
CALLS = [{"function": "f", "args": [n]} for n in (10, 50, 100)]
SCRIPT = (
    "CREATE TABLE t (id INTEGER PRIMARY KEY, city TEXT, nights INTEGER);\n"
    + "".join(f"INSERT INTO t VALUES ({i}, 'city {i % 17}', {i % 9});\n" for i in range(500))
).encode()
QUERY = "SELECT city, sum(nights) FROM t GROUP BY city ORDER BY 2 DESC"


def python(sandbox: Sandbox) -> None:
    """One answer in Python, three calls."""
    assert all(call.error is None for call in sandbox.run_python(CODE, CALLS).calls)


def sql(sandbox: Sandbox) -> None:
    """One answer in SQL."""
    assert len(sandbox.run_sql(SCRIPT, QUERY).rows) == 17


def rates(run: Callable[[Sandbox], None], seconds: float, rounds: int = 5) -> tuple[float, float]:
    """Grades per second, (fresh, warm), each over `seconds` in all, in alternating rounds."""
    counts, spent = [0, 0], [0.0, 0.0]
    with Sandbox() as warm:
        run(warm)
        for _ in range(rounds):
            for arm in (0, 1):
                began = time.perf_counter()
                while time.perf_counter() - began < seconds / rounds:
                    if arm:
                        run(warm)
                    else:
                        with Sandbox() as fresh:
                            run(fresh)
                    counts[arm] += 1
                spent[arm] += time.perf_counter() - began
    return counts[0] / spent[0], counts[1] / spent[1]


def main(argv: list[str] | None = None) -> None:
    """Print one row for each kind of answer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="for each arm and kind")
    arguments = parser.parse_args(argv)
    with Sandbox() as sandbox:
        print("held by:", ", ".join(sandbox.mechanisms()))
    print(f"{'answers':8} {'fresh/s':>9} {'warm/s':>9} {'ratio':>7}")
    for name, run in (("code", python), ("sql", sql)):
        fresh, warm = rates(run, arguments.seconds)
        print(f"{name:8} {fresh:9.1f} {warm:9.1f} {warm / fresh:7.1f}")


if __name__ == "__main__":
    main()
