"""What ``y`` copies of a run: also the command line and the REST call that do the same."""

from __future__ import annotations

import shlex

from engine.control.reports import RunReport
from engine.store.strict_json import encode_indented
from tui.models import headline_of
from tui.screens.base import Copies

REST = "/api/eval/v2"


def run_copies(run: RunReport) -> Copies:
    copies = {
        "copy.id": lambda: run.run_id,
        "copy.path": lambda: run.path,
        "copy.row": lambda: _row(run),
        "copy.command": lambda: calls(f"show {shlex.quote(run.run_id)}", "GET", f"{REST}/runs/{run.run_id}"),
        "copy.json": lambda: encode_indented(run).decode(),
    }
    if error := run_error(run):
        copies["copy.error"] = lambda: error
    return copies


def calls(command: str, method: str, path: str, body: str = "") -> str:
    """The command line, and the same over REST."""
    return f"evaltower {command}\n{rest_call(method, path, body)}"


def rest_call(method: str, path: str, body: str = "") -> str:
    """With curl: ``$BACKEND_URL`` is in ``outputs/backend.json``."""
    sent = f" -H 'Content-Type: application/json' -d {shlex.quote(body)}" if body else ""
    return f'curl -X {method} -H "Authorization: Bearer $(cat outputs/token)" "$BACKEND_URL{path}"{sent}'


def run_error(run: RunReport) -> str:
    """Why the run failed; empty where it did not."""
    return "\n".join(filter(None, [run.summary.error, *run.stderr_tail]))


def _row(run: RunReport) -> str:
    summary = run.summary
    done = f"{summary.completed_count}/{summary.total_episodes}"
    parts = [run.run_id, run.status, summary.config.graph_name, run.label, done, headline_of(run)]
    return "\t".join(filter(None, parts))
