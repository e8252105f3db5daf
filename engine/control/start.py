"""Starting a run: its folder is complete before its process exists."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engine
from engine.control.reports import NOTHING_MORE, Sources
from engine.store.atomic import fsync_folder, write_json
from engine.store.process_identity import identity
from engine.store.records import EvalRequest, Job, Needs, Spec, Summary, SummaryConfig, now_iso
from engine.store.rundir import RunDir, create_run_dir

RUN_PROCESS = "engine.evaluation"
LOGS = ("stdout.log", "stderr.log")


@dataclass(frozen=True)
class RunPlan:
    """A request that was found good, with all that spec.json freezes. ``graph``: the saved graph, whole."""

    request: EvalRequest
    graph: dict[str, Any]
    needs: Needs
    env_nodeset: str | None
    sources: Sources = NOTHING_MORE


def start_run(root: Path, plan: RunPlan) -> tuple[RunDir, subprocess.Popen[bytes]]:
    """Write the run's folder, then start its process in a session of its own, with empty stdin.

    Raises OSError; a run whose process could not be started is left as status ``error``.
    """
    run = create_run_dir(root)
    job = Job(
        run_id=run.run_id,
        state="queued",
        token=secrets.token_hex(16),
        process=identity(),
        submitted_at=now_iso(),
    )
    write_json(run.job, job)
    summary = _write_request(run, plan)
    _lay_out_logs(run, job.attempt)
    try:
        process = _spawn(run, job.attempt)
    except OSError as error:
        summary.status, summary.error = "error", f"its process could not be started: {error}"
        write_json(run.summary, summary)
        run.mark_done()
        raise
    job.state = "started"
    job.started_at = now_iso()
    job.process = identity(process.pid)
    write_json(run.job, job)
    return run, process


def _write_request(run: RunDir, plan: RunPlan) -> Summary:
    asked = plan.request
    spec = Spec(
        run_id=run.run_id,
        created_at=now_iso(),
        eval=asked,
        needs=plan.needs,
        graph=plan.graph,
        workspaces=plan.sources.workspaces,
        active_workspace_dir=plan.sources.active_workspace_dir,
    )
    write_json(run.spec, spec)
    write_json(run.shared_urls, plan.sources.servers)
    config = SummaryConfig(
        graph_name=asked.graph_name,
        env_nodeset=plan.env_nodeset,
        selectors=asked.selectors,
        episode_selectors=asked.episode_selectors,
        split=asked.split,
        episode_count=asked.episode_count,
        step_budget=asked.step_budget,
        worker_count=asked.worker_count,
        seed=asked.seed,
        repeats=asked.repeats,
        until_width=asked.until_width,
        until_metric=asked.until_metric,
    )
    pending = Summary(run_id=run.run_id, config=config, status="pending", created_at=spec.created_at)
    write_json(run.summary, pending)
    return pending


def _lay_out_logs(run: RunDir, attempt: int) -> None:
    folder = run.attempt(attempt)
    folder.mkdir(parents=True)
    for name in LOGS:
        (folder / name).touch()
        (run.path / name).symlink_to((folder / name).relative_to(run.path))
    fsync_folder(folder)


def _spawn(run: RunDir, attempt: int) -> subprocess.Popen[bytes]:
    folder = run.attempt(attempt)
    with open(folder / LOGS[0], "ab") as out, open(folder / LOGS[1], "ab") as err:
        return subprocess.Popen(
            [sys.executable, "-m", RUN_PROCESS, "--run-dir", str(run.path)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=run.root,
            env=_environment(),
            start_new_session=True,
        )


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    home = Path(engine.__file__).parents[1]
    if home != Path(
        sysconfig.get_path("purelib")
    ):  # run from a checkout, which only its own folder can import
        before = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{home}{os.pathsep}{before}" if before else str(home)
    return environment
