"""What calls cost: sums, latencies and a server's load, by hand and against a server of our own."""

from __future__ import annotations

import time

import pytest

from intentfold.dialogue import Turn
from intentfold.runtime.journal import Journal, JournaledBackend
from intentfold.runtime.openai_api import OpenAIBackend
from intentfold.runtime.roles import Completion
from intentfold.runtime.scripted import CannedBackend
from intentfold.runtime.timing import TimedBackend, Usage, covered
from tests.served import chat_server


def test_calls_are_timed_and_summed_over_runs_and_a_journal_costs_nothing(tmp_path) -> None:
    prompts = [(Turn("user", f"prompt {n}"),) for n in range(3)]
    canned = CannedBackend({}, otherwise="two words")
    timed = TimedBackend(canned, Journal(tmp_path / "timings.jsonl"))
    served = JournaledBackend(timed, Journal(tmp_path / "completions.jsonl"), chunk=2)
    served.complete(prompts, 5)
    served.complete(prompts, 5)
    found = TimedBackend(canned, Journal(tmp_path / "timings.jsonl")).usage()
    assert (found.prompts, found.prompt_tokens, found.completion_tokens) == (3, 6, 6)
    assert found.seconds > 0
    assert TimedBackend(CannedBackend({}, name="another"), timed.journal).usage() == Usage()


SPANS = [
    ([], 0.0),
    ([(0, 2), (1, 3)], 3.0),
    ([(0, 4), (1, 2)], 4.0),
    ([(5, 6), (0, 1)], 2.0),
    ([(0, 1), (1, 2), (1.5, 1.75)], 2.0),
]


@pytest.mark.parametrize(("spans", "time"), SPANS)
def test_how_long_spans_cover(spans, time) -> None:
    assert covered(spans) == time


class Clocked:
    """A server of two requests at a time, on a clock of its own: each call ends `call` seconds after it began."""

    name, concurrency = "clocked", 2

    def __init__(self, monkeypatch) -> None:
        self.now, self.spans, self.call = 0.0, [], 0.0
        monkeypatch.setattr("intentfold.runtime.timing.time.perf_counter", lambda: self.now)

    def complete(self, prompts, max_tokens):
        begin, self.now = self.now, self.now + self.call
        return [Completion("x", 1, 1, True, span=(begin + a, begin + b)) for a, b in self.spans]


def test_latencies_and_load_by_hand_over_two_runs(tmp_path, monkeypatch) -> None:
    clock = Clocked(monkeypatch)
    prompts = [(Turn("user", f"prompt {n}"),) for n in range(5)]
    for start, asked in ((100.0, prompts[:3]), (7.0, prompts[3:])):  # the second run's clock begins elsewhere
        clock.now = start
        timed = TimedBackend(clock, Journal(tmp_path / "timings.jsonl"))
        clock.now += 1
        clock.call, clock.spans = 4.0, [(0.0, 2.0), (0.0, 4.0), (2.0, 3.0)][: len(asked)]
        timed.complete(asked, 5)
        clock.now += 2  # the loop's own work
        clock.call, clock.spans = 1.0, [(0.25, 0.75)]
        timed.complete(asked[:1], 6)
    found = timed.usage()
    assert (found.prompts, found.seconds) == (7, 10.0)
    assert sorted(found.latencies) == [0.5, 0.5, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert (found.latency(50), found.mean_latency) == (2.0, 2.0)
    assert found.latency(95) == pytest.approx(4.0)
    assert found.latency(25) == pytest.approx(0.75)  # linear between neighbours
    assert found.wall == 14.0  # 4 + 2 + 1, twice
    assert found.busy_share == pytest.approx(9.0 / 14.0)  # 4 and 0.5 a run
    assert found.in_flight == pytest.approx(14.0 / (14.0 * 2))


def test_a_served_model_tells_its_requests_and_its_load(tmp_path) -> None:
    def slow(body):
        time.sleep(0.2 if body["messages"][-1]["content"] == "slow" else 0.02)
        return "x"

    with chat_server(slow) as (url, _):
        timed = TimedBackend(OpenAIBackend(url, "m", concurrency=1), Journal(tmp_path / "timings.jsonl"))
        timed.complete([(Turn("user", said),) for said in ("slow", "one", "two")], 5)
        time.sleep(0.2)
        timed.complete([(Turn("user", "four"),)], 5)
    found = timed.usage()
    assert max(found.latencies) > 0.2
    # Requests of one call have times of their own, and one that waits for its turn is not at the server.
    assert found.latency(50) < 0.15
    assert 0.2 < found.busy_share < 0.9
    assert found.in_flight == pytest.approx(found.busy_share)  # one at a time


def test_what_is_not_served_has_latencies_and_no_load(tmp_path) -> None:
    timed = TimedBackend(CannedBackend({}, otherwise="x"), Journal(tmp_path / "timings.jsonl"))
    timed.complete([(Turn("user", "a"),), (Turn("user", "b"),)], 5)
    found = timed.usage()
    assert found.latencies[0] == found.latencies[1] == pytest.approx(found.seconds)  # the call's, where nothing better is known
    assert (found.in_flight, found.busy_share) == (None, None)
    assert Usage().latency(50) is None
