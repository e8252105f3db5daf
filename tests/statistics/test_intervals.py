from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from engine import figures
from engine.statistics.clusters import Grouping, spread
from engine.statistics.intervals import (
    estimate,
    mean_estimate,
    quantile,
    t_interval,
    wilson_interval,
)
from engine.statistics.kinds import is_bounded
from engine.statistics.sums import mean
from tests.statistics.making import any_floats, floats, patient


def bca(values, grouping=None, seed=0):
    return mean_estimate(values, grouping, "bca", seed).ci95


rates = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe 1998, Stat. Med. 17:857-872, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_intervals(successes, n, low, high):
    assert wilson_interval(successes / n, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 20), (7, 24), (24, 24), (813, 1000), (1, 100_000)])
def test_wilson_agrees_with_statsmodels(k, n):
    assert wilson_interval(k / n, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)


@pytest.mark.parametrize("df", [1, 2.5, 9, 1e6, math.inf])
def test_quantiles_agree_with_scipy(df):
    assert quantile(df) == pytest.approx(stats.t.ppf(0.975, df))
    assert quantile(df, 0.01) == pytest.approx(stats.t.ppf(0.995, df))


@patient
@given(st.lists(floats, min_size=2, max_size=30))
def test_t_agrees_with_scipy(values):
    found = spread(values)
    scale = max(map(abs, values))
    assume(np.ptp(values) > 1e-6 * scale > 0)
    assert found.stderr == pytest.approx(stats.sem(values), rel=1e-7)
    expected = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    assert t_interval(mean(values), found) == pytest.approx(expected, rel=1e-7, abs=1e-9 * scale)


def test_t_gives_the_published_interval():
    # Student 1908, "The probable error of a mean": extra hours of sleep by hyoscyamine, as in every R manual.
    extra = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    assert estimate(extra).ci95 == pytest.approx((0.8976775, 3.7623225), abs=5e-7)


def test_bca_is_scipys_at_a_stretched_level():
    values = np.random.default_rng(7).lognormal(size=40)
    level = 1 - 2 * stats.norm.cdf(-math.sqrt(40 / 39) * stats.t.ppf(0.975, 39))
    assert 0.95 < level < 0.965
    theirs = stats.bootstrap(
        (np.sort(values),), np.mean, confidence_level=level, rng=np.random.default_rng(3)
    ).confidence_interval
    assert bca(values.tolist(), seed=3) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


def test_bca_of_groups_resamples_whole_groups():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 9, 30)
    labels = np.repeat(np.arange(30), sizes)
    values = rng.exponential(size=len(labels)) + rng.exponential(size=30)[labels]
    ours = bca(values.tolist(), Grouping("scene", labels.tolist()), seed=1)

    def ratio(chosen):
        return sum(values[labels == g].sum() for g in chosen) / sum(sizes[g] for g in chosen)

    theirs = stats.bootstrap((np.arange(30),), ratio, vectorized=False, rng=np.random.default_rng(9))
    width = ours[1] - ours[0]
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=0.05 * width)
    alone = bca(values.tolist(), seed=1)
    assert width > 1.2 * (alone[1] - alone[0])


def test_bca_reaches_further_where_the_values_do():
    low, high = bca(np.random.default_rng(2).lognormal(sigma=1.5, size=60).tolist())
    centre = mean(np.random.default_rng(2).lognormal(sigma=1.5, size=60).tolist())
    assert high - centre > centre - low > 0


@patient
@given(st.lists(any_floats, min_size=2, max_size=12), st.integers(0, 5), st.randoms())
def test_bca_is_a_number_whatever_the_values_and_their_order(values, seed, rng):
    assume(max(map(abs, values)) < 1e300)
    assume(min(values) < max(values))
    shuffled = values[:]
    rng.shuffle(shuffled)
    low, high = bca(values, seed=seed)
    assert low <= high
    assert bca(shuffled, seed=seed) == (low, high)


@pytest.mark.parametrize("method", ["t", "bca"])
@pytest.mark.parametrize("values", [[0.1] * 7, [0.8, 0.8], [0.0] * 5, [1e300] * 3])
def test_values_that_are_all_the_same_have_no_interval(method, values):
    """One without a width would say that the mean of all episodes is known for certain."""
    found = mean_estimate(values, None, method)
    assert found.mean == pytest.approx(values[0])
    assert (found.n, found.stderr, found.ci95, found.method) == (len(values), 0.0, None, "none")
    assert figures.interval(found) == "no spread"
    groups = Grouping("scene", [place % 2 for place in range(len(values))])
    assert mean_estimate(values, groups, method).ci95 is None


@pytest.mark.parametrize("method", ["t", "bca"])
def test_groups_of_the_same_mean_have_no_interval(method):
    twins = [0.0, 0.5, 0.0, 0.5, 0.5, 0.0]
    found = mean_estimate(twins, Grouping("scene", [1, 1, 2, 2, 3, 3]), method)
    assert (found.mean, found.stderr, found.ci95) == (0.25, 0.0, None)
    assert mean_estimate(twins, None, method).ci95 is not None


@pytest.mark.parametrize("values", [[0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
def test_a_score_says_itself_whether_it_is_a_rate(values):
    assert estimate(values, metric="edits", graded=True).method == "wilson"
    assert estimate(values, metric="cost_of_failure", graded=True).method == "wilson"
    assert estimate(values, metric="score", graded=True).method == "wilson"
    assert estimate(values, metric="success_rate", graded=False).method in ("t", "none")
    assert estimate([*values, 0.5], metric="edits", graded=True).method != "wilson"


@patient
@given(rates)
def test_the_interval_of_a_rate_holds_it_and_stays_within_0_and_1(values):
    found = estimate(values)
    low, high = found.ci95
    assert found.method == "wilson"
    assert 0 <= low <= found.mean <= high <= 1
    assert low < high


@patient
@given(st.lists(any_floats, min_size=1, max_size=30), st.randoms())
def test_no_bit_of_an_estimate_depends_on_the_order(values, rng):
    labels = [rng.randrange(4) for _ in values]
    order = list(range(len(values)))
    rng.shuffle(order)
    shuffled = [values[i] for i in order]
    assert repr(estimate(values)) == repr(estimate(shuffled))
    grouped = estimate(values, Grouping("scene", labels))
    assert repr(grouped) == repr(estimate(shuffled, Grouping("scene", [labels[i] for i in order])))


def test_one_value_has_an_interval_only_if_it_is_a_rate():
    assert estimate([1.0]).ci95 == pytest.approx(proportion_confint(1, 1, method="wilson"))
    assert estimate([1.0]).stderr is None
    one = estimate([0.5])
    assert (one.mean, one.n, one.stderr, one.ci95, one.method) == (0.5, 1, None, None, "none")


def test_one_group_has_no_interval():
    for values in ([0.0, 1.0, 1.0], [0.1, 0.2, 0.3]):
        found = estimate(values, Grouping("scene", ["s"] * 3))
        assert (found.ci95, found.method, found.by, found.groups) == (None, "none", "scene", 1)


def test_a_span_bounds_the_interval():
    values = [0.9, 1.0, 1.0, 1.0, 0.4]
    assert mean_estimate(values).ci95[1] > 1
    bounded = mean_estimate(values, span=(0.0, 1.0)).ci95
    assert bounded == (mean_estimate(values).ci95[0], 1.0)


def test_differences_that_happen_to_be_0_or_1_are_no_rate():
    assert mean_estimate([0.0, 1.0, 1.0]).method == "t"
    assert mean_estimate([0.0, 1.0, 1.0], method="bca").method == "bca"


AMOUNTS = ("return", "reward", "score", "scored", "points", "total", "cumulative", "payoff")
LENGTHS = ("navigation_error", "path_length", "steps", "usd", "agent_usd", "span", "tokens", "tool_calls")
SHARES = ("error_rate", "SR", "OSR", "SPL", "nDTW", "success_weighted_by_path_length", "collision_share")
BINARY = ("success", "oracle_success", "won", "terminated", "pass", "solved")
around = st.lists(
    st.sampled_from(["", "mean", "max", "episode", "ep", "test", "final", "0", "grasp"]), max_size=2
)
joints = st.sampled_from(["_", "-", "/", " ", ".", ":"])


@st.composite
def named(draw, *words):
    """A name that has these words in it, in that order, written in one of the usual ways."""
    parts = [*draw(around), *words, *draw(around)]
    joint = draw(joints)
    how = draw(st.sampled_from([str, str.upper, str.title]))
    if draw(st.booleans()):
        return "".join(part[:1].upper() + part[1:] for word in parts for part in word.split("_") if part)
    return joint.join(how(part) for part in parts if part)


@patient
@given(st.data())
def test_a_name_tells_however_it_is_written_and_whatever_else_it_says(data):
    amount, length = data.draw(st.sampled_from(AMOUNTS)), data.draw(st.sampled_from(LENGTHS))
    binary = data.draw(st.sampled_from(BINARY))
    for words in ([amount], [length], [amount, "rate"], [amount, "of", binary], [length, "to", binary]):
        assert is_bounded(data.draw(named(*words))) is False
    for words in ([binary], [binary, "rate"], [length, "rate"]):
        assert is_bounded(data.draw(named(*words))) is True


@pytest.mark.parametrize("metric", SHARES)
def test_the_usual_shares_are_known_by_their_names(metric):
    assert is_bounded(metric) is True


@pytest.mark.parametrize("metric", ["grasp", "answer_match", "", "42", "Ω"])
def test_of_other_names_the_values_tell(metric):
    assert is_bounded(metric) is None


@pytest.mark.parametrize(
    "metric",
    [
        *LENGTHS,
        *("return", "mean_return", "episode_return", "total_reward", "cumulative_reward", "ep_rew_mean"),
        *("score", "max_score", "highest_score", "maxScore", "points", "steps_to_success", "success_count"),
        *("files_changed", "num_steps"),
    ],
)
def test_what_is_no_rate_is_none_though_its_values_so_far_are_0_or_1(metric):
    assert estimate([0.0], metric=metric).ci95 is None
    assert estimate([0.0, 1.0, 1.0], metric=metric) == mean_estimate([0.0, 1.0, 1.0])


@pytest.mark.parametrize("metric", ["success", "oracle_success", "success_weighted_by_path_length", "spl"])
def test_a_rate_is_one_from_its_first_value_on(metric):
    assert estimate([0.0], metric=metric) == estimate([0.0])
    assert estimate([0.0]).method == "wilson"


def test_one_value_does_not_tell_what_an_unknown_metric_is():
    assert estimate([1.0], metric="grasp").ci95 is None
    assert estimate([1.0, 1.0], metric="grasp").method == "wilson"
