"""``python -m engine.hosting.lend PATH``: serve a nodeset on a port until Ctrl-C.

For AgentCanvas's canvas, and for runs: ``evaltower run GRAPH --server NAME=URL``. Its address is the one line
on stdout. Whoever is on this machine can call it: only on the loopback address, and only while it is wanted.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from engine.components.catalog import NodesetManifest
from engine.components.scan import ScanReport, ScanRequest
from engine.components.scan_process import run_scans
from engine.hosting.numerics import PINNED_ENV

_HOST = Path(__file__).with_name("host.py")
_SCAN_SEC = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m engine.hosting.lend", description=__doc__)
    parser.add_argument("path", help="the nodeset's file or folder")
    parser.add_argument("--name", help="which of its nodesets, where it has several")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument(
        "--workspace", action="append", default=[], help="where its workspace.… imports may lie"
    )
    arguments = parser.parse_args()
    path, workspaces = os.path.abspath(arguments.path), tuple(map(os.path.abspath, arguments.workspace))
    report = run_scans([ScanRequest(path=path, workspaces=workspaces)], _SCAN_SEC)[0]
    try:
        found = _chosen(report, arguments.name)
        python = found.server_python or sys.executable
        words = [python, str(_HOST), "--nodeset", path, "--name", found.name, "--port", str(arguments.port)]
        words += [word for folder in workspaces for word in ("--workspace", folder)]
        os.execve(python, words, {**os.environ, **PINNED_ENV, **found.env})
    except (ValueError, OSError) as error:
        parser.exit(1, f"{path}: {error}\n")


def _chosen(report: ScanReport, name: str | None) -> NodesetManifest:
    """ValueError where there is none, or more than one to choose from."""
    named = [found for found in report.manifests if name in (None, found.name)]
    if len(named) == 1:
        return named[0]
    there = ", ".join(found.name for found in report.manifests) or "none"
    reasons = [*report.errors, f"its nodesets: {there}", *(["choose one with --name"] if named else [])]
    raise ValueError("; ".join(reasons))


if __name__ == "__main__":
    main()
