"""Real runs in real processes, in a root of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.control.start import RunPlan, start_run
from engine.store.records import EvalRequest, Needs
from engine.store.rundir import RunDir

NODESETS = Path(__file__).parent / "nodesets"
RUN_DEADLINE_SEC = 100.0


def make_root(folder: Path) -> Path:
    """A root whose workspace holds the nodesets of ``tests/fakes``."""
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "nodesets").symlink_to(NODESETS)
    return folder


@contextmanager
def started(
    root: Path, graph: Mapping[str, Any], **request: Any
) -> Iterator[tuple[RunDir, subprocess.Popen[bytes]]]:
    """A run that goes on; it is killed, with all that it started, when the block ends before it."""
    plan = RunPlan(
        request=EvalRequest(graph_name=str(graph["name"]), **request),
        graph=dict(graph),
        needs=Needs(graph_hash="test"),
        env_nodeset=None,
    )
    run, process = start_run(root, plan)
    try:
        yield run, process
    finally:
        process.kill()
        process.wait(RUN_DEADLINE_SEC)


def finished(root: Path, graph: Mapping[str, Any], **request: Any) -> RunDir:
    """A run, once its process has ended by itself."""
    with started(root, graph, **request) as (run, process):
        process.wait(RUN_DEADLINE_SEC)
        return run
