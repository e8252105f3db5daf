"""What became of every episode of a plan, and how much the missing ones could change the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from engine.figures import number
from engine.statistics.intervals import Interval
from engine.statistics.kinds import is_rate
from engine.statistics.rows import Row, both_graded, measured, settle
from engine.statistics.sums import mean

UNIT: Interval = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Missingness:
    """Every planned episode once: measured + unmeasured + to_come + errored + cancelled + not_run == planned.

    measured: completed, with the metric as a finite number; unmeasured: completed without it; to_come: so
    far, as it is still being scored. infra: those of ``errored`` that the box failed. retried: episodes,
    whatever became of them, that ran again after an attempt that had not completed. worst, best: the mean
    over all planned episodes if every one without a number had the lowest, the highest value (Manski 1990,
    Am. Econ. Rev. 80:319-323); None where the metric's range is not known.
    """

    metric: str
    planned: int
    measured: int
    unmeasured: int
    errored: int
    infra: int
    cancelled: int
    not_run: int
    retried: int
    worst: float | None
    best: float | None
    to_come: int = 0

    @property
    def lost(self) -> int:
        """Episodes that ended on their own and gave no number."""
        return self.errored + self.unmeasured

    @property
    def bounds_in_words(self) -> str:
        """``; were they all the worst or the best, it would be 0.500 or 0.750``; empty where that is not
        known."""
        if self.worst is None or self.best is None:
            return ""
        return (
            f"; were they all the worst or the best, it would be {number(self.worst)} or {number(self.best)}"
        )

    @property
    def lost_share(self) -> float:
        """``lost`` as a share, in [0, 1], of the episodes that ended on their own; 0 where none did."""
        ended = self.measured + self.lost
        return self.lost / ended if ended else 0.0


def missingness(
    lines: Iterable[Row], metric: str, planned: int | None = None, span: Interval | None = None
) -> Missingness:
    """Account for a plan of ``planned`` episodes (None: those that have a row).

    ``lines``: rows in the order of their writing; the last of an identity counts. ``span``: the metric's
    least and greatest possible value; (0, 1) where it is None and the metric is a rate.
    """
    rows, retried = settle(lines)
    found = [(row, measured(row, metric)) for row in rows if row.status == "completed"]
    values = [value for _, value in found if value is not None]
    to_come = sum(value is None and row.awaits(metric) for row, value in found)
    errors = [row for row in rows if row.status == "error"]
    total = max(len(rows), planned or 0)
    graded = reduce(both_graded, (row.graded.get(metric) for row, value in found if value is not None), None)
    if span is None and values and is_rate(values, metric, graded):
        span = UNIT
    missing = total - len(values)
    worst, best = (mean([*values, *[end] * missing]) for end in span) if span and total else (None, None)
    return Missingness(
        metric=metric,
        planned=total,
        measured=len(values),
        unmeasured=len(found) - len(values) - to_come,
        errored=len(errors),
        infra=sum(row.error_class == "infra" for row in errors),
        cancelled=sum(row.status not in ("completed", "error") for row in rows),
        not_run=total - len(rows),
        retried=retried,
        worst=worst,
        best=best,
        to_come=to_come,
    )
