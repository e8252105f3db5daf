"""``evaltower episodes``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engine.cli.app import App
from engine.cli.output import Cell, put_json, put_table, say
from engine.cli.results import STATUS_COLOURS, has_failed
from engine.cli.scores import verdict_of
from engine.figures import labelled, number
from engine.store.records import VERDICT
from engine.store.task_names import task_names

if TYPE_CHECKING:
    from engine.store.records import EpisodeRow


@click.command("episodes")
@click.argument("run")
@click.option(
    "--failed", is_flag=True, help="Only those that errored, did not succeed, or failed by their verdict."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, run: str, failed: bool, as_json: bool) -> None:
    """List the finished episodes of RUN, in index order.

    What an episode has measured that did not complete counts in no mean, and stands in parentheses.
    """
    rows = [row for row in app.control.episodes(run) if not failed or has_failed(row)]
    if as_json:
        put_json(rows)
        return
    if not rows:
        say("no episode failed" if failed else "no episode has finished yet")
        return
    scored = any(row.scoring != "none" for row in rows)
    metrics = list(dict.fromkeys(name for row in rows for name in row.measures))
    if scored and not any(VERDICT in row.metrics for row in rows):
        metrics = [name for name in metrics if name != VERDICT]  # it has a column of its own
    tasks = task_names(row.task for row in rows)
    header = [
        "episode",
        *(["task"] if len(tasks) > 1 else []),
        "status",
        *(["verdict"] if scored else []),
        "ended by",
        "steps",
        "seconds",
        *map(labelled, metrics),
        "what",
    ]
    put_table(header, [_cells(row, metrics, tasks, scored) for row in rows])


def _cells(row: EpisodeRow, metrics: list[str], tasks: dict[str, str], scored: bool) -> list[str | Cell]:
    repeat = f" r{row.repeat}" if row.repeat > 1 else ""
    return [
        f"{row.episode_index}{repeat}",
        *([tasks[row.task]] if len(tasks) > 1 else []),
        Cell(row.status, STATUS_COLOURS[row.status]),
        *([verdict_of(row)] if scored else []),
        row.termination,
        str(row.step_count),
        f"{row.elapsed_sec:.1f}",
        *(_measure(row, name) for name in metrics),
        f"{row.error_class or 'error'}: {row.error}" if row.error else row.instruction,
    ]


def _measure(row: EpisodeRow, name: str) -> str:
    told = number(row.measures.get(name))
    return told if row.status == "completed" or row.measures.get(name) is None else f"({told})"
