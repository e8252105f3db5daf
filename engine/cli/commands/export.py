"""``evaltower export``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import App, absolute
from engine.cli.output import say

if TYPE_CHECKING:
    from engine.cli.exports.content import Table

FORMATS = ["json", "jsonl", "csv", "html"]


@click.command("export")
@click.argument("run")
@click.option("--episode", metavar="I", help="This episode's log (an index or a folder's name), not the run.")
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option("--scores", is_flag=True, help="jsonl, csv: a score a line, with its value, unit and reason.")
@click.option("-o", "path", metavar="FILE", help="Where to (default: stdout). A file there is replaced.")
@click.pass_obj
def command(app: App, /, *, run: str, episode: str | None, form: str, scores: bool, path: str | None) -> None:
    """Write RUN as one file for others: its numbers and episodes, or one episode with its log.

    json: all of it. jsonl: an episode, or a node firing, a line. csv: the same as a table. html: a page of
    tables that loads nothing.
    """
    from engine.cli.exports.content import (
        episode_table,
        firing_table,
        read_episode,
        read_run,
        score_lines,
        scores_table,
    )
    from engine.cli.exports.html_page import episode_page, run_page

    target = absolute(path)
    if target is not None and target.exists() and not target.is_file():
        raise click.BadParameter(f"{target} is not a file", param_hint="-o")
    if scores and form not in ("jsonl", "csv"):
        raise click.BadParameter("belongs to jsonl and csv; json and html have them", param_hint="--scores")
    pieces: Iterable[bytes]
    if scores:
        found = app.control.episodes(run) if episode is None else [app.control.episode(run, episode).episode]
        pieces = _pieces(form, None, score_lines(found), lambda: scores_table(found), tuple)
    elif episode is None:
        whole = read_run(app.control, run)
        rows = whole.episodes
        pieces = _pieces(form, whole, rows, lambda: episode_table(rows), lambda: run_page(whole))
    else:
        one = read_episode(app.control, run, episode)
        pieces = _pieces(form, one, one.log, lambda: firing_table(one.log), lambda: episode_page(one))
    if target is None:
        for piece in pieces:
            click.echo(piece, nl=False)
    else:
        from engine.store.atomic import write_bytes

        write_bytes(target, b"".join(pieces))
        say(f"written: {target}")


def _pieces(
    form: str,
    document: Any,
    lines: Iterable[Any],
    table: Callable[[], Table],
    page: Callable[[], Iterable[bytes]],
) -> Iterable[bytes]:
    """The file of this format, in pieces."""
    from engine.cli.exports.csv_table import csv_lines
    from engine.store.strict_json import encode, encode_indented

    if form == "json":
        return [encode_indented(document)]
    if form == "jsonl":
        return (encode(line) + b"\n" for line in lines)
    return csv_lines(table()) if form == "csv" else page()
