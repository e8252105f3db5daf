from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.statistics.intervals import wilson_interval
from tui.short_figures import short_estimate, short_named


@pytest.mark.parametrize(
    ("mean", "ci95", "list_cell", "crumb"),
    [
        (0.5, (0.352, 0.648), "0.500±.148", "0.500±.148"),
        (0.0, (0.0, 0.4899), "0 0–.490", "0.000 [0, .490]"),
        (1.0, (0.99617, 1.0), "1 .996–1", "1.000 [.996, 1]"),
        (0.896, (0.8434, 0.9327), ".90 .84–.93", "0.896 [.843, .933]"),
        (0.6, (0.5523, 0.646), "0.60±.05", "0.600 [.552, .646]"),
        (-331.5, (-442.99, -220.01), "-332±111", "-331.500±111.490"),
        (7.75, (7.33, 8.17), "7.750±.420", "7.750±.420"),
        (123456.7, (123456.4, 123457.0), "123456.7±.3", "123456.700±.300"),
        (-0.05, (-0.25, 0.15), "-0.050±.200", "-0.050±.200"),
        (0.25, None, "0.250", "0.250"),
        (None, None, "-", "-"),
    ],
)
def test_a_mean_with_its_interval_in_few_cells(
    mean: float | None, ci95: tuple[float, float] | None, list_cell: str, crumb: str
) -> None:
    assert short_estimate(mean, ci95, 11) == list_cell
    assert short_estimate(mean, ci95, 18) == crumb


@pytest.mark.parametrize(
    ("mean", "metric", "told"),
    [
        (0.0, "return", "0 return"),
        (-21.0, "return", "-21 return"),
        (14.3671, "steps", "14.37 steps"),
        (-331.527, "return", "-332 return"),
        (0.25, "cumulative_reward", "0.250 cumu…"),
        (123456.7, "return", "1.235e+05"),
    ],
)
def test_a_mean_without_an_interval_says_of_what(mean: float, metric: str, told: str) -> None:
    assert short_named(mean, metric, 11) == told


def test_a_digit_is_given_up_before_the_mean_is() -> None:
    assert short_estimate(0.896, (0.8434, 0.9327), 16) == "0.90 [.84, .93]"


def ends(told: str) -> tuple[float, float, float]:
    """The ends that are told, and what a last digit is worth."""
    digits = max((len(tail) for tail in re.findall(r"\.(\d+)", told)), default=0)
    if "±" in told:
        mean, half = map(float, told.split("±"))
        return mean - half, mean + half, 10.0**-digits
    if "–" in told:
        low, high = map(float, told.partition(" ")[2].split("–"))
        return low, high, 10.0**-digits
    low, high = map(float, told.partition("[")[2].rstrip("]").split(", "))
    return low, high, 10.0**-digits


@given(st.integers(1, 3000), st.floats(0, 1), st.sampled_from([11, 18]))
def test_what_is_told_of_a_rate_is_its_interval_but_for_the_last_digit(
    n: int, share: float, room: int
) -> None:
    rate = round(share * n) / n
    found = wilson_interval(rate, n)
    told = short_estimate(rate, found, room)
    assert len(told) <= room
    assume("±" in told or "[" in told or "–" in told)
    low, high, digit = ends(told)
    assert low == pytest.approx(found[0], abs=1.6 * digit)
    assert high == pytest.approx(found[1], abs=1.6 * digit)


@given(st.floats(-1e5, 1e5), st.floats(0.01, 1e4), st.floats(0.01, 1e4), st.sampled_from([11, 18]))
def test_so_it_is_of_any_other(mean: float, below: float, above: float, room: int) -> None:
    told = short_estimate(mean, (mean - below, mean + above), room)
    assert len(told) <= room
    assume("±" in told or "[" in told or "–" in told)
    low, high, digit = ends(told)
    assert low == pytest.approx(mean - below, abs=1.6 * digit)
    assert high == pytest.approx(mean + above, abs=1.6 * digit)
