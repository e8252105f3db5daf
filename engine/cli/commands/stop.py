"""``evaltower stop``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.each import json_option
from engine.cli.output import put, put_json


@click.command("stop")
@click.option("--cancel", is_flag=True, help="Cancel its runs first.")
@json_option
@click.pass_obj
def command(app: App, /, *, cancel: bool, as_json: bool) -> None:
    """End the backend. What is queued stays so until the next one.

    Without --cancel its runs go on for the orphans' grace ([admission] orphan_grace, 60 s by default): a
    backend that starts meanwhile takes them over, else they end. Those on a cluster go on in any case.
    """
    control = app.operating
    backend = control.backend()
    control.stop_backend(cancel=cancel)
    if as_json:
        put_json({"pid": backend.pid, "status": "ending"})
    else:
        put(f"the backend of {backend.root} (process {backend.pid}) is ending")
