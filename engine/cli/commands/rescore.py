"""``evaltower rescore``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.each import json_option, run_argument
from engine.cli.follow import follow_to_result
from engine.cli.output import put, put_json
from engine.cli.request import read_scoring_option, scoring_option


@click.command("rescore")
@run_argument
@scoring_option(default="as RUN was scored before")
@click.option("--no-follow", is_flag=True, help="Queue it and leave it to itself.")
@json_option
@click.pass_obj
def command(app: App, /, *, run: str, scoring: str | None, no_follow: bool, as_json: bool) -> None:
    """Score the finished episodes of RUN again, which has ended, without playing anything.

    Traces that could not be fetched are asked for again, then the graders that do not need the environment
    and the judges, then exports that have not succeeded. What was graded in the environment stands. With
    --scoring the run is scored so from now on. Afterwards the run stands as it had ended. A run that was cut
    short while it was scored is taken up by "resume" instead, which asks nobody twice.
    """
    control = app.running
    report = control.show(run)
    control.rescore(report.run_id, read_scoring_option(control, scoring))
    if not no_follow:
        follow_to_result(control, report.run_id, as_json=as_json)
    elif as_json:
        put_json({"run_id": report.run_id, "path": report.path})
    else:
        put(report.run_id)
