"""``evaltower hold``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.each import json_option, run_argument
from engine.cli.output import put, put_json


@click.command("hold")
@run_argument
@click.option("--release", is_flag=True, help="Let it start again.")
@json_option
@click.pass_obj
def command(app: App, /, *, run: str, release: bool, as_json: bool) -> None:
    """Keep queued RUN from starting; with --release let it start again. Its place in the queue stays."""
    control = app.operating
    run_id = control.show(run).run_id
    control.release(run_id) if release else control.hold(run_id)
    if as_json:
        put_json({"run_id": run_id, "held": not release})
    else:
        put(f"{run_id} {'released' if release else 'held'}")
