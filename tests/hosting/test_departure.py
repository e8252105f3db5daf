"""The rule for when a batch leaves, on a clock of its own."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.hosting.departure import LEASE, LONGEST_WAIT, Departure

MS = 1e-3


def departure(full: int = 16, per_row: float = 0.0, fixed: float | None = 30 * MS) -> Departure:
    rule = Departure()
    rule.calibrate(full, per_row, fixed)
    return rule


def accustom(rule: Departure, caller: str, gap: float, answered: float) -> None:
    """``caller`` is live, sends ``gap`` seconds after each answer, and got its last one at ``answered``."""
    start = answered - 8 * (gap + MS)
    rule.announce(caller, True, start)
    for turn in range(8):
        now = start + turn * (gap + MS)
        rule.answered(caller, now)
        rule.sent(caller, now + gap)
    rule.answered(caller, answered)


def test_alone_leaves_at_once():
    rule = departure()
    rule.announce("a", True, 0.0)
    rule.sent("a", 1.0)
    assert rule.hold(["a"], 1.0, 1.0) == 0.0


def test_callers_that_never_registered_are_not_waited_for():
    rule = departure()
    for caller in (None, "x"):
        rule.sent(caller, 1.0)
        rule.answered(caller, 1.1)
        rule.sent(caller, 1.2)
    assert rule.hold([None], 2.0, 2.0) == 0.0


@pytest.mark.parametrize(
    ("gap", "forward", "waits"),
    [
        # the gap of callers that were answered just now, against the fixed time of a forward
        (0.05 * MS, 0.7 * MS, True),
        (0.05 * MS, 30 * MS, True),
        (10 * MS, 0.7 * MS, False),
        (10 * MS, 5 * MS, False),
        (10 * MS, 30 * MS, True),
        (500 * MS, 30 * MS, False),
    ],
)
def test_waits_for_seven_only_where_a_forward_is_dear(gap: float, forward: float, waits: bool):
    rule = departure(fixed=forward)
    for caller in "abcdefg":
        accustom(rule, caller, gap, 100.0)
    assert (rule.hold(["h"], 100.0, 100.0) > 0.0) is waits


def test_fast_callers_wait_for_each_other_and_not_for_slow_ones():
    rule = departure(fixed=30 * MS)
    for caller in "abcd":
        accustom(rule, caller, 0.1 * MS, 100.0)
    for caller in "wxyz":
        accustom(rule, caller, 800 * MS, 100.0)
    assert rule.hold(["a"], 100.0, 100.0) > 0.0
    assert rule.hold(["a", "b", "c", "d"], 100.0, 100.0) == 0.0


def test_rows_that_save_nothing_by_being_together_never_wait():
    rule = departure(per_row=5 * MS, fixed=0.0)
    accustom(rule, "b", 0.1 * MS, 100.0)
    assert rule.hold(["a"], 100.0, 100.0) == 0.0


def test_full_leaves():
    rule = departure(full=3)
    for caller in "abcdef":
        accustom(rule, caller, 0.1 * MS, 100.0)
    assert rule.hold(["a", "b"], 100.0, 100.0) > 0.0
    assert rule.hold(["a", "b", "c"], 100.0, 100.0) == 0.0


def test_unknown_cost_leaves_until_one_was_measured():
    rule = departure(fixed=None)
    accustom(rule, "b", 0.1 * MS, 100.0)
    assert rule.hold(["a"], 100.0, 100.0) == 0.0
    rule.measured(1, 30 * MS)
    assert rule.hold(["a"], 100.0, 100.0) > 0.0


def test_one_slow_forward_does_not_change_the_rule():
    rule = departure(fixed=0.5 * MS)
    accustom(rule, "b", 10 * MS, 100.0)
    for seconds in (0.5 * MS, 0.6 * MS, 900 * MS, 0.5 * MS):
        rule.measured(1, seconds)
    assert rule.hold(["a"], 100.0, 100.0) == 0.0


def test_a_caller_that_leaves_is_not_waited_for_and_remembered_when_it_returns():
    rule = departure()
    accustom(rule, "b", 1 * MS, 100.0)
    rule.announce("b", False, 100.0)
    assert rule.hold(["a"], 100.0, 100.0) == 0.0
    rule.announce("b", True, 200.0)
    assert rule.hold(["a"], 200.0, 200.0) > 0.0


def test_a_late_caller_is_given_up_after_a_while():
    rule = departure(fixed=30 * MS)
    accustom(rule, "b", 10 * MS, 100.0)
    assert rule.hold(["a"], 100.0, 100.0 + 11 * MS) > 0.0
    assert rule.hold(["a"], 100.0, 100.0 + 45 * MS) == 0.0


def test_nobody_waits_longer_than_the_limit():
    rule = departure(fixed=10.0)
    accustom(rule, "b", 60 * MS, 100.0)
    hold = rule.hold(["a"], 100.0, 100.0 + 30 * MS)
    assert 0.0 < hold <= LONGEST_WAIT - 30 * MS + 1e-9
    assert rule.hold(["a"], 100.0, 100.0 + LONGEST_WAIT) == 0.0


@pytest.mark.parametrize(
    ("last_request", "now", "waited_for"), [(0.0, 0.9, True), (0.0, 1.1, False), (0.9, 1.5, True)]
)
def test_the_lease_of_a_dead_run_ends_and_requests_renew_it(
    last_request: float, now: float, waited_for: bool
):
    rule = departure(fixed=100 * LEASE)
    rule.announce("a", True, 0.0)
    rule.sent("a", last_request * LEASE)
    rule.answered("a", last_request * LEASE)
    assert (rule.hold([None], now * LEASE, now * LEASE) > 0.0) is waited_for
    rule.announce("a", True, now * LEASE)
    assert rule.hold([None], now * LEASE, now * LEASE) > 0.0


@given(
    gaps=st.lists(st.floats(0, 10), min_size=1, max_size=8),
    fixed=st.floats(0, 1),
    per_row=st.floats(0, 0.1),
    age=st.floats(0, 1),
    sizes=st.tuples(st.integers(1, 8), st.integers(1, 8)),
)
def test_every_answer_is_a_wait_that_ends_in_time(
    gaps: list[float], fixed: float, per_row: float, age: float, sizes: tuple[int, int]
):
    full, rows = sizes
    rule = departure(full, per_row, fixed)
    for index, gap in enumerate(gaps):
        accustom(rule, str(index), gap, 1000.0)
    hold = rule.hold([None] * rows, 1000.0, 1000.0 + age)
    assert 0.0 <= hold <= max(0.0, LONGEST_WAIT - age) + 1e-9  # 1000 + age is rounded
    assert hold == 0.0 or rows < full


class WhenIdle(Departure):
    def hold(self, waiting, oldest, now):
        return 0.0


class WhenAllSent(Departure):
    def hold(self, waiting, oldest, now):
        return max(0.0, oldest + LONGEST_WAIT - now) if len(waiting) < len(self._callers) else 0.0


def steps_a_second(
    rule: Departure, callers: int, gap: Callable[[random.Random], float], fixed: float, per_row: float
) -> float:
    """Three simulated seconds of a server under ``rule`` and callers that send ``gap`` after each answer."""
    chance = {str(caller): random.Random(caller) for caller in range(callers)}
    order = count()
    events: list[tuple[float, int, str, list[str]]] = []
    waiting: list[tuple[str, float]] = []
    busy, idle_since, steps, now = False, 0.0, 0, 0.0
    rule.calibrate(16, per_row, fixed)
    for caller, own in chance.items():
        rule.announce(caller, True, 0.0)
        heapq.heappush(events, (gap(own), next(order), "sent", [caller]))
    while now < 3.0:
        now, _, kind, names = heapq.heappop(events)
        if kind == "sent":
            rule.sent(names[0], now)
            waiting.append((names[0], now))
        elif kind == "answered":
            busy, idle_since, steps = False, now, steps + len(names)
            rule.measured(len(names), fixed + per_row * len(names))
            for caller in names:
                rule.answered(caller, now)
                heapq.heappush(events, (now + gap(chance[caller]), next(order), "sent", [caller]))
        if busy or not waiting:
            continue
        hold = rule.hold([caller for caller, _ in waiting], max(waiting[0][1], idle_since), now)
        if hold > 0.0:
            heapq.heappush(events, (now + hold, next(order), "look again", []))
            continue
        batch, waiting, busy = [caller for caller, _ in waiting[:16]], waiting[16:], True
        heapq.heappush(events, (now + fixed + per_row * len(batch), next(order), "answered", batch))
    return steps / now


def no_time(rng: random.Random) -> float:
    return (0.02 + 0.05 * rng.random()) * MS


def jitter(rng: random.Random) -> float:
    return (5 + 10 * rng.random()) * MS


def jitter_and_resets(rng: random.Random) -> float:
    return jitter(rng) + (300 * MS if rng.random() < 0.05 else 0.0)


def memoryless(rng: random.Random) -> float:
    return rng.expovariate(1 / (10 * MS))


@pytest.mark.parametrize("callers", [1, 8, 16])
@pytest.mark.parametrize("gap", [no_time, jitter, jitter_and_resets, memoryless])
@pytest.mark.parametrize(
    ("fixed", "per_row"), [(0.7, 0.09), (5, 0.2), (30, 1), (0, 5)], ids=["policy", "5ms", "30ms", "no gain"]
)
def test_one_rule_is_near_the_best_of_two_opposite_ones(
    callers: int, gap: Callable[[random.Random], float], fixed: float, per_row: float
):
    ours, idle, full = (
        steps_a_second(rule, callers, gap, fixed * MS, per_row * MS)
        for rule in (Departure(), WhenIdle(), WhenAllSent())
    )
    assert ours >= 0.95 * max(idle, full)
