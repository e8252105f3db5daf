"""``evaltower delete``."""

from __future__ import annotations

import sys
from typing import Any

import click

from engine.cli.app import App
from engine.cli.each import each_run, json_option, runs_argument
from engine.text import visible


@click.command("delete")
@runs_argument
@click.option("-y", "--yes", is_flag=True, help="Do not ask; without a terminal nothing is asked.")
@json_option
@click.pass_obj
def command(app: App, /, *, runs: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Remove the folder of each RUN, with all its episodes. It must not be queued or run."""
    operating = app.operating
    if sys.stdin.isatty() and not yes:
        click.confirm(visible(f"Remove {', '.join(runs)}, with all episodes?"), err=True, abort=True)

    def delete(run: str) -> dict[str, Any]:
        run_id = operating.show(run).run_id
        operating.delete(run_id)
        return {"run_id": run_id, "status": "deleted"}

    each_run(runs, delete, as_json=as_json)
