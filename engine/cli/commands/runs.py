"""``evaltower runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.app import App
from engine.cli.output import Cell, put_json, put_table, say
from engine.cli.progress import clock, standing
from engine.cli.ranges import Number
from engine.cli.results import STATUS_COLOURS
from engine.limits import Limit
from engine.statistics.error_groups import lost_in_short

if TYPE_CHECKING:
    from engine.control.reports import RunReport
    from engine.store.records import RunStatus

STATES = ["pending", "running", "completed", "cancelled", "error", "aborted"]


@click.command("runs")
@click.option("--status", type=click.Choice(STATES), help="Only these.")
@click.option("--graph", metavar="G", help="Only runs of this graph.")
@click.option("--limit", type=Number(Limit(1)), metavar="N", help="The newest N.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(
    app: App, /, *, status: RunStatus | None, graph: str | None, limit: int | None, as_json: bool
) -> None:
    """List the runs, newest first. A run that nothing alive can finish is shown as aborted."""
    found = app.control.runs(status=status, graph=graph, limit=limit)
    if as_json:
        put_json(found)
    elif found:
        put_table(
            ["run", "status", "graph", "episodes", "errors", "time", "result", "label"], [*map(_row, found)]
        )
    else:
        say(f"no runs{' like that' if status or graph else ''} in {app.control.root}")


def _row(report: RunReport) -> list[str | Cell]:
    summary = report.summary
    return [
        report.run_id,
        Cell(report.status, STATUS_COLOURS[report.status]),
        summary.config.graph_name,
        f"{summary.completed_count}/{summary.total_episodes}",
        str(summary.error_count),
        clock(summary.elapsed_sec),
        report.waits
        or standing(report)
        or summary.error
        or lost_in_short(summary.error_count, summary.completed_count),
        report.label,
    ]
