"""``evaltower check``."""

from __future__ import annotations

from typing import Any

import click

from engine.cli.app import FAILED, App
from engine.cli.output import put, put_json
from engine.cli.sources import read_sources, server_option, workspace_option

COLOURS = {"error": "red", "warning": "yellow"}


@click.command("check")
@click.argument("graphs", nargs=-1, required=True, metavar="GRAPH...")
@workspace_option
@server_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, graphs: tuple[str, ...], as_json: bool, **sources: Any) -> None:
    """Show every problem of each GRAPH (a file or a saved graph's name), and what it needs."""
    from engine.control.reports import problem_text

    reports = [app.control.check(graph, read_sources(**sources)) for graph in graphs]
    if as_json:
        put_json([{"graph": r.graph, "ok": r.ok, "report": r} for r in reports])
    for report in [] if as_json else reports:
        errors = sum(problem.severity == "error" for problem in report.problems)
        state = f"{errors} error{'s' * (errors != 1)}" if errors else "good"
        put(f"{report.graph}: {state} ({report.path})", None if report.ok else "red")
        for problem in report.problems:
            put(
                f"  {problem.severity} {problem_text(problem)} [{problem.code}]",
                COLOURS.get(problem.severity),
            )
        for use in report.nodesets:
            assumed = ", assumed: it declares none" if use.parallelism_assumed else ""
            put(f"  needs {use.name} ({use.parallelism}{assumed}; determinism {use.determinism})")
    if not all(report.ok for report in reports):
        raise click.exceptions.Exit(FAILED)
