"""``evaltower cancel``."""

from __future__ import annotations

from typing import Any

import click

from engine.cli.app import App
from engine.cli.each import each_run, json_option, runs_argument
from engine.cli.ranges import Number
from engine.limits import Limit


@click.command("cancel")
@runs_argument
@click.option(
    "--grace",
    type=Number(Limit(0, whole=False)),
    metavar="SEC",
    help="Kill what has not ended after so long; 0: at once (default: as configured).",
)
@json_option
@click.pass_obj
def command(app: App, /, *, runs: tuple[str, ...], grace: float | None, as_json: bool) -> None:
    """End each RUN: a queued one at once; a running one is asked, and its processes are killed after a grace.

    What is finished stays. Of a run that is scored, judges and exports that have begun are waited for within
    that grace, and nothing new begins; "resume" goes on with what is left. Again, with a shorter --grace, is
    no error.
    """

    def cancel(run: str) -> dict[str, Any]:
        report = app.operating.cancel(run, grace)
        return {"run_id": report.run_id, "status": report.status}

    each_run(runs, cancel, as_json=as_json)
