"""``evaltower show``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.output import put, put_json, put_table
from engine.cli.progress import describe, number
from engine.cli.results import put_result


@click.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, run: str, as_json: bool) -> None:
    """Show how RUN stands: an id, a beginning that only one has, a label, or "last"."""
    report = app.control.show(run)
    if as_json:
        put_json(report)
        return
    put_result(report, app.control.episodes(report.run_id))
    by_task = report.summary.aggregate_by_task
    if len(by_task) > 1:
        names = sorted({name for means in by_task.values() for name in means})
        put()
        put_table(
            ["task", *names], [[t, *(number(m.get(name)) for name in names)] for t, m in by_task.items()]
        )
    if not report.is_over:
        from engine.cli.bars import doing
        from engine.cli.progress import Pace

        put()
        put(describe(report, Pace()))
        for worker in report.progress.workers if report.progress else []:
            put(f"worker {worker.worker_id}: {worker.episodes_done}/{worker.episodes_total}, {doing(worker)}")
