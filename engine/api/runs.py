"""The routes of runs: start, look, cancel, resume, delete, compare."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from engine.api import names
from engine.api.answers import (
    Current,
    CurrentEpisodes,
    Deleted,
    LogPage,
    Queued,
    Run,
    RunRow,
    Runs,
    SchedulerState,
    Started,
    row_of,
)
from engine.api.endpoint import Call, File
from engine.api.errors import BadRequest
from engine.control.comparing import CompareReport
from engine.control.look import episode_folder
from engine.control.protocol import Control
from engine.control.queue_reports import CancelReport
from engine.control.reports import NotFoundError, RunReport, StartRequest
from engine.store.records import EpisodeFile, SummaryHead
from engine.store.rundir import RunDir

MEDIA = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".mp4": "video/mp4",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
"""What an asset may be for a browser; everything else is bytes to be saved."""


def start(call: Call) -> Started:
    return Started(run_id=call.control.start(asked_for(call)))


def asked_for(call: Call) -> StartRequest:
    """The run of a start's or a play's body. BadRequest where it names no graph, or a path."""
    request: StartRequest = call.body.request()
    if not request.graph:
        try:
            names.saved_graph(request.graph_name)
        except BadRequest as error:
            raise BadRequest([*error.problems, *call.body.problems()]) from None
    return request


def listed(call: Call) -> Runs:
    asked = call.query
    found = call.control.runs(
        limit=asked.limit + 1, before=asked.before, status=asked.status, graph=asked.graph
    )
    rows = [row_of(report) for report in found[: asked.limit]]
    return Runs(runs=rows, next_before=rows[-1].run_id if len(found) > asked.limit else None)


def shown(call: Call) -> Run:
    """A run with its episodes."""
    report = call.control.show(call.path["run_id"])
    scoring = call.control.scoring(report.run_id)
    fields = {name: getattr(report.summary, name) for name in SummaryHead.__struct_fields__}
    return Run(
        **{**fields, "status": report.status},
        episodes=call.control.episodes(report.run_id),
        scheduler_state=_scheduler_state(call.control, report),
        label=report.label,
        waits=report.waits,
        progress=report.progress,
        environment=report.environment,
        stderr_tail=report.stderr_tail,
        scoring=None if scoring.is_empty else scoring,
    )


def _scheduler_state(control: Control, report: RunReport) -> SchedulerState:
    if report.is_over:
        return report.status
    queue = control.queue()
    if any(run.run_id == report.run_id for run in queue.queued):
        return "queued"
    cancelling = (run.cancel_requested for run in queue.running if run.run_id == report.run_id)
    return "cancelling" if next(cancelling, False) else report.status


def episode(call: Call) -> EpisodeFile:
    return call.control.episode(call.path["run_id"], call.path["index"])


def log_page(call: Call) -> LogPage:
    offset, limit = call.query.offset, call.query.limit
    firings = call.control.log(call.path["run_id"], call.path["index"])
    lines = list(islice(firings, offset, offset + limit))
    more = next(firings, None) is not None
    _close(firings)
    return LogPage(lines=lines, offset=offset, next_offset=offset + len(lines), more=more)


def _close(firings: Iterator[object]) -> None:
    close = getattr(firings, "close", None)
    if close:
        close()


def asset(call: Call) -> File:
    run = RunDir(Path(call.control.show(call.path["run_id"]).path))
    path = names.inside(episode_folder(run, call.path["index"]) / "assets", call.path["name"])
    return File(path, MEDIA.get(path.suffix.lower(), "application/octet-stream"))


def cancel(call: Call) -> CancelReport:
    return call.control.cancel(call.path["run_id"], call.body.grace_sec)


def resume(call: Call) -> Queued:
    run_id = call.control.show(call.path["run_id"]).run_id
    call.control.resume(run_id, errors=call.body.errors)
    return Queued(run_id=run_id)


def rescore(call: Call) -> Queued:
    run_id = call.control.show(call.path["run_id"]).run_id
    call.control.rescore(run_id, call.body.scoring, call.body.caller_secrets)
    return Queued(run_id=run_id)


def delete(call: Call) -> Deleted:
    run_id = call.control.show(call.path["run_id"]).run_id
    call.control.delete(run_id)
    return Deleted(deleted=run_id)


def compare(call: Call) -> CompareReport:
    runs = [run.strip() for run in call.query.runs.split(",") if run.strip()]
    return call.control.compare(runs)


def current(call: Call) -> Current:
    row = _current(call.control)
    return Current(status=row.status, run=row) if row else Current()


def current_episodes(call: Call) -> CurrentEpisodes:
    row = _current(call.control)
    if row is None:
        return CurrentEpisodes()
    return CurrentEpisodes(status=row.status, run=row, episodes=call.control.episodes(row.run_id))


def stop_current(call: Call) -> CancelReport:
    row = _current(call.control)
    if row is None:
        raise NotFoundError("no run is queued or running")
    return call.control.cancel(row.run_id)


def _current(control: Control) -> RunRow | None:
    """The run that runs, else the first that is queued."""
    queue = control.queue()
    found = [run.run_id for run in queue.running] + [run.run_id for run in queue.queued]
    return row_of(control.show(found[0])) if found else None
