"""``evaltower export``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, cast

import click

from engine.cli.app import App, absolute
from engine.cli.exports.target import FILMS, TEXTS, check_target, exported
from engine.cli.ranges import Number, given
from engine.limits import FPS

if TYPE_CHECKING:
    from engine.cli.exports.tables import Table
    from engine.report.video import VideoFormat


@click.command("export")
@click.argument("run")
@click.option("--episode", metavar="I", help="This episode (an index or a folder's name), not the run.")
@click.option("--format", "form", type=click.Choice([*TEXTS, *FILMS]), required=True, help="What to write.")
@click.option("--scores", is_flag=True, help="jsonl, csv: a score a line, with its value, unit and reason.")
@click.option(
    "-o",
    "path",
    callback=given,
    metavar="FILE",
    help='Where to, "-" is stdout (default: stdout; a video: RUN_epN.mp4 here).',
)
@click.option("--force", is_flag=True, help="Replace FILE where it is there.")
@click.option("--node", metavar="N", help="A video of this node's images (default: the environment's).")
@click.option("--port", metavar="P", help="A video of this port's images (default: rgb, where there is one).")
@click.option("--fps", type=Number(FPS), help="A video's frames a second (default 10).")
@click.option("--no-caption", is_flag=True, help="A video without instruction, step, action and reward.")
@click.pass_obj
def command(
    app: App,
    /,
    *,
    run: str,
    episode: str | None,
    form: str,
    scores: bool,
    path: str,
    force: bool,
    **film: Any,
) -> None:
    """Write RUN as one file for others: its numbers and episodes, or one episode with its log or as a video.

    json: all of it. jsonl: an episode, or a node firing, a line. csv: the same as a table. html: a page that
    loads nothing (of a run, "evaltower report"). mp4, gif: the frames that an episode's log keeps.
    """
    target = None if path == "-" else absolute(path)
    if target is not None:
        check_target(target, form, force)
    if scores and form not in ("jsonl", "csv"):
        raise click.BadParameter("belongs to jsonl and csv; json and html have them", param_hint="--scores")
    if form in FILMS:
        if episode is None:
            raise click.UsageError(f"a video is of one episode: --episode I --format {form}")
        if path == "-" and sys.stdout.isatty():
            raise click.BadParameter(f"a terminal shows no {form}: name a file", param_hint="-o")
        _put_film(app, run, episode, cast("VideoFormat", form), path, force, **film)
        return
    if any(film.values()):
        raise click.UsageError("--node, --port, --fps and --no-caption are for --format mp4 and gif")
    if scores:
        pieces = _score_pieces(app, run, episode, form)
    else:
        pieces = _run_pieces(app, run, form) if episode is None else _episode_pieces(app, run, episode, form)
    if target is None:
        for piece in pieces:
            click.echo(piece, nl=False)
    else:
        with exported(target, form, force) as file:
            file.writelines(pieces)


def _put_film(
    app: App,
    run: str,
    episode: str,
    form: VideoFormat,
    path: str,
    force: bool,
    *,
    node: str | None,
    port: str | None,
    fps: float | None,
    no_caption: bool,
) -> None:
    from engine.cli.output import say
    from engine.report.filming import film_of

    film = film_of(app.control, run, episode, form, node=node, port=port, fps=fps, captioned=not no_caption)
    say(f"frames: {film.shown}" + (f"; others: {', '.join(film.others)}" if film.others else ""))
    if path == "-":
        with TemporaryFile() as whole:  # both formats go back in the file, or may fail at its end
            film.write(whole)
            whole.seek(0)
            shutil.copyfileobj(whole, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    else:
        with exported(absolute(path) or Path.cwd() / film.file_name, form, force) as file:
            film.write(file)
    if film.losses.count:
        say(f"{film.losses.count} of the frames could not be read: {film.losses.first}", "yellow")


def _score_pieces(app: App, run: str, episode: str | None, form: str) -> Iterable[bytes]:
    from engine.cli.exports.tables import score_lines, scores_table

    found = app.control.episodes(run) if episode is None else [app.control.episode(run, episode).episode]
    return _pieces(form, None, score_lines(found), lambda: scores_table(found), tuple)


def _run_pieces(app: App, run: str, form: str) -> Iterable[bytes]:
    from engine.cli.exports.tables import episode_table
    from engine.report.content import read_run
    from engine.report.run_page import run_page

    whole = read_run(app.control, run)
    return _pieces(
        form, whole, whole.episodes, lambda: episode_table(whole.episodes), lambda: run_page(whole)
    )


def _episode_pieces(app: App, run: str, episode: str, form: str) -> Iterable[bytes]:
    from engine.cli.exports.tables import firing_table
    from engine.report.content import find_episode, read_episode
    from engine.report.episode_page import episode_page

    one = read_episode(app.control, run, episode)
    _, folder = find_episode(app.control, run, episode)
    return _pieces(form, one, one.log, lambda: firing_table(one.log), lambda: episode_page(one, folder))


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
