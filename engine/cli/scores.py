"""What came of scoring: of an episode, and of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.cli.output import Cell, put, put_table, put_wrapped
from engine.figures import count
from engine.report.words import score_in_words
from engine.store.scores import Measured
from engine.store.scoring_tally import hidden_scores, not_judged_in_words, use_in_words
from engine.text import cut

if TYPE_CHECKING:
    from engine.control.scoring_report import ScoringReport
    from engine.scoring.exporting import SinkReport
    from engine.store.records import EpisodeRow, EpisodeWaits

LONGEST_TOLD = 2000
"""Characters of a reason; all of it is in the episode's row."""
COLOURS = {"succeeded": "green", "pending": "cyan", "partial": "yellow", "failed": "red"}


def verdict_of(row: EpisodeRow) -> Cell:
    """``pass``, ``fail``, that it is not known yet, or ``-`` where nothing decides."""
    if row.verdict is None:
        return Cell("pending", "cyan") if row.scoring == "pending" else Cell("-")
    return Cell("pass", "green") if row.verdict else Cell("fail", "red")


def waits_in_words(waiting: list[EpisodeWaits]) -> str:
    """``judge:quality 3, export 1``."""
    return ", ".join(f"{what} {n}" for what, n in Counter(w.waits_for for w in waiting).most_common())


def put_scoring(report: ScoringReport, run: str) -> None:
    """A run's verdicts, what is not measured, what waits, each sink; nothing of one that is not scored.

    The rate of passes is a metric among the others, and withheld as they are.
    """
    if report.is_empty:
        return
    put()
    rows = [["verdicts", report.verdicts]]
    if report.fallbacks:
        rows.append(["lower rungs", report.fallbacks_told])
    if report.unmeasured:
        told = ", ".join(f"{metric} in {n}" for metric, n in report.unmeasured.items())
        rows.append(["not measured", told])
    if report.hidden:
        rows.append(["hidden", report.hidden_told])
    if report.tally.not_judged:
        rows.append(["not judged", not_judged_in_words(report.tally)])
    if report.degraded:
        rows.append(["traces", f"{report.degraded} graded without: it could not be fetched"])
    if report.not_collected:
        rows.append(["traces", f"{report.not_collected} could not be fetched"])
    if report.pending:
        now = waits_in_words(report.waiting)
        rows.append(["waiting", count(report.pending, "episode") + (f": {now}" if now else "")])
    if report.tally.judges_used.asked:
        rows.append(["judges took", use_in_words(report.tally.judges_used)])
    put_table(["scoring", ""], rows)
    if report.left == "backend":
        put_wrapped("The backend fetches their traces, and goes on with them by itself.")
    elif report.left == "resume":
        put_wrapped(f"evaltower resume {run} goes on with them where it was cut short.", "yellow")
    elif report.left == "rescore":
        put_wrapped(f"evaltower rescore {run} does what is left, without playing anything.", "yellow")
    if report.sinks:
        put()
        put_table(["exported to", "status", "episodes", "where", "what"], [*map(_sink, report.sinks)])


def _sink(report: SinkReport) -> list[str | Cell]:
    warned = sum(case.warning is not None for case in report.cases)
    told = [report.message, f"{warned} with a warning" if warned else ""]
    return [
        f"{report.name} ({report.sink})",
        Cell(report.status, COLOURS.get(report.status)),
        f"{report.sent}/{report.total}",
        report.url or report.where or "-",
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
        put(shortened(line), colour)


def shortened(text: str) -> str:
    """What is shown of a text that ``log --json`` has whole."""
    return text if len(text) <= LONGEST_TOLD else f"{cut(text, LONGEST_TOLD)} (--json has all)"


def _lines(row: EpisodeRow) -> Iterator[tuple[str, str | None]]:
    for score in row.scores:
        colour = None if isinstance(score, Measured) else "yellow"
        by = "" if score.grader_id == score.metric else f" by {score.grader_id}"
        yield f"{score.metric}{by}: {score_in_words(score)}", colour
    for metric in hidden_scores(row):
        yield f"{metric}: the graph's own metric of that name counts, and not the score", "yellow"
    failure = row.failure or {}
    if failure.get("stage") in ("collect", "grade"):
        yield f"{failure['stage']}: {failure.get('message', '')}", "yellow"
    known = {failure.get("message")}
    for stage in row.stages:
        if stage.error and stage.error not in known and not stage.name.startswith(("judge:", "export:")):
            known.add(stage.error)
            yield f"{stage.name}: {stage.error}", "yellow"
    if row.judges_used is not None and row.judges_used.asked:
        yield f"judges took {use_in_words(row.judges_used)}", None
    for outcome in row.exports:
        where = f"exported to {outcome.name} ({outcome.sink})"
        if outcome.error is not None:
            yield f"{where}: {outcome.error}", "red"
        else:
            told = filter(None, (outcome.url or outcome.where or outcome.external_id, outcome.warning))
            yield f"{where}: {', '.join(told) or 'done'}", None
