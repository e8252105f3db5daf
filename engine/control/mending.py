"""A run of which a file cannot be read: what can be made anew of it, and how it ends where nothing can."""

from __future__ import annotations

import secrets
from pathlib import Path

from engine.scheduling.kept_aside import read_or_set_aside
from engine.scheduling.launchers.closing import close_off
from engine.scheduling.queue import Queue
from engine.statistics.folding import fold_rows
from engine.store.atomic import write_json
from engine.store.attempts import Attempt
from engine.store.pending import pending_summary
from engine.store.process_identity import ProcessIdentity, identity
from engine.store.records import Job, Spec, Summary, now_iso
from engine.store.rundir import RunDir, RunDirError, runs_folder

NO_SPEC = "put spec.json back from a copy and resume the run, or start it anew"


def job_of(run: RunDir) -> Job:
    """Its job.json; one that cannot be read is kept aside, and its successor written nowhere yet: a job that
    waits, for an attempt that nobody has begun. Raises OSError."""
    found, _ = read_or_set_aside(run.job, Job)
    if found is not None:
        return found
    latest = Attempt.latest(run.path)
    return Job(
        run_id=run.run_id,
        state="queued",
        attempt=latest.number + 1 if latest else 1,
        token=secrets.token_hex(16),
        process=identity(),
        submitted_at=now_iso(),
    )


def summary_of(run: RunDir, spec: Spec) -> Summary:
    """Its summary.json; one that cannot be read is kept aside, and the run process makes the numbers anew
    from episodes.jsonl. Raises OSError."""
    found, _ = read_or_set_aside(run.summary, Summary)
    return found or pending_summary(spec)


def last_process(run: RunDir) -> ProcessIdentity | None:
    """Whose processes the run's are, by its job.json, or by its last attempt where that cannot be read."""
    try:
        return run.read_job().process
    except RunDirError:
        latest = Attempt.latest(run.path)
        shim = latest.read_shim() if latest else None
        return shim.process if shim else None


def mend_the_queued(root: Path, queue: Queue) -> list[str]:
    """See to it that every run that waits can be started; what was done, a sentence each. Raises OSError."""
    told = []
    for run_id in [job.run_id for job in queue.jobs]:
        run = RunDir(runs_folder(root) / run_id)
        if not run.path.is_dir():
            queue.remove(run_id)
            told.append(f"{run_id} was queued, and is taken out of the queue: {run.path} is not there")
            continue
        try:
            run.read_spec()
        except RunDirError as error:
            end_without_spec(run, error)
            queue.remove(run_id)
            told.append(f"{run_id} was queued, and is ended as an error: {error}; {NO_SPEC}")
            continue
        try:
            run.read_job()
        except RunDirError as error:
            write_json(run.job, job_of(run))
            told.append(f"{run_id} stays queued, with a new job.json: {error}")
    return told


def end_without_spec(run: RunDir, why: RunDirError) -> None:
    """End a run that nobody can play, as nobody can tell what was asked. Raises OSError."""
    close_off(run, job_of(run), "error", f"{why}; {NO_SPEC}", fold_rows)
