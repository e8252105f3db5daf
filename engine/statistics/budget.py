"""A run's headline, or why it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.figures import count
from engine.statistics.aggregate import DEFAULT, How, estimate_column
from engine.statistics.intervals import Estimate, Interval
from engine.statistics.missingness import Missingness, missingness
from engine.statistics.rows import Row, column, settle
from engine.store.records import VERDICT

ERROR_BUDGET = 0.1
HEADLINES = ("success", VERDICT, "return", "reward", "score")
"""Metrics worth a headline, the first that a run has."""


@dataclass(frozen=True, slots=True)
class Headline:
    """One metric of a run. ``estimate`` is None where the headline is withheld, and ``withheld`` says why."""

    metric: str
    estimate: Estimate | None
    missing: Missingness
    budget: float
    withheld: str | None


def headline_metric(names: Iterable[str]) -> str | None:
    """The metric that stands for a run with these: a well-known one, else the first; None of none."""
    return next(iter(by_worth(names)), None)


def by_worth(names: Iterable[str]) -> list[str]:
    """Those that are worth a headline first, the others as they are."""
    found = list(names)
    return [
        *(name for name in HEADLINES if name in found),
        *(name for name in found if name not in HEADLINES),
    ]


def budget_of(scoring: Mapping[str, Any]) -> float:
    """``error_budget`` of a start request's ``scoring``."""
    return float(scoring.get("error_budget", ERROR_BUDGET))


def headline(
    lines: Sequence[Row],
    metric: str,
    planned: int | None = None,
    budget: float = ERROR_BUDGET,
    span: Interval | None = None,
    how: How = DEFAULT,
) -> Headline:
    """The metric's mean with interval, unless more than ``budget`` of the ended episodes gave no number.

    ``lines``, ``planned`` and ``span`` as in :func:`engine.statistics.missingness.missingness`. Cancelled
    episodes, those not run and those still being scored spend nothing of the budget. Raises ValueError for a
    budget outside [0, 1].
    """
    if not 0 <= budget <= 1:
        raise ValueError(f"error_budget is {budget}; it must lie between 0 and 1")
    missing = missingness(lines, metric, planned, span)
    reason = _reason(missing, budget)
    found = column(settle(lines)[0], metric)
    shown = estimate_column(found, metric, how) if reason is None else None
    return Headline(metric, shown, missing, budget, reason)


def _reason(missing: Missingness, budget: float) -> str | None:
    if missing.lost_share > budget:
        infra = f" ({missing.infra} of them infra)" if missing.infra else ""
        kinds = ((missing.errored, f"errored{infra}"), (missing.unmeasured, "unmeasured"))
        told = " and ".join(f"{n} {kind}" for n, kind in kinds if n)
        ended = count(missing.measured + missing.lost, "episode")
        return (
            f"{missing.lost} of {ended} gave no {missing.metric}: {told};"
            f" {100 * missing.lost_share:.3g} % is above the error budget of {100 * budget:.3g} %"
        )
    if missing.measured == 0:
        told = f"no episode has measured {missing.metric}"
        return f"{told} yet: {missing.to_come} are still being scored" if missing.to_come else told
    return None
