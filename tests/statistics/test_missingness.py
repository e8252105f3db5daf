from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.aggregate import aggregate
from engine.statistics.budget import headline
from engine.statistics.missingness import missingness
from tests.statistics.making import Row, hostile_rows, patient, successes


def mixed():
    """20 planned: 12 passed, 4 failed, 1 unmeasured, 2 errored (one infra), 1 not run."""
    return [
        *successes([1.0] * 12 + [0.0] * 4),
        Row(16, {"success": None}),
        Row(17, {"success": 0.0}, status="error", error_class="infra"),
        Row(18, {}, status="error", error_class="graph"),
    ]


def test_every_planned_episode_is_accounted_for_and_bounds_the_rate():
    found = missingness(mixed(), "success", planned=20)
    assert (found.planned, found.measured, found.unmeasured, found.errored) == (20, 16, 1, 2)
    assert (found.infra, found.cancelled, found.not_run, found.retried) == (1, 0, 1, 0)
    assert (found.worst, found.best) == (12 / 20, 16 / 20)
    assert (found.lost, found.lost_share) == (3, 3 / 19)


def test_a_metric_without_a_known_range_has_no_bounds():
    rows = [Row(0, {"spl": 0.4}), Row(1, {})]
    assert missingness(rows, "spl").worst is None
    bounded = missingness(rows, "spl", span=(0.0, 1.0))
    assert (bounded.worst, bounded.best) == (0.2, pytest.approx(0.7))


def test_retried_then_passed_is_one_measured_episode():
    lines = [
        Row(0, {}, status="error", error_class="infra"),
        Row(1, {"success": 0.0}),
        Row(0, {}, status="error", error_class="infra"),
        Row(0, {"success": 1.0}),
    ]
    found = missingness(lines, "success")
    assert (found.planned, found.measured, found.errored, found.retried) == (2, 2, 0, 1)
    assert (found.worst, found.best) == (0.5, 0.5)
    assert headline(lines, "success").estimate.n == 2


@patient
@given(hostile_rows(), st.integers(0, 40), st.randoms())
def test_the_parts_add_up(rows, planned, rng):
    found = missingness(rows, "success", planned)
    assert found.planned == max(planned, len(rows))
    parts = found.measured + found.unmeasured + found.to_come + found.errored + found.cancelled
    assert parts + found.not_run == found.planned
    assert 0 <= found.infra <= found.errored
    assert 0 <= found.lost_share <= 1
    stat = aggregate(rows).stats.get("success")
    assert found.measured == (stat.n if stat else 0)
    if found.worst is not None:
        share = found.measured / found.planned
        assert found.worst == pytest.approx(stat.mean * share)
        assert found.best == pytest.approx(stat.mean * share + 1 - share)
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert repr(found) == repr(missingness(shuffled, "success", planned))


def test_what_is_still_being_scored_is_to_come_and_spends_nothing_of_the_budget():
    rows = [
        *(Row(i, {"success": 1.0, "pass": float(i > 0)}, graded={"pass": True}) for i in range(3)),
        *(Row(i, {"success": 0.0}, pending=True) for i in range(3, 9)),
    ]
    found = missingness(rows, "pass", planned=10)
    assert (found.measured, found.to_come, found.unmeasured, found.not_run) == (3, 6, 0, 1)
    assert (found.worst, found.best) == (0.2, 0.9)
    shown = headline(rows, "pass", planned=10, budget=0.0)
    assert (shown.withheld, shown.estimate.n) == (None, 3)
    told = headline(rows[3:], "pass").withheld
    assert told == "no episode has measured pass yet: 6 are still being scored"
    lost = [*rows, Row(9, {"success": None}, pending=True)]
    assert missingness(lost, "success").unmeasured == 1, "no judge gives what the graph did not"


def test_a_headline_within_the_budget_is_the_aggregates_number():
    rows = mixed()
    shown = headline(rows, "success", planned=20, budget=0.2)
    assert shown.withheld is None
    assert shown.estimate == aggregate(rows).stats["success"]


def test_above_the_budget_there_is_no_headline_and_it_says_why():
    shown = headline(mixed(), "success", planned=20, budget=0.1)
    assert shown.estimate is None
    assert shown.withheld == (
        "3 of 19 episodes gave no success: 2 errored (1 of them infra) and 1 unmeasured;"
        " 15.8 % is above the error budget of 10 %"
    )
    assert shown.missing.best == 16 / 20


@pytest.mark.parametrize("lost", [1, 3, 7])
def test_a_budget_that_is_just_used_up_is_not_exceeded(lost):
    rows = successes([1.0] * (10 - lost) + [math.nan] * lost)
    assert headline(rows, "success", budget=lost / 10).withheld is None
    assert headline(rows, "success", budget=lost / 10 - 1e-9).withheld is not None


def test_cancelled_episodes_spend_nothing_of_the_budget():
    rows = successes([1.0, 0.0]) + [Row(i, {}, status="cancelled") for i in range(2, 20)]
    shown = headline(rows, "success", planned=100, budget=0.0)
    assert shown.estimate.n == 2
    assert (shown.missing.cancelled, shown.missing.not_run) == (18, 80)
    assert (shown.missing.worst, shown.missing.best) == (0.01, 0.99)


def test_no_number_is_no_headline_whatever_the_budget():
    assert headline([], "success").withheld == "no episode has measured success"
    errored = [Row(i, {"success": 1.0}, status="error") for i in range(5)]
    assert "5 of 5 episodes gave no success: 5 errored;" in headline(errored, "success").withheld
    assert headline(errored, "success", budget=1.0).withheld == "no episode has measured success"
    assert missingness(errored, "success").worst is None


@pytest.mark.parametrize("budget", [-0.1, 1.5, math.nan])
def test_a_budget_is_a_share(budget):
    with pytest.raises(ValueError, match="error_budget"):
        headline([], "success", budget=budget)
