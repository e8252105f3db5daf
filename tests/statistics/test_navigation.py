"""Measures of a navigation episode: worked by hand, then as properties."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engine.statistics import navigation as nav

LENGTHS = st.floats(0, 1e4)
DISTANCES = arrays.arrays(np.float64, st.integers(1, 30), elements=LENGTHS)
PATHS = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.just(2)), elements=st.floats(-100, 100, width=32)
)


def test_an_episode_worked_by_hand() -> None:
    """3 m and 4 m at a right angle, then 1 m back; the goal is 5 m away along the shortest path."""
    path = [(0, 0), (3, 0), (3, 4), (3, 3)]
    to_goal = [5.0, 4.0, 0.5, 1.5]
    assert nav.path_length(path) == 8.0
    assert nav.navigation_error(to_goal) == 1.5
    assert nav.success(to_goal, radius=1.0) == 0.0
    assert nav.success(to_goal, radius=1.5) == 1.0
    assert nav.success(to_goal, radius=1.5, stopped=False) == 0.0
    assert nav.oracle_success(to_goal, radius=1.0) == 1.0
    assert nav.oracle_success(to_goal, radius=0.4) == 0.0
    assert nav.spl(1.0, shortest=5.0, travelled=8.0) == 0.625
    assert nav.spl(0.0, shortest=5.0, travelled=8.0) == 0.0
    assert nav.soft_spl(to_goal, travelled=8.0) == pytest.approx(0.7 * 0.625)


def test_a_path_shorter_than_the_shortest_is_not_rewarded() -> None:
    assert nav.spl(1.0, shortest=5.0, travelled=4.0) == 1.0


def test_dtw_worked_by_hand() -> None:
    """(0,0) pairs with (0,0) at 0, (1,0) with (1,1) at 1, (2,0) with (2,0) at 0; (3,0) with (2,0) at 1."""
    path = [(0, 0), (1, 0), (2, 0), (3, 0)]
    reference = [(0, 0), (1, 1), (2, 0)]
    assert nav.dtw(path, reference) == 2.0
    assert nav.ndtw(path, reference, radius=3.0) == pytest.approx(math.exp(-2 / 9))


@pytest.mark.parametrize(("travelled", "efficiency"), [(0.0, 1.0), (2.0, 0.0)])
def test_an_agent_that_starts_at_the_goal(travelled: float, efficiency: float) -> None:
    assert nav.spl(1.0, shortest=0.0, travelled=travelled) == efficiency
    assert nav.soft_spl([0.0, 0.0], travelled) == efficiency
    assert nav.soft_spl([0.0, 1.0], travelled) == 0.0


def test_a_goal_out_of_reach_is_a_failure_and_no_nan() -> None:
    to_goal = [math.inf, math.inf]
    assert nav.success(to_goal, 3.0) == nav.oracle_success(to_goal, 3.0) == 0.0
    assert nav.spl(0.0, shortest=math.inf, travelled=4.0) == nav.soft_spl(to_goal, 4.0) == 0.0
    assert nav.navigation_error(to_goal) == math.inf


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nav.navigation_error([]), "distances_to_goal has shape (0,)"),
        (lambda: nav.success([[1.0]], 1.0), "distances_to_goal has shape (1, 1)"),
        (lambda: nav.oracle_success([1.0, math.nan], 1.0), "negative number or NaN"),
        (lambda: nav.success([-1.0], 1.0), "negative number or NaN"),
        (lambda: nav.success([1.0], -1.0), "radius is -1.0"),
        (lambda: nav.success([1.0], math.nan), "radius is nan"),
        (lambda: nav.path_length([1.0, 2.0]), "path has shape (2,)"),
        (lambda: nav.path_length([(0.0, math.inf)]), "path holds a position that is not finite"),
        (lambda: nav.spl(1.5, 1.0, 1.0), "succeeded is 1.5"),
        (lambda: nav.spl(1.0, math.nan, 1.0), "shortest is nan"),
        (lambda: nav.spl(1.0, 1.0, -2.0), "travelled is -2.0"),
        (lambda: nav.dtw([(0, 0)], [(0, 0, 0)]), "path has 2 coordinates and reference 3"),
        (lambda: nav.ndtw([(0, 0)], np.empty((0, 2)), 1.0), "reference has shape (0, 2)"),
        (lambda: nav.ndtw([(0, 0)], [(0, 0)], 0.0), "radius is 0"),
    ],
)
def test_bad_input_is_named(call: object, words: str) -> None:
    with pytest.raises(ValueError) as raised:
        call()  # type: ignore[operator]
    assert words in str(raised.value)


@given(DISTANCES, LENGTHS)
def test_success_implies_oracle_success(distances: np.ndarray, radius: float) -> None:
    success = nav.success(distances, radius)
    assert success in (0.0, 1.0)
    assert success <= nav.oracle_success(distances, radius)
    assert success == (nav.navigation_error(distances) <= radius)


@given(st.floats(0, 1), LENGTHS, LENGTHS)
def test_spl_is_at_most_success_and_falls_with_the_way(succeeded: float, shortest: float, way: float) -> None:
    spl = nav.spl(succeeded, shortest, way)
    assert 0 <= spl <= succeeded
    assert nav.spl(succeeded, shortest, way + 1) <= spl
    assert nav.spl(succeeded, shortest, min(shortest, way)) == succeeded


@given(DISTANCES, LENGTHS)
def test_soft_spl_is_a_share(distances: np.ndarray, way: float) -> None:
    assert 0 <= nav.soft_spl(distances, way) <= 1


@given(PATHS)
def test_path_length_is_the_sum_of_its_legs(path: np.ndarray) -> None:
    legs = [math.dist(one, other) for one, other in pairwise(path)]
    assert nav.path_length(path) == pytest.approx(math.fsum(legs))
    assert nav.path_length(path[::-1]) == pytest.approx(nav.path_length(path))


def dtw_by_definition(path: np.ndarray, reference: np.ndarray) -> float:
    """The recurrence as it is written in the paper."""
    table = np.full((len(path) + 1, len(reference) + 1), math.inf)
    table[0, 0] = 0
    for i, one in enumerate(path, 1):
        for j, other in enumerate(reference, 1):
            before = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
            table[i, j] = math.dist(one, other) + before
    return float(table[-1, -1])


@given(PATHS, PATHS)
def test_dtw_is_the_recurrence_and_symmetric(path: np.ndarray, reference: np.ndarray) -> None:
    assert nav.dtw(path, reference) == pytest.approx(dtw_by_definition(path, reference))
    assert nav.dtw(path, reference) == pytest.approx(nav.dtw(reference, path))


@given(PATHS, PATHS, st.floats(0.1, 10))
def test_ndtw_is_1_for_the_same_path_and_rises_with_the_radius(
    path: np.ndarray, reference: np.ndarray, radius: float
) -> None:
    assert nav.ndtw(path, path, radius) == 1.0
    assert 0 <= nav.ndtw(path, reference, radius / 2) <= nav.ndtw(path, reference, radius) <= 1
