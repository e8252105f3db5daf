"""``evaltower demo``."""

from __future__ import annotations

import click

from engine.cli.app import App
from engine.cli.commands.run import start_and_follow

GRAPH, SPLIT, EPISODES, WORKERS = "gridhouse_follow", "val_unseen", 24, 4


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, as_json: bool) -> None:
    """Run the embedded example: a learned policy follows instructions through houses that it has never
    seen.

    24 episodes, 4 workers, one batched model server; about a minute on 2 cores. It downloads nothing.
    """
    from engine.control.reports import StartRequest

    request = StartRequest(graph_name=GRAPH, split=SPLIT, episode_count=EPISODES, worker_count=WORKERS)
    start_and_follow(app.running, request, no_follow=False, as_json=as_json)
