from __future__ import annotations

import math
import random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from engine.statistics.aggregate import How, aggregate
from engine.statistics.comparison import compare
from engine.statistics.pairing import Side, pair
from engine.store.strict_json import encode
from tests.statistics.making import Row, hostile_rows, patient, successes


def coin(n, p, seed):
    rng = random.Random(seed)
    return [float(rng.random() < p) for _ in range(n)]


def one(left, right, metric="success", **options):
    """The contrast of one metric of two lists of rows."""
    comparison = compare([Side("a", left), Side("b", right)], [metric], **options)[0]
    return comparison.metrics[0].found


def test_a_run_against_itself_does_not_differ():
    outcomes = coin(60, 0.6, 1)
    rows = [Row(i, {"success": s, "length": 3.5 * i}, scene_id=f"s{i % 7}") for i, s in enumerate(outcomes)]
    comparison = compare([Side("a", rows), Side("a", rows)])[0]
    assert (comparison.shared, comparison.only_left, comparison.only_right, comparison.notes) == (
        60,
        0,
        0,
        [],
    )
    assert [metric.metric for metric in comparison.metrics] == ["length", "success"]
    for metric in comparison.metrics:
        found = metric.found
        assert (found.verdict, found.difference.mean, found.p_value, found.p_adjusted) == (
            "same",
            0.0,
            1.0,
            1.0,
        )
        assert (found.higher, found.lower, found.equal, found.flipped) == (0, 0, 60, [])
        assert found.more_episodes is None


@pytest.mark.parametrize("metric", ["return", "mean_reward", "max_score"])
def test_returns_that_happen_to_be_0_or_1_are_not_compared_as_rates(metric):
    outcomes = coin(40, 0.5, 1), coin(40, 0.6, 2)
    left, right = ([Row(i, {metric: s}) for i, s in enumerate(side)] for side in outcomes)
    found = one(left, right, metric)
    assert (found.tests.mcnemar, found.test, found.difference.method) == (None, "permutation", "t")


def test_three_flipped_episodes_of_a_hundred_are_named():
    left = successes(coin(100, 0.7, 3))
    right = [Row(row.episode_index, dict(row.metrics)) for row in left]
    for index in (8, 41, 77):
        right[index].metrics = {"success": 1 - left[index].metrics["success"]}
    found = one(left, right)
    assert [(flip.episode_index, flip.left, flip.right) for flip in found.flipped] == [
        (index, left[index].metrics["success"], right[index].metrics["success"]) for index in (8, 41, 77)
    ]
    assert (found.higher + found.lower, found.equal, found.verdict) == (3, 97, "unsettled")
    assert found.test == "mcnemar"
    assert found.p_value == found.tests.mcnemar == found.tests.sign
    assert found.difference.ci95[0] < found.difference.mean < found.difference.ci95[1]


def test_a_real_difference_is_found_with_its_direction():
    left, right = successes(coin(200, 0.5, 1)), successes(coin(200, 0.8, 2))
    there, back = one(left, right), one(right, left)
    assert (there.verdict, back.verdict) == ("higher", "lower")
    assert there.difference.mean == -back.difference.mean == pytest.approx(there.right - there.left)
    table = [[0, there.lower], [there.higher, 0]]
    assert there.p_value == pytest.approx(mcnemar(table, exact=False, correction=False).pvalue)
    assert there.more_episodes is None


def test_what_is_no_rate_is_tested_by_permutation():
    rng = np.random.default_rng(0)
    before = rng.normal(10, 2, 40)
    after = before + rng.normal(0.8, 1, 40)
    left = [Row(i, {"length": v}) for i, v in enumerate(before)]
    right = [Row(i, {"length": v}) for i, v in enumerate(after)]
    found = one(left, right, "length")
    assert (found.test, found.tests.mcnemar, found.flipped) == ("permutation", None, [])
    assert found.p_value == pytest.approx(stats.ttest_rel(after, before).pvalue, abs=0.005)
    assert found.difference.ci95 == pytest.approx(tuple(stats.ttest_rel(after, before).confidence_interval()))
    bootstrapped = one(left, right, "length", how=How(otherwise="bca"))
    assert bootstrapped.difference.method == "bca"


def test_more_episodes_say_how_far_it_is_from_settled():
    found = one(successes(coin(100, 0.5, 5)), successes(coin(100, 0.6, 6)))
    assert found.verdict == "unsettled"
    assert 100 < found.more_episodes < 100_000
    assert found.detectable > abs(found.difference.mean)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_no_detectable_difference_is_impossible_or_was_there_and_not_shown(pairs):
    found = one(successes([left for left, _ in pairs]), successes([right for _, right in pairs]))
    assert found.detectable is None or found.detectable <= 1
    if found.verdict == "unsettled" and found.detectable is not None:
        assert found.detectable > abs(found.difference.mean)


def test_scenes_are_swapped_whole():
    left = [Row(i, {"success": 0.0}, scene_id=f"s{i % 6}") for i in range(60)]
    right = [Row(i, {"success": float(i % 6 == 0)}, scene_id=f"s{i % 6}") for i in range(60)]
    found = one(left, right)
    assert (found.test, found.difference.by, found.verdict) == ("permutation", "scene", "unsettled")
    assert found.tests.mcnemar < 0.01 < found.p_value == 1.0
    assert one(left, right, how=How(by="none")).verdict == "higher"


def test_holm_runs_over_all_metrics_of_all_runs():
    def rows(shift, seed):
        rng = random.Random(seed)
        return [Row(i, {m: rng.gauss(shift, 1) for m in "xyz"}) for i in range(30)]

    comparisons = compare([Side("a", rows(0, 1)), Side("b", rows(0.6, 2)), Side("c", rows(0.3, 3))])
    found = [metric.found for comparison in comparisons for metric in comparison.metrics]
    assert len(found) == 6
    expected = multipletests([contrast.p_value for contrast in found], method="holm")[1]
    assert [contrast.p_adjusted for contrast in found] == pytest.approx(list(expected))
    for contrast in found:
        assert (contrast.verdict == "higher") == (contrast.p_adjusted <= 0.05)


def test_a_difference_that_only_stands_alone_is_unsettled_among_others():
    def rows(shift, seed):
        rng = random.Random(seed)
        noise = [f"noise{j}" for j in range(9)]
        return [Row(i, {"x": rng.gauss(shift, 1)} | {m: rng.gauss(0, 1) for m in noise}) for i in range(40)]

    left, right = rows(0, 0), rows(0.35, 1)
    alone = one(left, right, "x")
    among = next(m.found for m in compare([Side("a", left), Side("b", right)])[0].metrics if m.metric == "x")
    assert alone.p_value == among.p_value < 0.05 < among.p_adjusted
    assert (alone.verdict, among.verdict) == ("higher", "unsettled")
    assert among.more_episodes > 0


def test_only_what_both_measured_is_paired_and_the_rest_is_counted():
    left = [
        *successes([1, 0, 1, 1]),
        Row(4, {"success": None}),
        Row(5, {}, status="error"),
        Row(9, {"success": 1}),
    ]
    right = [
        *successes([1, 1]),
        Row(2, {"success": 0}, status="error", error_class="infra"),
        *[Row(i, {}) for i in (3, 4)],
        Row(5, {"success": 1}),
        Row(7, {"success": 1}),
    ]
    comparison = compare([Side("a", left), Side("b", right)])[0]
    metric = comparison.metrics[0]
    assert (comparison.shared, comparison.only_left, comparison.only_right) == (6, 1, 1)
    assert (metric.pairs, metric.missing_left, metric.missing_right, metric.missing_both) == (2, 1, 2, 1)
    assert (metric.found.left, metric.found.right) == (0.5, 1.0)
    assert comparison.notes == ["compared: 6 episodes; only in a: 1, only in b: 1"]


def test_a_metric_without_a_pair_has_no_verdict():
    left, right = successes([1.0, 0.0]), [Row(0, {"spl": 0.3}), Row(1, {}, status="error")]
    metrics = compare([Side("a", left), Side("b", right)], ["success", "spl", "nowhere"])[0].metrics
    assert [(m.pairs, m.found) for m in metrics] == [(0, None)] * 3
    assert [m.missing_both for m in metrics] == [0, 1, 2]
    assert compare([Side("a", left), Side("b", right)])[0].metrics == []


def test_repeats_are_averaged_before_they_are_paired():
    left = [Row(i, {"success": float(r > 1)}, repeat=r) for i in range(4) for r in (1, 2)]
    right = successes([1.0, 0.0, 1.0, 1.0])
    comparison = compare([Side("a", left), Side("b", right)], ["success"])[0]
    found = comparison.metrics[0].found
    assert (comparison.metrics[0].pairs, found.left, found.right) == (4, 0.5, 0.75)
    assert (found.test, found.flipped) == ("permutation", [])
    assert comparison.notes == [
        "a has up to 2 repeats of an episode and b 1: means over repeats are compared"
    ]


def test_runs_are_compared_only_as_far_as_they_can_be():
    rows = successes([1.0, 0.0, 1.0])
    base = Side("a", rows, "env_x/val", "graph1", "exact", 0)
    other = Side("b", rows[:2], "env_x/val", "graph2", "none", 1)
    assert compare([base, other])[0].notes == [
        "compared: 2 episodes; only in a: 1, only in b: 0",
        "the graphs differ",
        "the seeds differ (0 and 1): an index may be another episode",
        "determinism of b is none: played again, it may differ by itself",
    ]
    elsewhere = Side("c", rows, "env_x/train", "graph1", "exact", 0)
    comparison = compare([base, elsewhere])[0]
    assert (comparison.shared, comparison.only_left, comparison.only_right) == (0, 3, 3)
    assert comparison.notes == ["a plays env_x/val and c env_x/train: no episode is shared"]
    assert comparison.metrics[0].found is None


def test_the_same_index_in_two_tasks_is_two_episodes():
    left = [Row(0, {"success": 1.0}, task="a"), Row(0, {"success": 0.0}, task="b")]
    right = [Row(0, {"success": 1.0}, task="b"), Row(0, {"success": 1.0}, task="a")]
    found = one(left, right)
    assert [(flip.task, flip.left, flip.right) for flip in found.flipped] == [("b", 0.0, 1.0)]


def test_one_run_is_no_comparison():
    with pytest.raises(ValueError, match="two runs"):
        compare([Side("a", [])])


def test_empty_runs_compare_to_nothing():
    comparison = compare([Side("a", []), Side("b", [])], ["success"])[0]
    assert (comparison.shared, comparison.metrics[0].pairs, comparison.metrics[0].found) == (0, 0, None)


@patient
@given(hostile_rows(), hostile_rows())
def test_hostile_runs_add_up_in_any_order(left, right):
    comparison = compare([Side("a", left), Side("b", right)], ["success", "spl"])[0]
    pairing = pair(Side("a", left), Side("b", right))
    assert comparison.shared == len(pairing.shared)
    assert comparison.shared + comparison.only_left == len({row.identity[:2] for row in left})
    assert comparison.shared + comparison.only_right == len({row.identity[:2] for row in right})
    for metric in comparison.metrics:
        parts = metric.pairs + metric.missing_left + metric.missing_right + metric.missing_both
        assert parts == comparison.shared
        if metric.found:
            found = metric.found
            assert found.higher + found.lower + found.equal == metric.pairs
            assert 0 <= found.p_value <= found.p_adjusted <= 1
            assert (found.verdict == "same") == (found.equal == metric.pairs)
    shuffled = compare([Side("a", left[::-1]), Side("b", right[::-1])], ["success", "spl"])[0]
    assert repr(shuffled) == repr(comparison)
    msgspec.json.decode(encode(comparison))


@patient
@given(hostile_rows())
def test_hostile_runs_are_the_same_as_themselves(rows):
    found = [m.found for m in compare([Side("a", rows), Side("b", rows)])[0].metrics]
    assert all(contrast.verdict == "same" for contrast in found)
    assert set(aggregate(rows).metrics) == {
        m.metric for m in compare([Side("a", rows), Side("b", rows)])[0].metrics
    }
    assert all(math.isfinite(contrast.left) for contrast in found)
