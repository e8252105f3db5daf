"""An environment that takes more and more is ended in time; its episode is lost, and nothing else."""

from __future__ import annotations

import re
import subprocess
from functools import partial
from pathlib import Path

from engine.store.rundir import RunDir
from tests.evaluation.run_checks import assert_all_gone, assert_nothing_torn, until
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import RUN_DEADLINE_SEC, make_root, next_attempt, spawn, write_run

GRAPH = env_graph("env_faulty")
SMALL_MB = "300"
TOLD = re.compile(
    r"env_faulty was ended during env_faulty__step_discrete: it held 0\.\d GB, and 0\.0 of the machine's"
    r" 0\.3 GB were free; take fewer workers \(-w\), set recycle_above_mb .*, or look for a leak .*"
)


def is_playing(run: RunDir) -> bool:
    progress = run.read_progress()
    return progress is not None and any(worker.state == "running" for worker in progress.workers)


def test_what_takes_too_much_is_ended_alone_and_once(tmp_path: Path) -> None:
    """Another run on the same machine goes on, and so does the rest of its own."""
    root, marker = make_root(tmp_path / "root"), tmp_path / "marker"
    greedy = write_run(
        root,
        GRAPH,
        episode_count=3,
        selectors={"fault": "hog", "at": 1, "marker": str(marker)},
        retries=2,
        per_step_budget_sec=60.0,
    )
    waits = {"fault": "wait", "at": 0, "marker": str(over := tmp_path / "over")}
    innocent = write_run(root, GRAPH, episode_count=2, selectors=waits, per_step_budget_sec=60.0)
    runs = [innocent, greedy]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for run in runs:
            processes.append(spawn(run, next_attempt(run), "tests.fakes.small_machine", SMALL_MB=SMALL_MB))
            until(partial(is_playing, run), processes[-1])
        assert processes[1].wait(RUN_DEADLINE_SEC) == 0, _said(runs)
        over.touch()
        assert processes[0].wait(RUN_DEADLINE_SEC) == 0, _said(runs)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    rows = greedy.read_summary().episodes
    assert [row.status for row in rows] == ["completed", "error", "completed"], _said(runs)
    assert (rows[1].termination, rows[1].error_class) == ("env_crash", "infra")
    assert TOLD.fullmatch(rows[1].error or ""), rows[1].error
    assert marker.read_text() == "here\n"  # a retry would only do it again
    assert rows[1].failure is not None
    assert rows[1].failure["cause"].startswith("killed: it held 0.")
    assert [row.status for row in innocent.read_summary().episodes] == ["completed"] * 2
    for run in runs:
        assert_nothing_torn(run)
        assert_all_gone(run)


def _said(runs: list[RunDir]) -> str:
    return "\n".join((run.path / "stderr.log").read_text()[-2000:] for run in runs)
