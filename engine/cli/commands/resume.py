"""``evaltower resume``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.each import json_option, run_argument
from engine.cli.follow import follow_to_result
from engine.cli.output import put, put_json


@click.command("resume")
@run_argument
@click.option(
    "--errors", is_flag=True, help="Also play again the episodes that the box failed (class infra)."
)
@click.option("--no-follow", is_flag=True, help="Queue it and leave it to itself.")
@json_option
@click.pass_obj
def command(app: App, /, *, run: str, errors: bool, no_follow: bool, as_json: bool) -> None:
    """Queue RUN again for the episodes that have no finished row or were being scored, and follow it as
    ``run`` does.

    Finished episodes are not played again; the result is that of a run that was never interrupted.
    """
    control = app.running
    report = control.show(run)
    control.resume(report.run_id, errors=errors)
    if not no_follow:
        follow_to_result(control, report.run_id, as_json=as_json)
    elif as_json:
        put_json({"run_id": report.run_id, "path": report.path})
    else:
        put(report.run_id)
