"""``evaltower view``."""

from __future__ import annotations

import click

from engine.cli.app import App


@click.command("view")
@click.argument("path", type=click.Path())
@click.pass_obj
def command(app: App, /, *, path: str) -> None:
    """Browse an episode's log at its first error. PATH: an episode's folder, or a log.jsonl.

    It needs neither a backend nor a root: the folder may come from anywhere. Images are half-blocks, or in
    pixels with `images = "auto"` (or kitty, sixel) under [ui] of evaltower.toml, where the terminal is able.
    """
    raise click.exceptions.Exit(app.show_log(path))
