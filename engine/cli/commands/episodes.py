"""``evaltower episodes``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.app import App
from engine.cli.output import Cell, put_json, put_table, say
from engine.cli.results import STATUS_COLOURS
from engine.figures import number

if TYPE_CHECKING:
    from engine.store.records import EpisodeRow


@click.command("episodes")
@click.argument("run")
@click.option("--failed", is_flag=True, help="Only those that errored, or whose success is 0.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, run: str, failed: bool, as_json: bool) -> None:
    """List the finished episodes of RUN, in index order."""
    rows = [row for row in app.control.episodes(run) if not failed or has_failed(row)]
    if as_json:
        put_json(rows)
        return
    if not rows:
        say("no episode failed" if failed else "no episode has finished yet")
        return
    metrics = list(dict.fromkeys(name for row in rows for name in row.measures))
    several = len({row.task for row in rows}) > 1
    header = [
        "episode",
        *(["task"] if several else []),
        "status",
        "ended by",
        "steps",
        "seconds",
        *metrics,
        "what",
    ]
    put_table(header, [_cells(row, metrics, several) for row in rows])


def has_failed(row: EpisodeRow) -> bool:
    """Whether the episode errored or was cancelled, or its success is 0."""
    return row.status != "completed" or row.metrics.get("success") == 0


def _cells(row: EpisodeRow, metrics: list[str], several: bool) -> list[str | Cell]:
    repeat = f" r{row.repeat}" if row.repeat > 1 else ""
    return [
        f"{row.episode_index}{repeat}",
        *([row.task] if several else []),
        Cell(row.status, STATUS_COLOURS[row.status]),
        row.termination,
        str(row.step_count),
        f"{row.elapsed_sec:.1f}",
        *(number(row.measures.get(name)) for name in metrics),
        f"{row.error_class or 'error'}: {row.error}" if row.error else row.instruction,
    ]
