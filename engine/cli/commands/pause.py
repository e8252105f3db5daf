"""``evaltower pause``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.each import json_option
from engine.cli.output import put, put_json


@click.command("pause")
@json_option
@click.pass_obj
def command(app: App, /, *, as_json: bool) -> None:
    """Start nothing until ``evaltower unpause``. What runs goes on; runs can still be queued."""
    app.operating.pause()
    put_json({"paused": True}) if as_json else put("the queue is paused")
