from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.aggregate import How, aggregate
from engine.statistics.stopping import LOOK_EVERY, UntilWidth, WidthWatch
from tests.statistics.making import Row, patient, successes


def width_of(rows):
    low, high = aggregate(rows).stats["success"].ci95
    return high - low


def follow(rule, rows, order):
    """What is kept when the rows end in this order of positions, and after how many it was known."""
    watch = WidthWatch(rule)
    for count, position in enumerate(order, 1):
        if watch.ended(position, rows[position]) is not None:
            return watch.kept, count
    return None, len(order)


def test_it_stops_at_the_first_look_at_which_the_interval_is_narrow():
    rows = successes([float(i % 3 > 0) for i in range(400)])
    kept, known = follow(UntilWidth("success", 0.2), rows, range(400))
    assert kept == known
    assert width_of(rows[:kept]) <= 0.2 < width_of(rows[: kept - LOOK_EVERY])
    assert follow(UntilWidth("success", 0.01), rows, range(400))[0] is None


def test_nothing_is_decided_before_the_minimum():
    rows = successes([1.0] * 100)
    assert follow(UntilWidth("success", 1.0, minimum=45), rows, range(100))[0] == 45


@patient
@given(st.integers(0, 10**6), st.integers(1, 16))
def test_the_same_episodes_are_kept_whichever_ended_first(seed, workers):
    coin = random.Random(seed)
    rows = successes([float(coin.random() < 0.9) for _ in range(200)])
    for row in rows:
        row.status = "error" if coin.random() < 0.05 else "completed"
    in_order, _ = follow(UntilWidth("success", 0.2), rows, range(200))
    waiting, order = list(range(200)), []
    while waiting:  # as many as there are workers run at once, and any of them may end first
        order.append(waiting.pop(coin.randrange(min(workers, len(waiting)))))
    assert follow(UntilWidth("success", 0.2), rows, order)[0] == in_order


def test_it_waits_for_the_beginning_of_the_list():
    rows = successes([1.0] * 60)
    watch = WidthWatch(UntilWidth("success", 0.5))
    for position in range(1, 60):
        assert watch.ended(position, rows[position]) is None
    assert watch.ended(0, rows[0]) == 30
    assert watch.ended(59, rows[59]) == watch.kept == 30


def test_errored_and_unmeasured_episodes_hold_their_place_and_add_nothing():
    rows = successes([1.0] * 100)
    for row in rows[:70]:
        row.status = "error"
    assert follow(UntilWidth("success", 0.3), rows, range(100))[0] == 80
    assert follow(UntilWidth("spl", 0.3), rows, range(100))[0] is None


def test_the_interval_is_the_one_that_the_summary_shows():
    rows = [Row(i, {"success": float(i % 8 < 4)}, scene_id=f"s{i % 8}") for i in range(200)]
    assert follow(UntilWidth("success", 0.15), rows, range(200))[0] is None
    alone = UntilWidth("success", 0.15, how=How(by="none"))
    assert follow(alone, rows, range(200))[0] == 170


@pytest.mark.parametrize("wrong", [{"width": 0.0}, {"width": float("nan")}, {"width": 0.1, "minimum": 0}])
def test_a_rule_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        UntilWidth("success", **wrong)
