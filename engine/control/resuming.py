"""A run that is queued again: a new attempt in the same folder."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from engine.control.mending import NO_SPEC, job_of, last_process, summary_of
from engine.control.reports import ConflictError, ControlError, StillAliveError
from engine.scheduling.reasons import duration
from engine.store.atomic import write_bytes, write_json
from engine.store.cluster_note import ClusterNote
from engine.store.process_identity import identity, is_alive, is_here
from engine.store.records import Job, Spec, Summary, now_iso
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import read_rows, view_run

QUIET_SEC = 600.0
"""A run that cannot be seen, and has written nothing for so long, has ended: nobody outlives his backend."""


def refuse_to_touch(run: RunDir) -> None:
    """StillAliveError where something may still write the run's files, or nobody here can tell."""
    if run.is_done():
        return
    if note := _on_cluster(run):
        number = f", job {note.job_id}" if note.job_id else ""
        raise StillAliveError(
            f"run {run.run_id} is with {note.on}{number}: cancel it first; a backend of this root sees how it"
            " ends there"
        )
    process = last_process(run)
    if process is None:
        return
    if is_alive(process):
        raise StillAliveError(f"run {run.run_id} is alive: process {process.pid}")
    if not is_here(process) and (quiet := _quiet_sec(run)) < QUIET_SEC:
        raise StillAliveError(
            f"run {run.run_id} was started on {process.host}, out of sight from here, and wrote something"
            f" {duration(quiet)} ago: do this there, or when it has been quiet for {duration(QUIET_SEC)}"
        )


def reopen(run: RunDir, *, errors: bool) -> Spec:
    """Make the folder that of a queued run again. Raises ControlError.

    ``errors``: what the box failed is played again, too. ConflictError where there is nothing left to play.
    A job.json or summary.json that cannot be read is kept aside, and made anew.
    """
    refuse_to_touch(run)
    try:
        spec = run.read_spec()
    except RunDirError as error:
        raise ControlError(f"{error}; {NO_SPEC}") from None
    _refuse_where_nothing_is_left(run, errors)
    try:
        _write(run, job_of(run), summary_of(run, spec), errors)
    except OSError as error:
        raise ControlError(f"run {run.run_id} cannot be queued again: {error}") from error
    return spec


@contextmanager
def kept_on_failure(run: RunDir) -> Iterator[None]:
    """Put back how the run ended where what is done to it fails."""
    before = {path: path.read_bytes() for path in (run.job, run.spec, run.summary, run.done) if path.exists()}
    try:
        yield
    except BaseException:
        for path, content in before.items():
            with suppress(OSError):
                write_bytes(path, content)
        raise


def _on_cluster(run: RunDir) -> ClusterNote | None:
    with suppress(RunDirError):
        job = run.read_job()
        return job.cluster if job.state == "started" else None
    return None


def _write(run: RunDir, job: Job, summary: Summary, errors: bool) -> None:
    again = Job(
        run_id=run.run_id,
        state="queued",
        attempt=job.attempt + 1,
        token=secrets.token_hex(16),
        kind=job.plays_as,
        process=identity(),
        rerun_errors=errors,
        submitted_at=now_iso(),
    )
    write_json(run.job, again)  # from here on an earlier attempt that wakes up writes nothing more
    summary.status, summary.error, summary.finished_at = "pending", None, None
    write_json(run.summary, summary)
    run.done.unlink(missing_ok=True)


def _quiet_sec(run: RunDir) -> float:
    """Seconds since anything of it was written."""
    written = [path.stat().st_mtime for path in (run.job, run.progress, run.episode_rows) if path.exists()]
    return time.time() - max(written, default=0.0)


def _refuse_where_nothing_is_left(run: RunDir, errors: bool) -> None:
    if view_run(run).status != "completed":
        return
    rows = read_rows(run)
    failed = [row for row in rows if row.error_class == "infra"]
    if errors and failed:
        return
    hint = f"; --errors plays the {len(failed)} again that the box failed" if failed else ""
    if waiting := sum(row.scoring == "pending" for row in rows):
        hint += f"; {waiting} wait to be scored: evaltower rescore {run.run_id}"
    raise ConflictError(f"run {run.run_id} is completed: every episode has its row{hint}")
