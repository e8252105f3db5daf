"""Against hand-worked paths and the doctests that the papers' authors published, and by their properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.statistics.fidelity import cls, collision_rate, sdtw
from engine.statistics.navigation import dtw, ndtw, path_length
from tests.statistics.making import patient

REFERENCE = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)]
coordinates = st.integers(-400, 400).map(lambda cm: cm / 100)
paths = st.integers(1, 8).flatmap(lambda n: arrays(np.float64, (n, 2), elements=coordinates))
radii = st.floats(0.1, 10)


def exactly(value):
    return pytest.approx(value, abs=1e-9)


def test_dtw_gives_the_figures_of_its_authors():
    # r4r/dtw.py of google-research: on their grid, with distances that are straight lines here too.
    path, reference = [(0, 0), (1, 0), (2, 0), (3, 0)], [(0, 0), (1, 0), (2, 1), (3, 2)]
    assert dtw(path, reference) == exactly(3.0)
    assert ndtw(path, reference, 3.0) == exactly(0.77880078307140488)
    assert sdtw(1.0, path, reference, 3.0) == exactly(0.77880078307140488)
    assert sdtw(0.0, path[:2], reference, 3.0) == 0.0


def test_cls_gives_the_figures_of_its_authors():
    # r4r/cls.py of google-research.
    assert cls(REFERENCE, REFERENCE, 3.0) == exactly(1.0)
    other = [(0, 0), (0, 1), (1, 1), (2, 1), (3, 1), (3, 2)]
    assert cls(REFERENCE, other, 3.0) == exactly(0.81994915125863865)
    short = [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert cls(REFERENCE, short, 3.0) == exactly(0.44197196102702557)


def test_hand_worked_paths():
    path, reference = [(0, 0), (1, 1)], [(0, 0), (1, 0), (2, 0)]
    # Pairs (0,0), (1,1), (1,2) at 0, 1 and sqrt(2) metres.
    assert dtw(path, reference) == exactly(1 + math.sqrt(2))
    assert ndtw(path, reference, 2.0) == exactly(math.exp(-(1 + math.sqrt(2)) / 6))
    assert sdtw(0.5, path, reference, 2.0) == exactly(0.5 * math.exp(-(1 + math.sqrt(2)) / 6))
    # Nearest distances 0, 1 and sqrt(2); lengths sqrt(2) of the path and 2 of the reference.
    coverage = (1 + math.exp(-1 / 2) + math.exp(-math.sqrt(2) / 2)) / 3
    expected = 2 * coverage
    assert cls(path, reference, 2.0) == exactly(
        coverage * expected / (expected + abs(expected - math.sqrt(2)))
    )


@patient
@given(paths, paths, radii)
def test_ranges_and_identity(path, reference, radius):
    for measure in (ndtw, cls):
        assert 0 <= measure(path, reference, radius) <= 1
        assert measure(path, path, radius) == exactly(1.0)
    assert sdtw(1.0, path, reference, radius) == ndtw(path, reference, radius)
    assert sdtw(0.0, path, reference, radius) == 0.0


@patient
@given(paths, radii, coordinates)
def test_paths_of_one_length_are_equally_far_from_each_other(path, radius, shift):
    other = path[::-1] + shift
    assert ndtw(path, other, radius) == exactly(ndtw(other, path, radius))


@patient
@given(paths, paths, radii, st.floats(0, 2 * math.pi), coordinates)
def test_only_the_shape_counts(path, reference, radius, angle, shift):
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    for measure in (ndtw, cls):
        moved = measure(path @ turn + shift, reference @ turn + shift, radius)
        assert moved == pytest.approx(measure(path, reference, radius), abs=1e-6)


@patient
@given(paths, paths, radii)
def test_a_detour_back_and_forth_costs_length_and_no_coverage(path, reference, radius):
    detour = np.concatenate([reference, path, reference])
    assert cls(detour, reference, radius) <= 1
    extra = path_length(detour) - path_length(reference)
    if path_length(reference) > 0:
        expected = path_length(reference)
        assert cls(detour, reference, radius) == exactly(expected / (expected + extra))


def test_a_reference_of_one_point_asks_for_standing_still():
    assert cls([(1.0, 2.0)], [(1.0, 2.0)], 3.0) == 1.0
    assert cls([(1.0, 2.0), (2.0, 2.0)], [(1.0, 2.0)], 3.0) == 0.0


@patient
@given(st.lists(st.booleans(), min_size=1))
def test_a_collision_rate_is_the_share_of_steps(steps):
    assert collision_rate(steps) == exactly(sum(steps) / len(steps))
    assert collision_rate([float(step) for step in steps]) == collision_rate(steps)


def test_no_step_is_no_measurement():
    assert math.isnan(collision_rate([]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cls([(0, 0)], [(0, 0, 0)], 3.0), "coordinates"),
        (lambda: cls([], [(0, 0)], 3.0), "path has shape"),
        (lambda: cls([(0, math.nan)], [(0, 0)], 3.0), "not finite"),
        (lambda: cls([(0, 0)], [(0, 0)], 0.0), "radius is 0"),
        (lambda: cls([(0, 0)], [(0, 0)], math.nan), "radius is nan"),
        (lambda: sdtw(1.5, [(0, 0)], [(0, 0)], 3.0), "succeeded is 1.5"),
        (lambda: collision_rate([0, 2]), "true and false"),
        (lambda: collision_rate([[0, 1]]), "must be"),
        (lambda: collision_rate([math.nan]), "true and false"),
    ],
)
def test_what_is_no_path_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
