"""What came of a run's scoring, over all of its episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from engine.scoring.collecting import does_without_trace, failed_to_collect
from engine.scoring.exporting import SinkReport, fold_exports
from engine.scoring.reading import read_scoring
from engine.scoring.spec import ScoringError, SinkSpec
from engine.store.records import EpisodeRow, EpisodeWaits
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import read_rows
from engine.store.scores import Measured, ScoringTally, Unmeasured
from engine.store.scoring_tally import scoring_tally


class ScoringReport(msgspec.Struct, kw_only=True):
    """passed, failed, undecided: episodes by their verdict, the last without those whose scores may still
    come. pending: episodes whose scores are not final. waiting: what each of those waits for that a running
    process has taken up, the longest wait first. unmeasured: metric → episodes in which it was asked for and
    not measured. retryable: episodes of which another attempt may measure more. not_collected: episodes whose
    trace could not be fetched, and that wait for it; degraded: those that were graded without it, as was
    asked for. tally: what judges did, and did not, and took. in_backend: the backend goes on with those that
    are pending, by itself. sinks: what came of the exports to each."""

    passed: int = 0
    failed: int = 0
    undecided: int = 0
    pending: int = 0
    waiting: list[EpisodeWaits] = []
    unmeasured: dict[str, int] = {}
    retryable: int = 0
    not_collected: int = 0
    degraded: int = 0
    tally: ScoringTally = ScoringTally()
    in_backend: bool = False
    sinks: list[SinkReport] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked of it."""
        return self == ScoringReport()


def scoring_report(run: RunDir) -> ScoringReport:
    """The report of a run as it stands."""
    try:
        asked = read_scoring(run.read_spec().scoring)
        progress, job = run.read_progress(), run.read_job()
    except (RunDirError, ScoringError):
        return report_of(read_rows(run))
    report = report_of(read_rows(run), asked.sinks)
    if report.pending:
        report.waiting = progress.scoring if progress else []
        report.in_backend = asked.trace.collect == "control-plane" and job.kind != "score"
    return report


def report_of(rows: Sequence[EpisodeRow], sinks: Sequence[SinkSpec] = ()) -> ScoringReport:
    """The report of these rows. ``sinks``: those that were asked for."""
    scored = [row for row in rows if row.scoring != "none"]
    unmeasured = Counter(
        metric
        for row in scored
        for metric in {score.metric for score in row.scores if not isinstance(score, Measured)}
    )
    return ScoringReport(
        passed=sum(row.verdict is True for row in scored),
        failed=sum(row.verdict is False for row in scored),
        undecided=sum(row.verdict is None and row.scoring == "final" for row in scored),
        pending=sum(row.scoring == "pending" for row in scored),
        unmeasured=dict(sorted(unmeasured.items())),
        retryable=sum(
            any(isinstance(score, Unmeasured) and score.retryable for score in row.scores) for row in scored
        ),
        not_collected=sum(failed_to_collect(row) for row in scored),
        degraded=sum(does_without_trace(row) for row in scored),
        tally=scoring_tally(scored) or ScoringTally(),
        sinks=fold_exports(scored, sinks),
    )
