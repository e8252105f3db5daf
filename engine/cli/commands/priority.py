"""``evaltower priority``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.app import App
from engine.cli.each import json_option, run_argument
from engine.cli.output import put, put_json
from engine.cli.queueing import PRIORITIES, ordinal

if TYPE_CHECKING:
    from engine.scheduling.need import Priority


@click.command("priority")
@run_argument
@click.argument("priority", type=click.Choice(PRIORITIES))
@json_option
@click.pass_obj
def command(app: App, /, *, run: str, priority: Priority, as_json: bool) -> None:
    """Give queued RUN another priority. Higher ones go first; within one it is first come, first served."""
    control = app.operating
    run_id = control.show(run).run_id
    now = control.prioritize(run_id, priority)
    if as_json:
        put_json({"run_id": run_id, "priority": priority, "position": now})
    else:
        put(f"{run_id} is {priority}, and {ordinal(now)}")
