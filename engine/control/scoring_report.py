"""What came of a run's scoring, over all of its episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from engine.figures import count
from engine.scoring.asked import deciding
from engine.scoring.collecting import does_without_trace, failed_to_collect
from engine.scoring.exporting import SinkReport, fold_exports
from engine.scoring.graders import make_grader
from engine.scoring.ladder import decide
from engine.scoring.reading import read_scoring
from engine.scoring.spec import ScoringError, ScoringSpec, SinkSpec
from engine.store.records import EpisodeRow, EpisodeWaits, RunStatus
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import read_rows, view_run
from engine.store.scores import Measured, ScoringTally, Unmeasured
from engine.store.scoring_tally import hidden_scores, scoring_tally

AT_ITS_END = ("completed", "error")
"""How a run stands that the backend takes up by itself, where that fetches its traces."""

HIDDEN = "the graph's own metric of that name counts; give the grader another config.metric"


class Fallback(msgspec.Struct, frozen=True, kw_only=True):
    """Verdicts that came from a lower rung of the ladder. lacking: the metrics above that could not be
    measured in these episodes. by: those that decided in their place."""

    episodes: int
    by: list[str]
    lacking: list[str]


class ScoringReport(msgspec.Struct, kw_only=True):
    """passed, failed: episodes by their verdict, which stands once it is known. undecided: those whose scores
    are final without one. pending: those whose scores are not final; to_come: those of them without a verdict
    yet. fallbacks: verdicts that came from a lower rung, as a higher one could not be measured. waiting: what
    each of those waits for that a running process has taken up, the longest wait first. unmeasured: metric →
    episodes in which it was asked for and not measured. hidden: metric → episodes in which a score is not
    among the numbers, as the graph's own metric of that name is. retryable: episodes of which another attempt
    may measure more, or have the trace. not_collected: episodes whose trace could not be fetched; degraded:
    those that were graded without it, as was asked for. tally: what judges did, and did not, and took.
    in_backend: the backend goes on with those that are pending, by itself, once the run has ended. left: who
    or what does what an ended run has left undone: the backend, by itself, a resume, or a rescore; "" where
    nothing is left. sinks: what came of the exports to each."""

    passed: int = 0
    failed: int = 0
    undecided: int = 0
    pending: int = 0
    to_come: int = 0
    fallbacks: list[Fallback] = []
    waiting: list[EpisodeWaits] = []
    unmeasured: dict[str, int] = {}
    hidden: dict[str, int] = {}
    retryable: int = 0
    not_collected: int = 0
    degraded: int = 0
    tally: ScoringTally = ScoringTally()
    in_backend: bool = False
    left: Literal["", "backend", "resume", "rescore"] = ""
    sinks: list[SinkReport] = []

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked of it."""
        return self == ScoringReport()

    @property
    def hidden_told(self) -> str:
        """What is said of scores that are not among the numbers; empty where all of them are."""
        told = ", ".join(f"{metric} in {n}" for metric, n in self.hidden.items())
        return f"{told}: {HIDDEN}" if told else ""

    @property
    def verdicts(self) -> str:
        """``20 passed, 3 failed, 1 without one, 2 pending``."""
        told = f"{self.passed} passed, {self.failed} failed, {self.undecided} without one"
        return told + (f", {self.to_come} pending" if self.to_come else "")

    @property
    def fallbacks_told(self) -> str:
        """``10 of 90 verdicts came from judge:a, as tests_pass could not be measured there``; empty where
        none did."""
        of = self.passed + self.failed
        return "; ".join(
            f"{found.episodes} of {count(of, 'verdict')} came from {', '.join(found.by)}, as"
            f" {', '.join(found.lacking)} could not be measured there"
            for found in self.fallbacks
        )


def scoring_report(run: RunDir) -> ScoringReport:
    """The report of a run as it stands."""
    status = view_run(run).status
    try:
        asked = read_scoring(run.read_spec().scoring)
        progress, job = run.read_progress(), run.read_job()
    except (RunDirError, ScoringError):
        return report_of(read_rows(run), status)
    rows = read_rows(run)
    report = report_of(rows, status, asked.sinks)
    report.fallbacks = fallbacks(rows, asked)
    if report.pending:
        report.waiting = progress.scoring if progress else []
        report.in_backend = asked.trace.collect == "control-plane" and job.kind != "score"
        if report.in_backend and status in AT_ITS_END:
            report.left = "backend"
    return report


def report_of(rows: Sequence[EpisodeRow], status: RunStatus, sinks: Sequence[SinkSpec] = ()) -> ScoringReport:
    """The report of these rows, of a run that stands so. ``sinks``: those that were asked for."""
    scored = [row for row in rows if row.scoring != "none"]
    unmeasured = Counter(
        metric
        for row in scored
        for metric in {score.metric for score in row.scores if not isinstance(score, Measured)}
    )
    verdicts = Counter(row.verdict for row in scored if row.scoring == "final" or row.verdict is not None)
    report = ScoringReport(
        passed=verdicts[True],
        failed=verdicts[False],
        undecided=verdicts[None],
        pending=sum(row.scoring == "pending" for row in scored),
        to_come=sum(row.scoring == "pending" and row.verdict is None for row in scored),
        unmeasured=dict(sorted(unmeasured.items())),
        hidden=dict(sorted(Counter(metric for row in scored for metric in hidden_scores(row)).items())),
        retryable=sum(map(_is_retryable, scored)),
        not_collected=sum(failed_to_collect(row) for row in scored),
        degraded=sum(does_without_trace(row) for row in scored),
        tally=scoring_tally(scored) or ScoringTally(),
        sinks=fold_exports(scored, sinks),
    )
    report.left = _left(report, status)
    return report


def fallbacks(rows: Sequence[EpisodeRow], asked: ScoringSpec) -> list[Fallback]:
    """The commonest first."""
    owners = deciding([make_grader(grader) for grader in asked.graders], asked.judges)
    decisions = [decide(row.scores, asked.verdict, owners) for row in rows if row.verdict is not None]
    found = Counter((d.by, d.lacking) for d in decisions if d.passed is not None and d.lacking)
    told = [
        Fallback(episodes=n, by=sorted(by), lacking=sorted(lacking)) for (by, lacking), n in found.items()
    ]
    return sorted(told, key=lambda each: (-each.episodes, each.by, each.lacking))


def _left(report: ScoringReport, status: RunStatus) -> Literal["", "resume", "rescore"]:
    """What would bring more. A run that was cut short is not scored again, which asks every judge once more,
    but taken up where it was."""
    if status in ("pending", "running"):
        return ""
    if report.pending and status != "completed":
        return "resume"
    unsent = any(sink.is_left for sink in report.sinks)
    return "rescore" if report.pending or report.retryable or unsent else ""


def _is_retryable(row: EpisodeRow) -> bool:
    """Whether another attempt may measure more of it, or have its trace."""
    if failed_to_collect(row) and (row.failure or {}).get("retryable"):
        return True
    return any(isinstance(score, Unmeasured) and score.retryable for score in row.scores)
