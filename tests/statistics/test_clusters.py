from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.clusters import MIN_GROUPS, Grouping, group, spread
from engine.statistics.intervals import estimate, quantile, wilson_interval
from tests.statistics.making import floats, patient, places


def by_definition(values, labels):
    """(standard error, degrees of freedom) of CR2 as Bell & McCaffrey write it, with whole matrices."""
    y, n = np.array(values), len(values)
    hat = np.full((n, n), 1 / n)
    residual_maker = np.eye(n) - hat
    variance, columns = 0.0, []
    for label in dict.fromkeys(labels):
        own = np.array([other == label for other in labels])
        weights, vectors = np.linalg.eigh(residual_maker[np.ix_(own, own)])
        adjust = vectors @ np.diag(1 / np.sqrt(weights)) @ vectors.T
        variance += (adjust @ (residual_maker @ y)[own]).sum() ** 2 / n**2
        columns.append(residual_maker[:, own] @ adjust @ np.full(own.sum(), 1 / n))
    inner = np.array(columns) @ np.array(columns).T
    return math.sqrt(variance), np.trace(inner) ** 2 / (inner**2).sum()


@patient
@given(st.lists(st.tuples(floats, st.integers(0, 5)), min_size=4, max_size=25))
def test_cr2_agrees_with_its_definition(pairs):
    values, labels = map(list, zip(*pairs, strict=True))
    found = spread(values, Grouping("scene", labels))
    if len(set(labels)) < 2:
        assert found is None
        return
    stderr, df = by_definition(values, labels)
    assert found.stderr == pytest.approx(stderr, rel=1e-7, abs=1e-9 * max(map(abs, values)))
    assert found.df == pytest.approx(df, rel=1e-7)


def test_groups_of_one_size_agree_with_statsmodels():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 7)
    values = rng.normal(size=84) + rng.normal(size=12)[labels]
    model = sm.OLS(values, np.ones(84))
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": labels}, use_t=True)
    found = estimate(values.tolist(), Grouping("scene", labels.tolist()))
    assert found.stderr == pytest.approx(theirs.bse[0], rel=1e-9)
    assert found.df == pytest.approx(11)
    assert found.ci95 == pytest.approx(tuple(theirs.conf_int()[0]), rel=1e-9)


def test_groups_of_one_agree_with_statsmodels_hc2():
    values = np.random.default_rng(1).exponential(size=30)
    theirs = sm.OLS(values, np.ones(30)).fit(cov_type="HC2")
    alone = spread(values.tolist())
    found = spread(values.tolist(), Grouping("scene", list(range(30))))
    assert found.stderr == pytest.approx(theirs.bse[0], rel=1e-9)
    assert (found.stderr, found.df) == pytest.approx((alone.stderr, alone.df))


def test_a_clustered_rate_is_wilson_over_the_effective_number():
    values = [1.0] * 10 + [0.0] * 10 + [1.0] * 10 + [0.0] * 10 + [1.0, 0.0] * 5
    labels = [i // 10 for i in range(50)]
    found = estimate(values, Grouping("scene", labels))
    naive = estimate(values)
    effect = (found.stderr / naive.stderr) ** 2
    assert effect > 5
    assert found.ci95 == wilson_interval(0.5, 50 / effect, found.df)
    assert (found.by, found.groups, found.method) == ("scene", 5, "wilson")


def test_groups_that_balance_each_other_do_not_narrow_a_rate():
    values = [0.0, 1.0] * 20
    labels = [i // 2 for i in range(40)]
    assert spread(values, Grouping("scene", labels)).stderr == 0
    low, high = estimate(values, Grouping("scene", labels)).ci95
    assert high - low >= estimate(values).ci95[1] - estimate(values).ci95[0]


@patient
@given(st.floats(1e-300, 1e300), st.integers(0, 1000))
def test_the_spread_scales_with_the_values(scale, seed):
    rng = np.random.default_rng(seed)
    values, labels = rng.normal(size=20).tolist(), rng.integers(0, 4, 20).tolist()
    for grouping in (None, Grouping("scene", labels)):
        one, other = spread(values, grouping), spread([v * scale for v in values], grouping)
        assert other.stderr == pytest.approx(one.stderr * scale)
        assert other.df == one.df


def test_scenes_come_before_tasks_and_episodes():
    scenes = [f"s{i % 6}" for i in range(60)]
    tasks = [f"t{i % 10}" for i in range(60)]
    assert group(places(scenes, tasks)).by == "scene"
    assert group(places(None, tasks)).by == "task"
    assert group(places(scenes, tasks), "task").by == "task"
    assert group(places(episodes=range(60))) is None
    assert group(places(episodes=[i // 3 for i in range(60)])).count == 20


def test_few_scenes_are_not_taken_for_a_sample_of_scenes():
    scenes = [f"s{i % (MIN_GROUPS - 1)}" for i in range(60)]
    assert group(places(scenes)) is None
    assert group(places(scenes), "scene").count == MIN_GROUPS - 1
    assert group(places(scenes, [f"t{i % 7}" for i in range(60)])).by == "task"
    assert group(places(scenes, episodes=[i // 3 for i in range(60)])).by == "episode"


def test_scenes_of_one_episode_each_group_nothing():
    assert group(places([str(i) for i in range(20)])) is None


def test_an_episode_without_a_scene_stands_for_itself():
    scenes = [f"s{i % 5}" for i in range(20)] + [""] * 3
    found = group(places(scenes))
    assert found.count == 8


def test_repeats_belong_together_when_nothing_else_may():
    repeated = places(episodes=[0, 0, 1, 1])
    assert group(repeated, "none").by == "episode"
    assert group(repeated, "scene").by == "episode"


def test_repeats_of_an_episode_do_not_narrow_the_interval():
    once = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    thrice = [value for value in once for _ in range(3)]
    repeated = estimate(thrice, group(places(episodes=[i // 3 for i in range(24)])))
    alone = estimate(once)
    assert repeated.ci95[1] - repeated.ci95[0] >= alone.ci95[1] - alone.ci95[0]
    assert repeated.stderr == pytest.approx(alone.stderr)


def test_a_t_interval_of_groups_uses_their_degrees_of_freedom():
    values = [0.1, 0.2, 0.4, 0.9, 0.7, 0.8]
    found = estimate(values, Grouping("task", [0, 0, 1, 1, 1, 2]))
    half = quantile(found.df) * found.stderr
    assert found.ci95 == pytest.approx((found.mean - half, found.mean + half))
    assert 1 <= found.df < 2
