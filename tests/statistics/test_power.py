from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from engine.statistics.clusters import Grouping
from engine.statistics.intervals import Estimate, mean_estimate
from engine.statistics.multiplicity import holm
from engine.statistics.power import detectable_difference, more_episodes, power_of


def found(mean: float, sd: float, n: int) -> Estimate:
    return Estimate(mean, n, sd / math.sqrt(n), n - 1, None, "t")


@pytest.mark.parametrize("n", [5, 24, 100, 1_000, 100_000])
@pytest.mark.parametrize("sd", [0.3, 40.0])
def test_the_detectable_difference_agrees_with_statsmodels(n, sd):
    theirs = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) * sd
    assert detectable_difference(found(0.0, sd, n)) == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize(("effect", "n"), [(0.05, 50), (0.1, 100), (0.2, 100), (0.15, 12)])
def test_the_episodes_still_needed_agree_with_statsmodels(effect, n):
    theirs = math.ceil(TTestPower().solve_power(effect_size=effect, alpha=0.05, power=0.8))
    assert more_episodes(found(effect, 1.0, n)) == theirs - n
    assert more_episodes(found(-effect, 1.0, n)) == theirs - n
    stricter = math.ceil(TTestPower().solve_power(effect_size=effect, alpha=0.01, power=0.8))
    assert more_episodes(found(effect, 1.0, n), level=0.01) == stricter - n


@pytest.mark.parametrize(("signal", "df"), [(0.0, 5), (1.0, 30), (2.8, 99), (6.0, 3.5)])
def test_power_agrees_with_scipy(signal, df):
    assert power_of(signal, df) == pytest.approx(stats.nct.sf(stats.t.ppf(0.975, df), df, signal), abs=1e-9)


def test_power_of_an_overwhelming_difference_is_1():
    for signal in (50.0, 1e4, 1e12):
        assert power_of(signal, 50) == 1.0


def test_groups_are_needed_whole():
    values = np.random.default_rng(3).normal(0.3, size=60).tolist()
    grouped = mean_estimate(values, Grouping("scene", [i // 10 for i in range(60)]))
    assert more_episodes(grouped) % 10 == 0


def test_no_number_of_episodes_settles_what_does_not_differ():
    assert more_episodes(found(0.0, 1.0, 50)) is None
    assert more_episodes(found(1e-6, 1.0, 50)) is None
    assert more_episodes(Estimate(0.3, 1, None, None, None, "none")) is None
    assert more_episodes(found(0.5, 0.0, 50)) is None
    assert detectable_difference(found(0.0, 0.0, 50)) is None
    assert detectable_difference(Estimate(0.3, 1, None, None, None, "none")) is None


@pytest.mark.slow
@settings(deadline=None, max_examples=20)  # theirs takes 50 ms
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_agrees_with_statsmodels(p_values):
    expected = multipletests(p_values, method="holm")[1] if p_values else []
    assert holm(p_values) == pytest.approx(list(expected))


def test_holm_gives_the_published_values():
    # The worked example of the procedure's entry in Wikipedia: the first and the last are rejected.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
