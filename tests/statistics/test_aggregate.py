from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.aggregate import How, aggregate
from engine.statistics.rows import finite
from engine.store.strict_json import encode
from tests.statistics.making import Row, any_floats, hostile_rows, patient, successes


def test_an_errored_episode_is_never_a_zero():
    rows = [
        Row(0, {"success": 1.0}),
        Row(1, {"success": 0.0}, status="error"),
        Row(2, {"success": 0.0}, status="cancelled"),
    ]
    assert aggregate(rows).metrics == {"success": 1.0}
    assert aggregate(rows).stats["success"].n == 1


def test_an_unmeasured_metric_is_left_out():
    rows = [Row(0, {"spl": 0.5, "ne": None}), Row(1, {"spl": math.nan}), Row(2, {"ne": math.inf})]
    result = aggregate(rows)
    assert result.metrics == {"spl": 0.5}
    assert result.stats["spl"].n == 1
    assert result.stats["spl"].ci95 is None


@pytest.mark.parametrize(
    "rows", [[], [Row(0, {"success": 1.0}, status="error")], [Row(0, {"success": math.nan})], [Row(0)]]
)
def test_nothing_measured_gives_nothing(rows):
    result = aggregate(rows)
    assert (result.metrics, result.by_task, result.stats) == ({}, {}, {})


def test_numpy_scalars_count_like_numbers():
    rows = successes([np.bool_(True), np.int64(0), np.float32(1), 1, True])
    found = aggregate(rows).stats["success"]
    assert (found.mean, found.n, found.method) == (0.8, 5, "wilson")


def test_one_metric_that_explodes_leaves_the_others_alone():
    rows = [Row(i, {"success": 1.0, "cost": v}) for i, v in enumerate([1e308, 1.7e308, -1e308, 1e308])]
    result = aggregate(rows)
    assert result.metrics == {"cost": pytest.approx(6.75e307), "success": 1.0}
    assert math.isfinite(result.stats["cost"].stderr)


def test_the_same_index_in_two_tasks_is_two_episodes():
    rows = [Row(0, {"s": 1.0}, task="a"), Row(0, {"s": 0.0}, task="b"), Row(0, {"s": 1.0}, task="b")]
    assert aggregate(rows).by_task == {"a": {"s": 1.0}, "b": {"s": 0.5}}
    assert aggregate(rows).stats["s"].n == 3


def test_the_interval_is_clustered_by_scene_unless_told_otherwise():
    rows = [Row(i, {"s": float(i % 10 < 5)}, scene_id=f"house{i % 10}") for i in range(100)]
    assert (aggregate(rows).stats["s"].by, aggregate(rows).stats["s"].groups) == ("scene", 10)
    assert aggregate(rows, How(by="none")).stats["s"].by is None


def test_a_bootstrap_replaces_t_and_not_wilson():
    rows = [Row(i, {"s": float(i % 2), "length": float(i * i)}) for i in range(20)]
    stats = aggregate(rows, How(otherwise="bca", seed=4)).stats
    assert (stats["s"].method, stats["length"].method) == ("wilson", "bca")
    assert stats == aggregate(rows, How(otherwise="bca", seed=4)).stats
    assert stats["length"] != aggregate(rows, How(otherwise="bca", seed=5)).stats["length"]


@patient
@given(st.lists(any_floats, min_size=1, max_size=60), st.randoms())
def test_the_order_of_completion_changes_no_bit(values, rng):
    rows = [Row(i, {"x": v}, scene_id=f"s{i % 7}") for i, v in enumerate(values)]
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert repr(aggregate(rows)) == repr(aggregate(shuffled))


@patient
@given(hostile_rows(), st.randoms())
def test_hostile_rows_add_up_in_any_order(rows, rng):
    result = aggregate(rows)
    for name, stat in result.stats.items():
        assert stat.n == sum(
            row.status == "completed" and finite(row.metrics.get(name)) is not None for row in rows
        )
        assert math.isfinite(stat.mean)
    assert set(result.metrics) == set(result.stats) == {n for names in result.by_task.values() for n in names}
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert repr(result) == repr(aggregate(shuffled))
    msgspec.json.decode(encode(result))
