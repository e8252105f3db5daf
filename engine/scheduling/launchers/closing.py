"""What a run's files say when no process of it can write them any more: how it ended, or that it waits again.

Each function can be done again where it was cut short. They raise OSError.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

from engine.scheduling.launching import RunEnd
from engine.store.atomic import write_json
from engine.store.attempts import ExitRecord
from engine.store.digest import result_digest
from engine.store.pending import stand_again
from engine.store.process_identity import identity
from engine.store.records import EpisodeRow, Job, Summary, now_iso
from engine.store.rundir import RunDir, RunDirError
from engine.store.runs import read_rows

log = logging.getLogger(__name__)

RUN_PROCESS = "engine.evaluation"

CANCELLED = "cancelled"
"""The reason of a launcher's ``stop_run`` that makes no error of the run."""

Fold = Callable[[Summary, Sequence[EpisodeRow]], None]
"""Makes a summary's numbers those of its rows."""


def close_off(
    run: RunDir,
    job: Job,
    status: Literal["completed", "cancelled", "error", "aborted"],
    error: str | None,
    fold: Fold,
) -> None:
    """End a run as ``status`` with the rows that it has; one that was only scored again, as it had ended
    before. From the first write on, no process of it may write.

    A summary that cannot be read is left as it is, and the run without ``_DONE``: whoever reads it is told.
    """
    end_job(run, job)
    try:
        summary = run.read_summary()
    except RunDirError as problem:
        log.error("%s cannot be closed off: %s", run.run_id, problem)
        return
    if job.kind == "score" and job.ended_as is not None:
        stand_again(summary, job.ended_as)
    else:
        summary.status, summary.error = status, error
        summary.finished_at = summary.finished_at or now_iso()
    rows = read_rows(run)
    fold(summary, rows)
    summary.result_digest = result_digest(rows)
    write_json(run.summary, summary)
    run.mark_done()


def close_as_intended(run: RunDir, job: Job, fold: Fold) -> RunEnd:
    """End a run that is to end, as that was meant."""
    if job.stop_reason:
        close_off(run, job, "error", job.stop_reason, fold)
        return RunEnd("failed", job.stop_reason)
    close_off(run, job, "cancelled", None, fold)
    return RunEnd("cancelled")


def as_written(run: RunDir) -> RunEnd:
    """How a run ended that has ended by itself."""
    try:
        summary = run.read_summary_head()
    except RunDirError as error:
        return RunEnd("failed", str(error))
    if summary.status in ("completed", "cancelled"):
        workers = min(summary.config.worker_count, summary.total_episodes)
        return RunEnd(summary.status, teaches=summary.completed_count - summary.error_count >= workers)
    return RunEnd("failed", summary.error or f"it is {summary.status}")


def end_job(run: RunDir, job: Job) -> None:
    """Note in job.json that it is over."""
    if job.state != "ended":
        job.state, job.finished_at = "ended", now_iso()
        write_json(run.job, job)


def queue_again(run: RunDir, job: Job, why: str = "") -> None:
    """Let it wait for its next attempt; the last one may not write any more. ``why``: in place of its
    reason."""
    renew(job)
    job.state, job.process, job.reason = "queued", identity(), why
    write_json(run.job, job)
    with suppress(RunDirError):
        summary = run.read_summary()
        if summary.status != "pending":
            summary.status, summary.error, summary.finished_at = "pending", None, None
            write_json(run.summary, summary)


def mark_of(job: Job) -> str:
    """By which the processes of its attempt are known."""
    return f"{job.run_id}/{job.attempt}/{job.token}"


def renew(job: Job) -> None:
    """Make it that of the next attempt."""
    job.attempt += 1
    job.token = secrets.token_hex(16)


def told(run: RunDir, ended: ExitRecord | None, orphan_grace_sec: float) -> str:
    """How an attempt ended that did not end its run, in words: in its own, where it has left any."""
    orphaned = ended is not None and ended.stopped_by == "orphaned"
    with suppress(RunDirError):
        summary = run.read_summary_head()
        if summary.status == "aborted" and summary.error and not orphaned:
            return summary.error
    if ended is None:
        return (
            "its shim was killed, or its machine was restarted; what could be found of its processes"
            " was ended (a daemon with an emptied environment cannot be)"
        )
    if ended.stopped_by == "orphaned":
        return f"no backend lived for {orphan_grace_sec:g} s, so that its processes were ended"
    if ended.stopped_by == "request":
        return "its processes were told to end, and not by a backend"
    if ended.signal is None:
        return f"its process ended with exit code {ended.rc} before the run was over: see stderr.log"
    return f"its process was ended by signal {ended.signal_name} before the run was over"
