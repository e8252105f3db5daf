"""95 % intervals hold what they say: of 2,000 simulated runs of each kind, 93 to 97 % cover the truth.

And tests at the 5 % level find a difference that is not there in 5 % of runs, or fewer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.statistics import intervals
from engine.statistics import paired as paired_tests
from engine.statistics.clusters import Grouping
from engine.statistics.intervals import Interval, estimate
from engine.statistics.paired import mcnemar_test, mean_difference, permutation_test, sign_test
from engine.statistics.repeats import repeats
from engine.statistics.stopping import UntilWidth, WidthWatch
from engine.statistics.tables import task_table
from tests.statistics.making import Row, successes

RUNS = 2_000
FEWER_RESAMPLES = 1_999
"""What holds with a fifth of the draws holds with all of them: they only take noise away."""
SCENE_RESEMBLANCE = 0.1
"""Intraclass correlation of the simulated scenes."""

Simulation = Callable[[np.random.Generator], tuple[Interval | None, float]]


def scenes(rng: np.random.Generator, count: int) -> Grouping:
    """So many scenes of 10 episodes on average, of very unequal number."""
    return Grouping("scene", np.repeat(np.arange(count), rng.geometric(0.1, count)).tolist())


def outcomes(rng: np.random.Generator, grouping: Grouping, rate: float) -> np.ndarray:
    """Passes and failures whose rate is beta distributed over the scenes."""
    size = (1 - SCENE_RESEMBLANCE) / SCENE_RESEMBLANCE
    by_scene = rng.beta(rate * size, (1 - rate) * size, grouping.count)
    return (rng.random(len(grouping.labels)) < by_scene[list(grouping.labels)]).astype(float)


def scores(rng: np.random.Generator, grouping: Grouping) -> np.ndarray:
    """Values of mean 0 that resemble one another within a scene."""
    shared = rng.normal(size=grouping.count)[list(grouping.labels)]
    own = rng.normal(size=len(grouping.labels))
    return shared * SCENE_RESEMBLANCE**0.5 + own * (1 - SCENE_RESEMBLANCE) ** 0.5


def rate(rng: np.random.Generator) -> tuple[Interval | None, float]:
    p, n = rng.uniform(0.02, 0.98), rng.integers(10, 300)
    return estimate((rng.random(n) < p).astype(float).tolist()).ci95, p


def normal(rng: np.random.Generator) -> tuple[Interval | None, float]:
    return estimate(rng.normal(3, 2, rng.integers(2, 60)).tolist()).ci95, 3


def skewed(rng: np.random.Generator) -> tuple[Interval | None, float]:
    return estimate(rng.gamma(4, 1, 40).tolist()).ci95, 4


def bootstrapped(rng: np.random.Generator) -> tuple[Interval | None, float]:
    return estimate(rng.gamma(4, 1, 50).tolist(), None, "bca", int(rng.integers(1 << 31))).ci95, 4


def clustered(rng: np.random.Generator) -> tuple[Interval | None, float]:
    grouping = scenes(rng, int(rng.integers(5, 40)))
    return estimate(scores(rng, grouping).tolist(), grouping).ci95, 0


def clustered_rate(rng: np.random.Generator) -> tuple[Interval | None, float]:
    grouping, p = scenes(rng, int(rng.integers(8, 40))), rng.uniform(0.2, 0.8)
    return estimate(outcomes(rng, grouping, p).tolist(), grouping).ci95, p


def clustered_bootstrap(rng: np.random.Generator) -> tuple[Interval | None, float]:
    grouping = scenes(rng, 40)
    return estimate(scores(rng, grouping).tolist(), grouping, "bca", int(rng.integers(1 << 31))).ci95, 0


def repeated(rng: np.random.Generator) -> tuple[Interval | None, float]:
    by_episode = rng.beta(1, 1, 40)
    values = rng.random((40, 5)) < by_episode[:, None]
    labels = np.repeat(np.arange(40), 5).tolist()
    return estimate(values.astype(float).ravel().tolist(), Grouping("episode", labels)).ci95, 0.5


def paired_rates(rng: np.random.Generator) -> tuple[Interval | None, float]:
    won, lost, n = rng.uniform(0.02, 0.3), rng.uniform(0.02, 0.3), int(rng.integers(20, 200))
    kinds = rng.choice(3, n, p=[lost, won, 1 - won - lost])
    left, right = (kinds == 0).astype(float), (kinds == 1).astype(float)
    return mean_difference(left.tolist(), right.tolist()).ci95, won - lost


def paired(rng: np.random.Generator) -> tuple[Interval | None, float]:
    left = rng.normal(5, 3, 30)
    return mean_difference(left.tolist(), (left + rng.normal(0.4, 1, 30)).tolist()).ci95, 0.4


def paired_clustered_rates(rng: np.random.Generator) -> tuple[Interval | None, float]:
    grouping = scenes(rng, int(rng.integers(8, 40)))
    left, right = outcomes(rng, grouping, 0.5), outcomes(rng, grouping, 0.7)
    return mean_difference(left.tolist(), right.tolist(), grouping).ci95, 0.2


def macro(rng: np.random.Generator) -> tuple[Interval | None, float]:
    rows = [
        Row(index, {"score": float(value)}, task=str(task))
        for task, centre in enumerate(rng.normal(1, 0.3, 12))
        for index, value in enumerate(rng.normal(centre, 1, rng.integers(1, 9)))
    ]
    table = task_table(rows, "score")
    return (table.macro.ci95 if table.macro else None), 1


def pass_at_2(rng: np.random.Generator) -> tuple[Interval | None, float]:
    passed = rng.random((60, 5)) < rng.beta(2, 3, 60)[:, None]
    rows = [
        Row(index, {"success": float(value)}, repeat=repeat)
        for index, tries in enumerate(passed)
        for repeat, value in enumerate(tries, 1)
    ]
    found = repeats(rows, "success", ks=[2]).rates[0].at_least_one
    # Of a beta(2, 3) chance both tries fail with a probability of 3 * 4 / (5 * 6).
    return (found.ci95 if found else None), 0.6


def until_width(rng: np.random.Generator) -> tuple[Interval | None, float]:
    p = rng.uniform(0.05, 0.95)
    rows = successes((rng.random(1_200) < p).astype(float))
    watch = WidthWatch(UntilWidth("success", 0.15))
    for position, row in enumerate(rows):
        if (kept := watch.ended(position, row)) is not None:
            return estimate([row.metrics["success"] for row in rows[:kept]]).ci95, p
    raise AssertionError("the interval never got narrow")


QUICK = [
    rate,
    normal,
    skewed,
    clustered,
    clustered_rate,
    repeated,
    paired_rates,
    paired,
    paired_clustered_rates,
]
LONG = [bootstrapped, clustered_bootstrap, macro, pass_at_2, until_width]


@pytest.mark.parametrize(
    "simulate",
    [*QUICK, *(pytest.param(kind, marks=[pytest.mark.slow, pytest.mark.timeout(600)]) for kind in LONG)],
    ids=lambda kind: kind.__name__,
)
def test_95_percent_intervals_cover_the_truth_in_95_percent_of_runs(
    simulate: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intervals, "RESAMPLES", FEWER_RESAMPLES)
    rng = np.random.default_rng(20_260_501)
    hits = 0
    for _ in range(RUNS):
        interval, truth = simulate(rng)
        hits += interval is not None and interval[0] <= truth <= interval[1]
    print(f"{simulate.__name__}: {100 * hits / RUNS:.1f} %")
    assert 0.93 <= hits / RUNS <= 0.97


def no_difference(rng: np.random.Generator) -> list[float]:
    return rng.normal(0, 1, 30).tolist()


def swapped_outcomes(rng: np.random.Generator) -> float:
    discordant = rng.binomial(200, 0.3)
    won = rng.binomial(discordant, 0.5)
    return mcnemar_test(discordant - won, won)


def signs(rng: np.random.Generator) -> float:
    return sign_test(no_difference(rng))


def swaps(rng: np.random.Generator) -> float:
    return permutation_test(no_difference(rng), seed=int(rng.integers(1 << 31)))


def swaps_of_scenes(rng: np.random.Generator) -> float:
    grouping = scenes(rng, 25)
    return permutation_test(scores(rng, grouping).tolist(), grouping, int(rng.integers(1 << 31)))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "test", [swapped_outcomes, signs, swaps, swaps_of_scenes], ids=lambda test: test.__name__
)
def test_what_is_not_there_is_found_in_5_percent_of_runs_at_most(
    test: Callable[[np.random.Generator], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paired_tests, "RESAMPLES", FEWER_RESAMPLES)
    rng = np.random.default_rng(20_260_502)
    found = sum(test(rng) <= 0.05 for _ in range(RUNS))
    print(f"{test.__name__}: {100 * found / RUNS:.1f} %")
    assert 0.02 <= found / RUNS <= 0.065
