"""``evaltower report``."""

from __future__ import annotations

from pathlib import Path

import click

from engine.cli.app import App, absolute
from engine.cli.exports.target import check_target, exported
from engine.cli.ranges import given


@click.command("report")
@click.argument("run")
@click.argument("other", required=False)
@click.option(
    "-o", "path", callback=given, metavar="FILE", help='Where to (default: RUN.html here; "-" is stdout).'
)
@click.option("--force", is_flag=True, help="Replace FILE where it is there.")
@click.pass_obj
def command(app: App, /, *, run: str, other: str | None, path: str, force: bool) -> None:
    """Write RUN as one page for others: numbers with intervals, every episode's outcome, the failures first
    with their frames and reasons, and what produced it. With OTHER, RUN is compared with it, episode by
    episode.

    The page holds all that it shows, loads nothing, and runs nothing.
    """
    from engine.report.content import read_comparison, read_run
    from engine.report.run_page import run_page

    target = None if path == "-" else absolute(path)
    if target is not None:
        check_target(target, "html", force)
    whole = read_run(app.control, run)
    pieces = run_page(whole, read_comparison(app.control, whole.run.run_id, other))
    if path == "-":
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    with exported(target or Path.cwd() / f"{whole.run.run_id}.html", "html", force) as file:
        file.writelines(pieces)
