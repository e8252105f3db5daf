from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.descriptivestats import sign_test as their_sign_test

from engine.statistics.clusters import Grouping
from engine.statistics.paired import (
    RESAMPLED_UP_TO,
    bonett_price,
    mcnemar_test,
    mean_difference,
    permutation_test,
    sign_test,
)
from tests.statistics.making import floats, patient

outcomes = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=1, max_size=60
)


def all_swaps(totals):
    """Two-sided p-value over every way to swap the sides."""
    observed = abs(math.fsum(totals))
    sums = [
        abs(math.fsum(s * t for s, t in zip(signs, totals, strict=True)))
        for signs in product((1, -1), repeat=len(totals))
    ]
    return sum(total >= observed * (1 - 1e-12) for total in sums) / len(sums)


@pytest.mark.parametrize(("lost", "won"), [(0, 0), (0, 3), (1, 7), (12, 12), (5, 19)])
def test_few_discordant_pairs_are_tested_exactly_as_by_statsmodels(lost, won):
    theirs = mcnemar([[10, lost], [won, 20]], exact=True).pvalue
    assert mcnemar_test(lost, won) == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize(("lost", "won"), [(5, 20), (30, 30), (86, 150), (1000, 1400)])
def test_many_discordant_pairs_are_tested_as_by_statsmodels(lost, won):
    theirs = mcnemar([[10, lost], [won, 20]], exact=False, correction=False).pvalue
    assert mcnemar_test(lost, won) == pytest.approx(theirs, rel=1e-12)


def test_mcnemar_gives_the_published_value():
    # Agresti, Categorical Data Analysis, 10.1.1: ratings of the prime minister; z squared is 17.36.
    assert stats.chi2.isf(mcnemar_test(150, 86), 1) == pytest.approx(17.36, abs=5e-3)


@patient
@given(st.lists(st.one_of(floats, st.just(0.0)), min_size=1, max_size=40))
def test_the_sign_test_agrees_with_statsmodels(found):
    assume(any(found))
    assert sign_test(found) == pytest.approx(their_sign_test(found)[1], rel=1e-12)


@patient
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9))
def test_few_differences_are_permuted_exactly(found):
    values = list(map(float, found))
    assert permutation_test(values) == pytest.approx(all_swaps(values))


@patient
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 4)), min_size=1, max_size=15))
def test_groups_are_swapped_whole(pairs):
    values, labels = [float(v) for v, _ in pairs], [label for _, label in pairs]
    totals = [
        sum(v for v, other in zip(values, labels, strict=True) if other == label) for label in set(labels)
    ]
    assert permutation_test(values, Grouping("scene", labels)) == pytest.approx(all_swaps(totals))


@patient
@given(st.integers(0, 10), st.integers(0, 10))
def test_permuting_outcomes_is_the_exact_mcnemar_test(lost, won):
    assume(lost + won <= 13)
    found = [-1.0] * lost + [1.0] * won + [0.0] * 5
    assert permutation_test(found) == pytest.approx(mcnemar_test(lost, won))


def test_random_swaps_agree_with_a_t_test_of_normal_differences():
    found = np.random.default_rng(0).normal(0.2, size=150)
    assert permutation_test(found.tolist()) == pytest.approx(stats.ttest_1samp(found, 0).pvalue, abs=0.01)


def test_many_differences_are_tested_by_what_random_swaps_approach():
    rng = np.random.default_rng(1)
    found = rng.exponential(size=RESAMPLED_UP_TO + 1) - 0.96
    theirs = stats.permutation_test(
        (found,), np.mean, permutation_type="samples", n_resamples=4_000, batch=500, vectorized=True, rng=rng
    )
    assert permutation_test(found.tolist()) == pytest.approx(theirs.pvalue, abs=0.02)


def test_random_swaps_are_seeded_and_do_not_know_the_order():
    found = np.random.default_rng(2).normal(0.1, size=80).tolist()
    p = permutation_test(found, seed=5)
    assert permutation_test(found[::-1], seed=5) == p
    assert permutation_test(found, seed=6) != p


@patient
@given(st.lists(st.tuples(floats, floats), min_size=2, max_size=25))
def test_the_difference_is_scipys_paired_t(pairs):
    left, right = map(list, zip(*pairs, strict=True))
    found = np.subtract(right, left)
    assume(np.ptp(found) > 1e-6 * np.abs(found).max())
    assume(not set(left) | set(right) <= {0.0, 1.0})
    theirs = stats.ttest_rel(right, left).confidence_interval()
    scale = np.abs(found).max()
    assert mean_difference(left, right).ci95 == pytest.approx(tuple(theirs), rel=1e-6, abs=1e-9 * scale)


def test_a_difference_of_rates_is_walds_after_one_more_pair_of_each_kind():
    # Data of Bentur et al. 2009 as in Fagerland, Lydersen & Laake 2014, Stat. Med. 33:2850-2875: 21 pairs, of
    # which 1 and 7 discordant. By hand: 2/23 - 8/23 -+ 1.96 sqrt((10/23 - (6/23)^2) / 23).
    _, interval = bonett_price(lost=7, won=1, n=21)
    assert interval == pytest.approx((-0.5084, -0.0134), abs=5e-5)


@patient
@given(outcomes)
def test_a_difference_of_rates_agrees_with_augmented_data(pairs):
    left, right = map(list, zip(*pairs, strict=True))
    augmented = np.append(np.subtract(right, left), [1.0, -1.0])
    half = stats.norm.ppf(0.975) * augmented.std() / math.sqrt(len(augmented))
    expected = np.clip((augmented.mean() - half, augmented.mean() + half), -1, 1)
    found = mean_difference(left, right)
    assert found.ci95 == pytest.approx(tuple(expected))
    assert found.mean == pytest.approx(np.mean(right) - np.mean(left))
    assert found.ci95[0] <= found.mean <= found.ci95[1]
    assert found.ci95[0] < found.ci95[1]


@patient
@given(outcomes, st.randoms())
def test_swapping_the_runs_mirrors_the_difference(pairs, rng):
    left, right = map(list, zip(*pairs, strict=True))
    scenes = Grouping("scene", [rng.randrange(6) for _ in pairs])
    for grouping in (None, scenes):
        there, back = mean_difference(left, right, grouping), mean_difference(right, left, grouping)
        assert there.mean == -back.mean
        if there.ci95 is None:
            assert back.ci95 is None
        else:
            assert there.ci95 == pytest.approx((-back.ci95[1], -back.ci95[0]), abs=1e-12)


def test_rates_that_differ_by_scene_are_less_certain():
    left = [0.0] * 60
    right = [float(i % 6 == 0) for i in range(60)]
    alone = mean_difference(left, right)
    grouped = mean_difference(left, right, Grouping("scene", [i % 6 for i in range(60)]))
    assert grouped.ci95[0] < 0 < alone.ci95[0]
    assert (grouped.by, grouped.groups, grouped.method) == ("scene", 6, "bonett-price")


def test_one_pair_and_one_group():
    assert mean_difference([0.0], [1.0]).ci95 == (pytest.approx(bonett_price(0, 1, 1)[1][0]), 1.0)
    assert mean_difference([0.2], [0.9]).ci95 is None
    assert mean_difference([0.0, 1.0], [1.0, 1.0], Grouping("scene", ["s", "s"])).ci95 is None


def test_equal_runs_are_no_evidence():
    assert sign_test([0.0] * 9) == permutation_test([0.0] * 9) == mcnemar_test(0, 0) == 1.0
