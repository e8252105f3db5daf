from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.aggregate import How, aggregate
from engine.statistics.intervals import estimate
from engine.statistics.repeats import pass_at_k, pass_hat_k, repeats
from tests.statistics.making import Row, patient


def played(*outcomes, **fields):
    """Rows of episodes 0, 1, … whose repeats passed (1) or failed (0)."""
    return [
        Row(index, {"success": float(passed)}, repeat=repeat, **fields)
        for index, tries in enumerate(outcomes)
        for repeat, passed in enumerate(tries, 1)
    ]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_pass_rates_are_shares_of_all_choices_of_k_tries(n):
    for passed in range(n + 1):
        tries = [1] * passed + [0] * (n - passed)
        for k in range(1, n + 1):
            choices = list(combinations(tries, k))
            assert pass_at_k(n, passed, k) == pytest.approx(sum(map(any, choices)) / len(choices), abs=1e-15)
            assert pass_hat_k(n, passed, k) == pytest.approx(sum(map(all, choices)) / len(choices), abs=1e-15)


def test_pass_at_k_gives_the_published_shape():
    # Chen et al. 2021, section 2.1, with their n = 200 and k = 100: the product form that they compute.
    expected = 1 - math.prod(1 - 100 / i for i in range(200 - 7 + 1, 201))
    assert pass_at_k(200, 7, 100) == pytest.approx(expected, rel=1e-12)
    assert pass_at_k(2000, 1500, 900) == 1.0


@pytest.mark.parametrize("p", [0.0, 0.13, 0.5, 0.97, 1.0])
def test_pass_rates_are_unbiased(p):
    n = 7
    weights = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    for k in range(1, n + 1):
        at_least_one = math.fsum(w * pass_at_k(n, c, k) for c, w in enumerate(weights))
        assert at_least_one == pytest.approx(1 - (1 - p) ** k, abs=1e-12)
        assert math.fsum(w * pass_hat_k(n, c, k) for c, w in enumerate(weights)) == pytest.approx(
            p**k, abs=1e-12
        )


@pytest.mark.parametrize(("n", "passed", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1), (0, 0, 1)])
def test_impossible_counts_are_refused(n, passed, k):
    for estimator in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="k must lie between"):
            estimator(n, passed, k)


def test_a_table_of_repeats():
    found = repeats(played([1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]), "success")
    assert (found.episodes, found.fewest, found.most, found.flaky) == (4, 3, 3, 2)
    first, second, third = found.rates
    assert [rate.k for rate in found.rates] == [1, 2, 3]
    assert first.at_least_one.mean == first.all_of_them.mean == 0.5
    assert second.at_least_one.mean == pytest.approx((1 + 2 / 3 + 0 + 1) / 4)
    assert second.all_of_them.mean == pytest.approx((1 + 0 + 0 + 1 / 3) / 4)
    assert (third.at_least_one.mean, third.all_of_them.mean) == (0.75, 0.25)
    assert third.at_least_one == estimate([1.0, 1.0, 0.0, 1.0])
    assert (
        first.at_least_one.mean
        == aggregate(played([1, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0])).metrics["success"]
    )


def test_an_episode_with_too_few_measured_repeats_is_counted_and_left_out():
    rows = [
        *played([1, 1], [0, 1]),
        Row(2, {"success": 1.0}),
        Row(2, {"success": 1.0}, repeat=2, status="error"),
        Row(3, {}, status="error"),
    ]
    found = repeats(rows, "success", ks=[1, 2, 3])
    assert (found.episodes, found.fewest, found.most) == (3, 1, 2)
    one, two, three = found.rates
    assert (one.at_least_one.n, one.too_few) == (3, 0)
    assert (two.at_least_one.n, two.too_few) == (2, 1)
    assert (three.at_least_one, three.all_of_them, three.too_few) == (None, None, 3)


def test_nothing_measured_has_no_rates():
    found = repeats([Row(0, {}, status="error")], "success", ks=[1])
    assert (found.episodes, found.fewest, found.most, found.flaky) == (0, 0, 0, 0)
    assert found.rates[0].at_least_one is None
    assert repeats([], "success").rates == []


def test_only_passes_and_failures_can_be_counted():
    with pytest.raises(ValueError, match="spl is not 0 or 1"):
        repeats([Row(0, {"spl": 0.5})], "spl")


def test_intervals_stay_within_0_and_1_and_cluster_by_scene():
    rows = played(*[[1, 1, 1, 0]] * 3, *[[1, 1, 1, 1]] * 17)
    rates = repeats(rows, "success").rates
    assert all(0 <= end <= 1 for rate in rates for end in rate.all_of_them.ci95)
    for row in rows:
        row.scene_id = f"s{row.episode_index % 5}"
    assert repeats(rows, "success").rates[0].all_of_them.by == "scene"
    assert repeats(rows, "success", how=How(by="none")).rates[0].all_of_them.by is None


@patient
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=10), st.randoms())
def test_more_tries_help_one_and_hurt_all(outcomes, rng):
    rows = played(*outcomes)
    rng.shuffle(rows)
    found = repeats(rows, "success")
    assert repr(found) == repr(repeats(played(*outcomes), "success"))
    one = [rate.at_least_one.mean for rate in found.rates]
    every = [rate.all_of_them.mean for rate in found.rates]
    assert one == sorted(one)
    assert every == sorted(every, reverse=True)
    assert all(low <= high + 1e-12 for low, high in zip(every, one, strict=True))
