"""``evaltower move``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.each import json_option, run_argument
from engine.cli.output import put, put_json
from engine.cli.queueing import ordinal
from engine.cli.ranges import Number
from engine.limits import MOST_EPISODES, Limit


@click.command("move")
@run_argument
@click.argument("position", type=Number(Limit(1, MOST_EPISODES)), metavar="POS")
@json_option
@click.pass_obj
def command(app: App, /, *, run: str, position: int, as_json: bool) -> None:
    """Put queued RUN at position POS, from 1. It stays within its priority."""
    control = app.operating
    run_id = control.show(run).run_id
    now = control.move(run_id, position)
    put_json({"run_id": run_id, "position": now}) if as_json else put(f"{run_id} is {ordinal(now)}")
