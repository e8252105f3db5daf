"""What ``y`` copies of a run: also the command line and the REST call that do the same."""

from __future__ import annotations

import shlex

from engine.control.reports import RunReport
from engine.store.strict_json import encode_indented
from tui.models import headline_of
from tui.rest_calls import API, Rest
from tui.screens.base import Copies


def run_copies(run: RunReport, rest: Rest) -> Copies:
    copies = {
        "copy.id": lambda: run.run_id,
        "copy.path": lambda: run.path,
        "copy.row": lambda: _row(run),
        "copy.command": lambda: rest.calls(
            f"show {shlex.quote(run.run_id)}", "GET", f"{API}/runs/{run.run_id}"
        ),
        "copy.json": lambda: encode_indented(run).decode(),
    }
    if error := run_error(run):
        copies["copy.error"] = lambda: error
    return copies


def run_error(run: RunReport) -> str:
    """Why the run failed; empty where it did not."""
    return "\n".join(filter(None, [run.summary.error, *run.stderr_tail]))


def _row(run: RunReport) -> str:
    summary = run.summary
    done = f"{summary.completed_count}/{summary.total_episodes}"
    parts = [run.run_id, run.status, summary.config.graph_name, run.label, done, headline_of(run)]
    return "\t".join(filter(None, parts))
