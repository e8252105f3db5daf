"""``evaltower doctor``."""

from __future__ import annotations

import click

from engine.cli.app import FAILED, App
from engine.cli.output import Cell, put_json, put_table

COLOURS = {"ok": "green", "warning": "yellow", "failure": "red"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, as_json: bool) -> None:
    """Look at this machine: interpreter, packages, GPUs, disk, terminal, nodesets; what would stop a run?"""
    items = app.control.doctor()
    if as_json:
        put_json(items)
    else:
        put_table(
            ["what", "state", "found"],
            [
                [i.name, Cell(i.state, COLOURS[i.state]), i.detail + (f" → {i.remedy}" if i.remedy else "")]
                for i in items
            ],
        )
    if any(item.state == "failure" for item in items):
        raise click.exceptions.Exit(FAILED)
