"""What came of scoring: of an episode, and of a run."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.cli.output import Cell, put, put_table, put_wrapped
from engine.report.words import score_in_words
from engine.store.scores import Measured

if TYPE_CHECKING:
    from engine.control.scoring_report import ScoringReport
    from engine.scoring.exporting import SinkReport
    from engine.store.records import EpisodeRow, EpisodeWaits

LONGEST_TOLD = 2000
"""Characters of a reason; all of it is in the episode's row."""
COLOURS = {"succeeded": "green", "partial": "yellow", "failed": "red"}


def verdict_of(row: EpisodeRow) -> Cell:
    """``pass``, ``fail``, that it is not known yet, or ``-`` where nothing decides."""
    if row.scoring == "pending":
        return Cell("pending", "cyan")
    if row.verdict is None:
        return Cell("-")
    return Cell("pass", "green") if row.verdict else Cell("fail", "red")


def waits_in_words(waiting: list[EpisodeWaits]) -> str:
    """``judge:quality 3, export 1``."""
    return ", ".join(f"{what} {count}" for what, count in Counter(w.waits_for for w in waiting).most_common())


def put_scoring(report: ScoringReport, run: str, *, over: bool) -> None:
    """A run's verdicts, what is not measured, what waits, each sink; nothing of one that is not scored.

    The rate of passes is a metric among the others, and withheld as they are.
    """
    if report.is_empty:
        return
    put()
    rows = [["verdicts", f"{report.passed} passed, {report.failed} failed, {report.undecided} without one"]]
    if report.unmeasured:
        told = ", ".join(f"{metric} in {count}" for metric, count in report.unmeasured.items())
        rows.append(["not measured", told])
    if report.not_collected:
        rows.append(["traces", f"{report.not_collected} could not be fetched"])
    if report.pending:
        now = waits_in_words(report.waiting)
        rows.append(["waiting", f"{report.pending} episodes" + (f": {now}" if now else "")])
    put_table(["scoring", ""], rows)
    if over and report.in_backend:
        put_wrapped("The backend fetches their traces, and goes on with them by itself.")
    elif over and (report.pending or report.retryable or report.not_collected or _unsent(report.sinks)):
        put_wrapped(f"evaltower rescore {run} does what is left, without playing anything.", "yellow")
    if report.sinks:
        put()
        put_table(["exported to", "status", "episodes", "where", "what"], [*map(_sink, report.sinks)])


def _unsent(sinks: list[SinkReport]) -> bool:
    return any(sink.status != "succeeded" for sink in sinks)


def _sink(report: SinkReport) -> list[str | Cell]:
    sent = sum(case.error is None for case in report.cases)
    warned = sum(case.warning is not None for case in report.cases)
    told = [report.message, f"{warned} with a warning" if warned else ""]
    return [
        f"{report.name} ({report.sink})",
        Cell(report.status, COLOURS[report.status]),
        f"{sent}/{len(report.cases)}",
        report.url or "-",
        "; ".join(filter(None, told)),
    ]


def put_episode(row: EpisodeRow) -> None:
    """An episode's verdict, its scores with their reasons, what went wrong, and where it was exported."""
    if row.scoring == "none":
        return
    put()
    verdict = verdict_of(row)
    put(f"verdict: {verdict.text}", verdict.colour)
    for line, colour in _lines(row):
        put(textwrap.shorten(line, LONGEST_TOLD, placeholder=" …"), colour)


def _lines(row: EpisodeRow) -> Iterator[tuple[str, str | None]]:
    for score in row.scores:
        colour = None if isinstance(score, Measured) else "yellow"
        yield f"{score.metric}: {score_in_words(score)}", colour
    failure = row.failure or {}
    if failure.get("stage") in ("collect", "grade"):
        yield f"{failure['stage']}: {failure.get('message', '')}", "yellow"
    for stage in row.stages:
        if stage.error and stage.name == "snapshot":
            yield f"{stage.name}: {stage.error}", "yellow"
    for outcome in row.exports:
        where = f"exported to {outcome.name} ({outcome.sink})"
        if outcome.error is not None:
            yield f"{where}: {outcome.error}", "red"
        else:
            told = filter(None, (outcome.url or outcome.external_id, outcome.warning))
            yield f"{where}: {', '.join(told) or 'done'}", None
