"""``evaltower queue``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.app import App
from engine.cli.each import json_option
from engine.cli.output import Cell, put, put_json, put_table, put_wrapped, say
from engine.cli.queueing import ago, gigabytes, ordinal

if TYPE_CHECKING:
    from engine.control.queue_reports import QueuedRun, QueueReport, RunningRun


@click.command("queue")
@json_option
@click.pass_obj
def command(app: App, /, *, as_json: bool) -> None:
    """Show what runs, and what waits, in its order and with its reason."""
    report = app.operating.queue()
    if as_json:
        put_json(report)
        return
    if report.playing:
        put_wrapped(f"{report.playing} is played by hand: nothing else starts until it has ended.", "yellow")
    if report.paused:
        put_wrapped("The queue is paused (evaltower unpause).", "yellow")
    if report.running:
        put_table(
            ["running", "graph", "workers", "since", "holds", "reserved", "where", "label"],
            [_running(run, report) for run in report.running],
        )
        for running in report.running:
            if running.cluster is not None and running.cluster.why:
                put_wrapped(f"{running.run_id}: {running.cluster.why}", None, "  ")
    if report.queued:
        if report.running:
            put()
        put_table(
            ["", "queued", "graph", "workers", "priority", "since", "needs", "label"],
            [*map(_queued, report.queued)],
        )
        put()
        for run in report.queued:
            put_wrapped(f"{ordinal(run.position)}: {run.reason}", "yellow" if run.held else None, "  ")
    if not (report.running or report.queued):
        say("nothing runs, and nothing waits")
    if told := _memory(report):
        put()
        put_wrapped(told)


def _running(run: RunningRun, report: QueueReport) -> list[str | Cell]:
    since = ago(run.started_at) if run.started_at else "starting"
    return [
        run.run_id,
        _what(run),
        str(run.worker_count),
        Cell("cancelling", "yellow") if run.cancel_requested else since,
        _amounts(report.holds_mb(run.run_id)),
        _amounts(report.reserved_mb(run.run_id)),
        _where(run),
        run.label,
    ]


def _where(run: RunningRun) -> str:
    if run.cluster is not None:
        return run.cluster.told
    return f"GPU {', '.join(run.gpus)}" if run.gpus else "-"


def _what(run: QueuedRun | RunningRun) -> str:
    return f"{run.graph_name}, scored again" if run.kind == "score" else run.graph_name


def _queued(run: QueuedRun) -> list[str | Cell]:
    return [
        str(run.position),
        run.run_id,
        _what(run),
        str(run.worker_count),
        run.priority,
        ago(run.submitted_at),
        _amounts(run.estimate_mb) + (", alone" if run.exclusive_gpu else ""),
        run.label,
    ]


def _amounts(amounts: dict[str, float] | dict[str, float | None]) -> str:
    """``vram 9.5 GB, ram 3.0 GB``; ``-`` where there is none."""
    return ", ".join(f"{what} {gigabytes(mb)}" for what, mb in amounts.items()) or "-"


def _memory(report: QueueReport) -> str:
    """What is free, and what of it is spoken for; by whom, where that is none of the runs above."""
    runs = {run.run_id for run in report.running}
    parts = []
    for pool, free in report.measured_free_mb.items():
        owners = report.reservations_mb.get(pool, {})
        told = f"{pool}: {gigabytes(free)} free"
        if total := sum(owners.values()):
            of_it = f", {gigabytes(total)} of it reserved"
            told += of_it if total <= free else f", while {gigabytes(total)} are reserved"
            rest = [f"{gigabytes(mb)} by {who}" for who, mb in owners.items() if who not in runs]
            told += f" ({', '.join(rest)})" if rest else ""
        parts.append(told)
    return "; ".join(parts)
