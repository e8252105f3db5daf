from __future__ import annotations

import math
import random
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from engine.statistics.aggregate import aggregate
from engine.statistics.intervals import mean_interval, standard_error, t_interval, wilson_interval


@dataclass
class Row:
    episode_index: int
    metrics: dict[str, float | None]
    status: str = "completed"
    repeat: int = 1
    task: str = "_default"


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (7, 24), (24, 24), (813, 1000)])
def test_wilson_agrees_with_statsmodels(k: int, n: int) -> None:
    assert wilson_interval(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_t_interval_agrees_with_scipy(values: list[float]) -> None:
    stderr = standard_error(values)
    assert stderr is not None
    interval = t_interval(values)
    if stderr > 1e-9:
        expected = stats.t.interval(
            0.95, len(values) - 1, loc=math.fsum(values) / len(values), scale=stats.sem(values)
        )
        assert interval == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_an_errored_episode_is_never_a_zero() -> None:
    rows = [
        Row(0, {"success": 1.0}),
        Row(1, {"success": 0.0}, status="error"),
        Row(2, {}, status="cancelled"),
    ]
    assert aggregate(rows).metrics == {"success": 1.0}


def test_an_unmeasured_metric_is_left_out() -> None:
    rows = [Row(0, {"spl": 0.5, "ne": None}), Row(1, {"spl": math.nan}), Row(2, {"ne": math.inf})]
    result = aggregate(rows)
    assert result.metrics == {"spl": 0.5}
    assert result.stats["spl"].n == 1
    assert result.stats["spl"].ci95 is None


def test_nothing_finished_gives_nothing() -> None:
    assert aggregate([]).metrics == {}
    assert mean_interval([]) is None


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60), st.randoms())
def test_the_order_of_completion_changes_no_bit(values: list[float], rng: random.Random) -> None:
    rows = [Row(i, {"x": v}) for i, v in enumerate(values)]
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert aggregate(rows) == aggregate(shuffled)


def test_means_by_task_add_up() -> None:
    rows = [Row(i, {"s": float(i % 2)}, task=str(i % 3)) for i in range(12)]
    by_task = aggregate(rows).by_task
    assert set(by_task) == {"0", "1", "2"}
    assert by_task["0"]["s"] == 0.5
