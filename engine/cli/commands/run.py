"""``evaltower run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import App
from engine.cli.follow import follow_to_result
from engine.cli.output import put, put_json
from engine.cli.queueing import apply_scheduling, scheduling_options
from engine.cli.ranges import limited
from engine.cli.request import build_request, read_scoring_option, request_options, scoring_option
from engine.cli.trust import with_trust

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.reports import StartRequest


@click.command("run")
@click.argument("graph")
@request_options(default_count=None)
@scheduling_options
@click.option(
    "--retries",
    type=limited("retries"),
    default=0,
    metavar="N",
    help="Play an episode that the box failed again, unless it took too much memory.",
)
@click.option(
    "--repeats",
    type=limited("repeats"),
    default=1,
    metavar="K",
    help="Play every episode K times; show pass@k and pass^k.",
)
@click.option(
    "--until-width",
    type=limited("until_width"),
    metavar="W",
    help="End once the 95 % interval of a metric, end to end, is at most W; 0.1 is ±0.05.",
)
@click.option("--until-metric", metavar="M", help="The metric of --until-width (default success).")
@scoring_option()
@click.option("--no-follow", is_flag=True, help="Print the run's id and leave it to itself.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(
    app: App,
    /,
    *,
    graph: str,
    retries: int,
    repeats: int,
    until_width: float | None,
    until_metric: str | None,
    scoring: str | None,
    no_follow: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run GRAPH (a file or a saved graph's name) over episodes of its environment, and show the result.

    It is queued on the live backend, or, where there is none, on one that lives as long as this command and
    then hands over what is left. Without -n, --all or --episodes all episodes are run. Ctrl-C cancels the
    run cleanly; a second ends it at once.
    """
    request = build_request(graph, options)
    request.retries, request.repeats = retries, repeats
    if until_metric is not None and until_width is None:
        raise click.UsageError("--until-metric belongs to --until-width")
    request.until_width = until_width
    request.until_metric = until_metric or request.until_metric
    request.scoring = read_scoring_option(app.control, scoring) or {}
    apply_scheduling(app.running, request, options)
    start_and_follow(app.running, request, no_follow=no_follow, as_json=as_json)


def start_and_follow(control: Control, request: StartRequest, *, no_follow: bool, as_json: bool) -> None:
    """Start, watch, show the result; ends the command with 1 for a run that failed or had errors, or whose
    headline is withheld."""
    run = with_trust(request, lambda: control.start(request))
    if no_follow:
        put_json({"run_id": run, "path": control.show(run).path}) if as_json else put(run)
    else:
        follow_to_result(control, run, as_json=as_json)
