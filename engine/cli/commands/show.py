"""``evaltower show``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.output import put, put_json, put_wrapped
from engine.cli.progress import describe
from engine.cli.results import put_result
from engine.cli.scores import put_scoring


@click.command("show")
@click.argument("run")
@click.option("--metric", metavar="M", help="Tell this one first (default: success, where there is one).")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, run: str, metric: str | None, as_json: bool) -> None:
    """Show how RUN stands: an id, a beginning that only one has, a label, or "last"."""
    report = app.control.show(run)
    results = app.control.results(report.run_id, metric)
    scoring = app.control.scoring(report.run_id)
    if as_json:
        from msgspec.structs import asdict

        put_json({**asdict(report), "results": results, "scoring": scoring})
        return
    put_result(report, results, app.control.episodes(report.run_id))
    put_scoring(scoring, report.run_id)
    if not report.is_over:
        from engine.cli.bars import doing
        from engine.cli.progress import Pace

        put()
        put_wrapped(describe(report, Pace()), "yellow" if report.status == "pending" else None)
        for worker in report.progress.workers if report.progress else []:
            put(f"worker {worker.worker_id}: {worker.episodes_done}/{worker.episodes_total}, {doing(worker)}")
