"""``evaltower watch``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from engine.cli.app import INTERRUPTED, App
from engine.cli.output import put, put_json_line, say
from engine.cli.watching import Change, Watcher

if TYPE_CHECKING:
    from engine.control.protocol import Control

POLL_SEC = 1.0
PATIENCE_SEC = 30.0
"""Without an answer: a backend that hands over, or is started again, is back by then."""


@click.command("watch")
@click.option(
    "--plain", is_flag=True, help="Lines without colour (also the default where it is no terminal)."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line.")
@click.pass_obj
def command(app: App, /, *, plain: bool, as_json: bool) -> None:
    """Tell of the queue and the running runs: first how each stands, then a line a change, until Ctrl-C.

    For screen readers, tee and CI.
    """
    try:
        for change in _changes(app.operating):
            if as_json:
                put_json_line(change)
            else:
                put(f"{change.time[11:19]} {change.text}", None if plain else change.colour)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None


def _changes(control: Control) -> Iterator[Change]:
    from engine.control.reports import NoBackendError

    watcher, lost_at = Watcher(control), None
    while True:
        try:
            yield from watcher.look()
            lost_at = None
        except NoBackendError:
            if lost_at is None:
                lost_at = time.monotonic()
                say("the backend does not answer; waiting for it")
            elif time.monotonic() - lost_at > PATIENCE_SEC:
                raise
        time.sleep(POLL_SEC)
