"""A run's rows as the numbers of its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine.statistics.aggregate import aggregate
from engine.statistics.rows import finite
from engine.store.records import EpisodeRow, MetricStats, Summary
from engine.store.scoring_tally import scoring_tally


def fold_rows(summary: Summary, rows: Sequence[EpisodeRow]) -> None:
    """Make ``summary`` that of ``rows``, which are in identity order: counts, means, intervals, and
    what came of their scoring."""
    result = aggregate(rows)
    summary.episodes = list(rows)
    summary.completed_count = len(rows)
    summary.error_count = sum(row.status == "error" for row in rows)
    summary.aggregate_metrics = result.metrics
    summary.aggregate_by_task = result.by_task
    summary.metric_stats = {
        name: MetricStats(mean=s.mean, n=s.n, stderr=s.stderr, ci95=s.ci95)
        for name, s in result.stats.items()
    }
    missing = Counter(name for row in rows for name, value in row.metrics.items() if value is None)
    summary.nonfinite = dict(sorted(missing.items()))
    summary.unmeasured = _unmeasured(rows)
    summary.scored = scoring_tally(rows)


def _unmeasured(rows: Sequence[EpisodeRow]) -> dict[str, int]:
    """Every metric of any row → completed rows that lack it as a finite number, and to which no scoring will
    bring it."""
    metrics = sorted({name for row in rows for name in row.measures})
    found = dict.fromkeys(metrics, 0)
    for row in rows:
        if row.status == "completed":
            measures = row.measures
            for name in metrics:
                found[name] += finite(measures.get(name)) is None and not row.awaits(name)
    return found
