"""Real runs in real processes, in a root of the test's own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import engine
from engine.store.atomic import write_json
from engine.store.attempts import LOGS, MARK, Attempt
from engine.store.pending import pending_summary
from engine.store.process_identity import identity
from engine.store.records import EvalRequest, Job, Needs, Spec, now_iso
from engine.store.rundir import RunDir, create_run_dir

NODESETS = Path(__file__).parent / "nodesets"
RUN_DEADLINE_SEC = 100.0


def make_root(folder: Path) -> Path:
    """A root whose workspace holds the nodesets of ``tests/fakes``."""
    (folder / "workspace").mkdir(parents=True)
    (folder / "workspace" / "nodesets").symlink_to(NODESETS)
    return folder


def write_run(
    root: Path,
    graph: Mapping[str, Any],
    kind: Literal["run", "play"] = "run",
    scoring: Mapping[str, Any] | None = None,
    **request: Any,
) -> RunDir:
    """The folder of a run that nobody has started yet: its attempt 1 is to come."""
    run = create_run_dir(root)
    spec = Spec(
        run_id=run.run_id,
        created_at=now_iso(),
        eval=EvalRequest(graph_name=str(graph["name"]), **request),
        needs=Needs(graph_hash="test"),
        graph=dict(graph),
        scoring=dict(scoring or {}),
    )
    write_json(run.spec, spec)
    write_json(run.shared_urls, {})
    write_json(run.summary, pending_summary(spec))
    write_json(run.job, Job(run_id=run.run_id, state="queued", attempt=0, kind=kind))
    return run


def next_attempt(run: RunDir, *, rerun_errors: bool = False) -> Job:
    """What a backend does before it starts a run, or resumes it."""
    job = run.read_job()
    job.attempt += 1
    job.token = secrets.token_hex(16)
    job.state = "started"
    job.rerun_errors = rerun_errors
    job.cancel_requested_at, job.stop_reason, job.process = None, "", None
    write_json(run.job, job)
    run.done.unlink(missing_ok=True)
    return job


def spawn(
    run: RunDir, job: Job, module: str = "engine.evaluation", **environment: str
) -> subprocess.Popen[bytes]:
    """The run's process for an attempt, in a session of its own."""
    attempt = Attempt.of(run.own, job.attempt)
    attempt.lay_out()
    home = str(Path(engine.__file__).parents[1])
    before = os.environ.get("PYTHONPATH")
    own = {
        MARK: f"{run.run_id}/{job.attempt}/{job.token}",
        "PYTHONPATH": f"{home}{os.pathsep}{before}" if before else home,
    }
    with open(attempt.path / LOGS[0], "ab") as out, open(attempt.path / LOGS[1], "ab") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", module, "--run-dir", str(run.path), *_part_of(run)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=run.root,
            env={**os.environ, **own, **environment},
            start_new_session=True,
        )
    if (run.read_job().attempt, run.read_job().token) == (job.attempt, job.token):
        job.process = identity(process.pid)
        write_json(run.job, job)
    return process


def _part_of(run: RunDir) -> list[str]:
    return [] if run.shard is None else ["--shard", f"{run.shard}/{len(run.shards())}"]


def split(run: RunDir, shards: int) -> list[RunDir]:
    """The folders of its shards, whose attempts 1 are to come."""
    made = [RunDir(run.path, number) for number in range(shards)]
    for shard in made:
        shard.own.mkdir(parents=True)
        write_json(shard.job, Job(run_id=run.run_id, state="queued", attempt=0))
    return made


def ask_to_end(run: RunDir, stop_reason: str = "") -> None:
    """The intent to end a run, as it is on disk before its process is told."""
    job = run.read_job()
    job.cancel_requested_at, job.stop_reason = now_iso(), stop_reason
    write_json(run.job, job)


@contextmanager
def attempt(
    run: RunDir, *, rerun_errors: bool = False, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """One more attempt at a run; it is killed, with all that it started, when the block ends before it."""
    process = spawn(run, next_attempt(run, rerun_errors=rerun_errors), **environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait(RUN_DEADLINE_SEC)


@contextmanager
def started(
    root: Path, graph: Mapping[str, Any], **request: Any
) -> Iterator[tuple[RunDir, subprocess.Popen[bytes]]]:
    """A run that goes on, as :func:`attempt`."""
    run = write_run(root, graph, **request)
    with attempt(run) as process:
        yield run, process


def finished(root: Path, graph: Mapping[str, Any], **request: Any) -> RunDir:
    """A run, once its process has ended by itself."""
    with started(root, graph, **request) as (run, process):
        process.wait(RUN_DEADLINE_SEC)
        return run


def resumed(run: RunDir, *, rerun_errors: bool = False) -> RunDir:
    """The run, once one more attempt has ended by itself."""
    with attempt(run, rerun_errors=rerun_errors) as process:
        process.wait(RUN_DEADLINE_SEC)
        return run
