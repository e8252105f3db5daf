"""``evaltower estimate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import FAILED, App
from engine.cli.each import json_option
from engine.cli.output import put_json, put_table, put_wrapped
from engine.cli.queueing import gigabytes
from engine.cli.ranges import limited
from engine.cli.request import parse_selectors, select_option
from engine.cli.sources import read_sources, server_option, workspace_option
from engine.figures import count

if TYPE_CHECKING:
    from engine.control.queue_reports import EstimateReport, ResourceEstimate


@click.command("estimate")
@click.argument("graph")
@click.option(
    "-w", "workers", type=limited("worker_count"), default=1, metavar="W", help="Workers (default 1)."
)
@select_option
@workspace_option
@server_option
@json_option
@click.pass_obj
def command(
    app: App, /, *, graph: str, workers: int, selectors: tuple[str, ...], as_json: bool, **sources: Any
) -> None:
    """Tell what a run of GRAPH with W workers would need, and whether it would start now. Loads nothing.

    Ends with 1 where this machine can never take it.
    """
    report = app.operating.estimate(graph, workers, read_sources(**sources), parse_selectors(selectors))
    put_json(report) if as_json else _put_report(report)
    if report.refused:
        raise click.exceptions.Exit(FAILED)


def _put_report(report: EstimateReport) -> None:
    put_table(
        ["resource", "needs", "free", "not known", "from"],
        [_row(name, found) for name, found in report.resources.items()],
    )
    workers = count(report.worker_count, "worker")
    if report.refused:
        put_wrapped(f"{workers}: never on this machine: {report.refused}", "red")
    elif report.fits:
        where = f" on {', '.join(report.gpus)}" if report.gpus else ""
        put_wrapped(f"{workers}: would start now{where}", "green")
        if report.max_workers < report.worker_count:
            put_wrapped("nothing is known of it yet: others wait until what it takes has been seen")
            return
    else:
        put_wrapped(f"{workers}: would wait: {report.waits}", "yellow")
    put_wrapped(f"the most that would start now: {report.max_workers}")


def _row(name: str, found: ResourceEstimate) -> list[str]:
    return [
        name,
        gigabytes(found.estimate_mb),
        gigabytes(found.measured_free_mb),
        ", ".join(found.uncalibrated) or "-",
        ", ".join(f"{part}: {basis}" for part, basis in found.basis.items()) or "-",
    ]
