"""``evaltower verify``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import FAILED, INTERRUPTED, App
from engine.cli.follow import follow
from engine.cli.output import Cell, put, put_json, put_table, say
from engine.cli.request import build_request, parse_worker_counts, request_options
from engine.cli.results import STATUS_COLOURS
from engine.cli.trust import with_trust
from engine.figures import count

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.reports import Difference, VerifyReport

EPISODES = 24
COLOURS = {"same": "green", "different": "red", "undecided": "yellow"}


@click.command("verify")
@click.argument("targets", nargs=-1, required=True, metavar="GRAPH | RUN RUN...")
@request_options(default_count=EPISODES)
@click.option("--workers", default="1,3,8", metavar="LIST", help="Worker counts to compare (default 1,3,8).")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, targets: tuple[str, ...], workers: str, as_json: bool, **options: Any) -> None:
    """Run GRAPH at several worker counts and compare the results; or compare runs that are there.

    Prints each run's result digest. If they differ, names the first episode, step, node and port that do,
    and ends with 1; so it does where the episodes that both have are equal and others could not be compared:
    undecided. An episode that the box fails is played again twice, or as often as --retries says above that.
    """
    if len(targets) > 1:
        report = app.control.compare_results(targets)
    else:
        request = build_request(targets[0], options, EPISODES)
        counts, watch = parse_worker_counts(workers), _watcher(app.running)
        report = with_trust(request, lambda: app.running.verify(request, counts, watch))
    put_json(report) if as_json else _put_report(report)
    if report.verdict != "same":
        raise click.exceptions.Exit(FAILED)


def _watcher(control: Control) -> Callable[[str], None]:
    def watch(run: str) -> None:
        report, interrupted = follow(control, run)
        if interrupted:
            raise click.exceptions.Exit(INTERRUPTED)
        workers = report.summary.config.worker_count
        say(f"{count(workers, 'worker')}: run {run} {report.status}")

    return watch


def _put_report(report: VerifyReport) -> None:
    put_table(
        ["run", "workers", "status", "episodes", "result digest"],
        [
            [
                run.run_id,
                str(run.worker_count),
                Cell(run.status, STATUS_COLOURS[run.status]),
                str(run.episodes),
                run.result_digest or "-",
            ]
            for run in report.runs
        ],
    )
    put()
    put(f"{report.verdict}: {count(report.compared, 'episode')} compared", COLOURS[report.verdict])
    if report.difference:
        _put_difference(report.difference)
    refuted = ", which the difference refutes" if report.difference and report.determinism == "exact" else ""
    put(f"determinism claimed: {report.determinism} (the weakest label of these runs){refuted}")
    for note in report.notes:
        put(f"note: {note}", "yellow")


def _put_difference(difference: Difference) -> None:
    where = [f"episode {difference.episode}"]
    if difference.step is not None:
        where.append(f"step {difference.step}")
    if difference.node is not None:
        where.append(f"node {difference.node}")
    if difference.port is not None:
        where.append(f"port {difference.port}")
    put(f"first difference: {', '.join(where)} ({difference.what})")
    put(f"  {difference.left_run}: {difference.left}")
    put(f"  {difference.right_run}: {difference.right}")
