from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.statistics
from engine.statistics.rows import Place, column, columns, finite, settle
from engine.statistics.sums import mean
from engine.store.records import EpisodeRow
from tests.statistics.making import Row, any_floats, floats, hostile_rows, patient


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (True, 1.0),
        (3, 3.0),
        (np.float16(0.5), 0.5),
        (np.float32(0.25), 0.25),
        (np.longdouble(2), 2.0),
        (np.int8(-1), -1.0),
        (np.uint64(7), 7.0),
        (np.bool_(True), 1.0),
        (np.array(4.5), 4.5),
        (None, None),
        (math.nan, None),
        (math.inf, None),
        (np.float32("-inf"), None),
        (np.float64("nan"), None),
        (10**400, None),
    ],
)
def test_what_is_a_measured_number(raw, value):
    found = finite(raw)
    assert found == value
    assert found is None or type(found) is float


def test_a_column_holds_the_completed_rows_that_have_the_metric_in_identity_order():
    rows = [
        Row(1, {"spl": 0.2}, task="b", scene_id="s"),
        Row(1, {"spl": 0.1}, task="a"),
        Row(0, {"spl": math.nan}),
        Row(2, {"spl": 1.0}, status="error"),
        Row(3, {"other": 1.0}),
    ]
    found = column(rows, "spl")
    assert found.values == [0.1, 0.2]
    assert found.places[1] == Place((1, '{"task_id": "b"}'), "b", "s")
    assert column(rows, "nowhere").values == []
    assert list(columns(rows)) == ["other", "spl"]


def test_a_stored_row_is_a_row():
    stored = EpisodeRow(
        episode_index=4,
        status="completed",
        termination="stopped",
        metrics={"success": 1.0},
        scene_id="s",
        selectors={"task_id": "pick"},
        repeat=2,
    )
    found = column([stored], "success")
    assert found.places == [Place((4, '{"task_id":"pick"}'), "pick", "s")]


def test_the_last_line_of_an_identity_wins_and_tells_a_retry_from_a_rescore():
    lines = [
        Row(1, {"success": 0.0}, status="error", error_class="infra"),
        Row(0, {}),
        Row(0, {"success": 1.0}),
        Row(1, {"success": 1.0}),
        Row(1, {"success": 0.0}, task="other"),
    ]
    rows, retried = settle(lines)
    assert [(row.task, row.metrics["success"]) for row in rows] == [
        ("_default", 1.0),
        ("other", 0.0),
        ("_default", 1.0),
    ]
    assert retried == 1


@patient
@given(hostile_rows(), st.randoms())
def test_columns_do_not_know_the_order_of_completion(rows, rng):
    shuffled = rows[:]
    rng.shuffle(shuffled)
    assert columns(rows) == columns(shuffled)


@patient
@given(st.lists(any_floats, min_size=1), st.randoms())
def test_a_mean_lies_within_its_values_and_never_overflows(values, rng):
    shuffled = values[:]
    rng.shuffle(shuffled)
    assert mean(values) == mean(shuffled)
    slack = max(map(abs, values)) * 1e-15
    assert min(values) - slack <= mean(values) <= max(values) + slack


@patient
@given(st.lists(floats, min_size=1))
def test_a_mean_is_the_exact_sum_by_the_number(values):
    assert mean(values) == pytest.approx(math.fsum(values) / len(values), rel=1e-15, abs=1e-300)


MEASURES = ("__init__", "navigation", "fidelity", "trajectory")
"""What nodesets use; the others are what reads results."""


def test_nothing_here_loads_numpy_or_scipy_before_it_computes():
    folder = Path(engine.statistics.__file__).parent
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem not in MEASURES)
    code = "import sys\n" + "".join(f"import engine.statistics.{name}\n" for name in names)
    code += "print(*{'numpy', 'scipy'} & sys.modules.keys())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "comparison" in names
    assert answer.stdout.strip() == ""
