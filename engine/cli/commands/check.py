"""``evaltower check``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import FAILED, App, absolute
from engine.cli.output import Cell, put, put_json, put_table, say
from engine.cli.request import scoring_option
from engine.cli.sources import read_sources, server_option, workspace_option
from engine.figures import count

if TYPE_CHECKING:
    from engine.control.reports import CheckReport, Missing, ScoringUse
    from engine.graph.model import Problem

COLOURS = {"error": "red", "warning": "yellow"}


@click.command("check")
@click.argument("graphs", nargs=-1, required=True, metavar="GRAPH|FOLDER...")
@workspace_option
@server_option
@scoring_option()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(
    app: App, /, *, graphs: tuple[str, ...], scoring: str | None, as_json: bool, **sources: Any
) -> None:
    """Show every problem of each GRAPH (a file or a saved graph's name) and of how it is scored, and what it
    needs.

    Of a FOLDER's graphs, a table. Ends with 1 where a graph has an error; what is only not installed here, or
    is to be selected for each run, is listed, and is none.
    """
    places, scored_as = read_sources(**sources), absolute(scoring)
    reports: list[CheckReport] = []
    for graph in graphs:
        folder = Path(graph).expanduser()
        if folder.is_dir():
            reports += app.control.check_folder(folder, places, scored_as)
        else:
            reports.append(app.control.check(graph, places, scored_as))
    if as_json:
        put_json([{"graph": r.graph, "ok": r.ok, "report": r} for r in reports])
    elif any(Path(graph).expanduser().is_dir() for graph in graphs):
        _put_table(reports)
    else:
        for report in reports:
            _put_report(report)
    if not all(report.ok for report in reports):
        raise click.exceptions.Exit(FAILED)


def _put_report(report: CheckReport) -> None:
    from engine.control.reports import problem_text

    errors = sum(problem.severity == "error" for problem in report.problems)
    warnings = len(report.problems) - errors
    told = [count(errors, "error") if errors else "good", count(warnings, "warning") if warnings else ""]
    state = ", ".join(filter(None, told))
    lacking = ", but what it needs is not all here" if report.missing and report.ok else ""
    put(f"{report.graph}: {state}{lacking} ({report.path})", None if report.ok else "red")
    for problem in report.problems:
        put(f"  {problem.severity} {problem_text(problem)} [{problem.code}]", COLOURS.get(problem.severity))
    for missing in report.missing:
        wanted = f", for {', '.join(missing.wanted)}" if missing.wanted else ""
        remedy = f" ({missing.remedy})" if missing.remedy else ""
        put(f"  not installed: {_named(missing)}{wanted}{remedy}", "yellow")
    for use in report.nodesets:
        assumed = ", assumed: it declares none" if use.parallelism_assumed else ""
        put(f"  needs {use.name} ({use.parallelism}{assumed}; determinism {use.determinism})")
    for hook in report.hooks:
        asks = "" if report.hooks_trusted or hook.origin == "workspace" else ", asks before the first run"
        put(
            f"  runs {hook.command!r} on {hook.event} of {hook.matches} ({hook.origin}'s hook{asks})",
            "yellow",
        )
    if report.scoring is not None:
        _put_scoring(report.scoring)


def _put_scoring(use: ScoringUse) -> None:
    """What a run of the graph does behind each episode, where a request says nothing else."""
    asked = {
        "graders": use.graders,
        "judges": use.judges,
        "traces from": [use.trace] if use.trace else [],
        "exports to": use.sinks,
    }
    told = "; ".join(f"{what} {', '.join(names)}" for what, names in asked.items() if names)
    put(f"  scored as {use.path} says: {told or 'not at all'}")


def _put_table(reports: Sequence[CheckReport]) -> None:
    rows: list[list[str | Cell]] = []
    for report in reports:
        errors = [problem for problem in report.problems if problem.severity == "error"]
        wires = sum(map(_is_wire, errors))
        rows.append(
            [
                report.graph,
                Cell("yes") if report.loads else Cell("no", "red"),
                Cell(", ".join(map(_named, report.missing)) or "-", "yellow" if report.missing else None),
                Cell(count(wires, "error"), "red") if wires else Cell("fine" if report.loads else "-"),
                _told(errors, len(report.problems) - len(errors)),
            ]
        )
    put_table(["graph", "loads", "not installed", "wires", "problems"], rows)
    bad = sum(not report.ok for report in reports)
    say(f"{count(len(reports), 'graph')}: {len(reports) - bad} without an error, {bad} with")


def _is_wire(problem: Problem) -> bool:
    return problem.where.startswith("edge ") or problem.code == "required-input-unwired"


def _told(errors: Sequence[Problem], warnings: int) -> Cell:
    """The first error, else how many warnings there are: of each, ``check`` on the graph itself tells."""
    from engine.control.reports import problem_text

    if errors:
        more = f"{count(len(errors), 'error')}: " if len(errors) > 1 else ""
        return Cell(more + problem_text(errors[0]), COLOURS["error"])
    return Cell(count(warnings, "warning"), COLOURS["warning"]) if warnings else Cell("none")


def _named(missing: Missing) -> str:
    return f"{missing.kind} {missing.name or '(none is active)'}"
