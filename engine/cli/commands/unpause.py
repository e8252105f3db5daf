"""``evaltower unpause``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.each import json_option
from engine.cli.output import put, put_json


@click.command("unpause")
@json_option
@click.pass_obj
def command(app: App, /, *, as_json: bool) -> None:
    """Let queued runs start again."""
    app.operating.unpause()
    put_json({"paused": False}) if as_json else put("the queue goes on")
