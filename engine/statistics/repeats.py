"""Episodes that were played several times: how often at least one of k tries passes, and how often all do."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.statistics.aggregate import DEFAULT, How
from engine.statistics.clusters import group
from engine.statistics.intervals import Estimate, estimate
from engine.statistics.missingness import UNIT
from engine.statistics.rows import Place, Row, column


@dataclass(frozen=True, slots=True)
class PassRate:
    """k tries of an episode. at_least_one: pass@k; all_of_them: pass^k; both over the episodes that have at
    least k measured repeats, None where none has. too_few: episodes that were measured, but fewer times."""

    k: int
    at_least_one: Estimate | None
    all_of_them: Estimate | None
    too_few: int


@dataclass(frozen=True, slots=True)
class Repeats:
    """episodes: measured at least once; fewest, most: measured repeats of an episode; flaky: episodes that
    passed in some repeats and failed in others."""

    metric: str
    episodes: int
    fewest: int
    most: int
    flaky: int
    rates: list[PassRate]


def pass_at_k(n: int, passed: int, k: int) -> float:
    """Chance that at least one of k tries passes, 1 - C(n - c, k) / C(n, k), unbiased from c of n tries.

    Chen et al. 2021, arXiv:2107.03374, equation 1. Raises ValueError unless 1 <= k <= n and 0 <= c <= n.
    """
    _check(n, passed, k)
    return 1 - math.comb(n - passed, k) / math.comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float:
    """Chance that all of k tries pass, C(c, k) / C(n, k), unbiased from c of n tries.

    Yao et al. 2024, tau-bench, arXiv:2406.12045. Raises ValueError unless 1 <= k <= n and 0 <= c <= n.
    """
    _check(n, passed, k)
    return math.comb(passed, k) / math.comb(n, k)


def repeats(rows: Iterable[Row], metric: str, ks: Sequence[int] = (), how: How = DEFAULT) -> Repeats:
    """Pass rates of a metric whose values are 0 or 1, for each k (none given: 1 to the fewest repeats).

    Raises ValueError where the metric has other values.
    """
    found = column(rows, metric)
    if not found.is_rate(metric):
        raise ValueError(f"{metric} is not 0 or 1 in every episode, so that no try of it passes or fails")
    tries: defaultdict[Place, list[float]] = defaultdict(list)
    for place, value in zip(found.places, found.values, strict=True):
        tries[place].append(value)
    counts = {place: (len(values), int(sum(values))) for place, values in tries.items()}
    numbers = [n for n, _ in counts.values()]
    fewest = min(numbers, default=0)
    return Repeats(
        metric=metric,
        episodes=len(counts),
        fewest=fewest,
        most=max(numbers, default=0),
        flaky=sum(0 < passed < n for n, passed in counts.values()),
        rates=[_pass_rate(counts, k, how) for k in ks or range(1, fewest + 1)],
    )


def _pass_rate(counts: dict[Place, tuple[int, int]], k: int, how: How) -> PassRate:
    enough = {place: count for place, count in counts.items() if count[0] >= k}
    if not enough:
        return PassRate(k, None, None, len(counts))
    grouping = group(list(enough), how.by)
    at_least_one, all_of_them = (
        estimate([chance(*count, k) for count in enough.values()], grouping, how.otherwise, how.seed, UNIT)
        for chance in (pass_at_k, pass_hat_k)
    )
    return PassRate(k, at_least_one, all_of_them, len(counts) - len(enough))


def _check(n: int, passed: int, k: int) -> None:
    if not (1 <= k <= n and 0 <= passed <= n):
        raise ValueError(
            f"{passed} of {n} tries passed, k is {k}: k must lie between 1 and the number of tries"
        )
