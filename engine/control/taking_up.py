"""What an earlier backend left, brought in order before the first tick.

A run whose folder says that it waits or runs is queued, runs, or is closed off afterwards; but what was
started on another host, before this boot or in another pid namespace is left as it is.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import msgspec

from engine.control.cancelling import Cancelling
from engine.control.mending import NO_SPEC, end_without_spec, mend_the_queued
from engine.control.notices import Notices
from engine.scheduling.calibration import Calibration
from engine.scheduling.jobs import Admitted, QueuedJob
from engine.scheduling.launchers.closing import close_off
from engine.scheduling.machine import RAM, boottime
from engine.scheduling.need import Claim
from engine.scheduling.queue import Queue
from engine.scheduling.reasons import listed
from engine.scheduling.starts import Seated, Start
from engine.scheduling.tick import Scheduler
from engine.statistics.folding import fold_rows
from engine.store.attempts import Attempt
from engine.store.backend_lock import BackendRecord
from engine.store.process_identity import ProcessIdentity, identity, is_alive, is_here
from engine.store.records import Job, Spec
from engine.store.rundir import RUN_ID, RunDir, RunDirError, runs_folder
from engine.store.runs import run_names

DELETED = ".deleted-"
"""What the name of a folder begins with that is being removed."""

_DELETED = re.compile(re.escape(DELETED) + r".+-[0-9a-f]{8}")

_FIRST_FILES = frozenset({"job.json", "spec.json", "shared_urls.json", "summary.json"})
_TEMPORARY = re.compile(r"\.(job|spec|shared_urls|summary)\.json\..+\.tmp")


def tell_the_past(
    notices: Notices, before: BackendRecord | None, queue: Queue, calibration: Calibration
) -> None:
    """Say how the last backend ended, and which of its files could not be read."""
    if before is not None and before.ended_at is None and before.successor is None:
        how = "lost its lock, and lives on" if is_alive(before.process) else "was ended by force"
        notices.add(f"the last backend of this root, process {before.process.pid}, {how}")
    if queue.set_aside:
        notices.add(
            f"the queue could not be read, and is kept as {queue.set_aside.name}; runs are queued again from"
            " their folders, in the order of their ids. Whether it was paused is not known, so it is paused"
            " now: evaltower unpause lets it go on"
        )
    if calibration.set_aside:
        notices.add(
            f"what past runs took could not be read, and is kept as {calibration.set_aside.name};"
            " everything is unknown again"
        )


def reconcile(root: Path, queue: Queue, notices: Notices) -> None:
    """Let queue and folders say the same. Raises OSError."""
    _leave_what_runs_elsewhere(root, queue, notices)
    for text in mend_the_queued(root, queue):
        notices.add(text)
    known = {*(job.run_id for job in queue.jobs), *(entry.job.run_id for entry in queue.admitted)}
    queued: list[str] = []
    adopted: list[str] = []
    aborted: list[str] = []
    for run_id in reversed(run_names(root)):
        run = RunDir(runs_folder(root) / run_id)
        if not RUN_ID.fullmatch(run_id) or run_id in known or run.is_done() or _is_remnant(run):
            continue
        try:
            job = run.read_job()
        except RunDirError as error:
            notices.add(f"{run_id} is left as it is: {error}; evaltower resume {run_id} makes that file anew")
            continue
        try:
            spec = run.read_spec()
        except RunDirError as error:
            _leave_or_end(run, job, error, notices)
            continue
        if job.state == "queued" and _is_of_this_host(job.process):
            queue.submit(QueuedJob.of(spec, job.submitted_at, job.kind))
            queued.append(run_id)
        elif job.state == "started" and job.cluster is not None:
            queue.admit([_admitted(spec, job)], [])
            adopted.append(run_id)
        elif job.state == "queued" or job.process is None or not is_here(job.process):
            continue
        elif is_alive(job.process) or _has_begun(run, job):
            queue.admit([_admitted(spec, job)], [])  # the launcher tells how it ended, if it has
            adopted.append(run_id)
        else:
            close_off(run, job, "aborted", "its process ended while no backend lived", fold_rows)
            aborted.append(run_id)
    for what, runs in (
        ("queued again, as their folders say", queued),
        ("taken up again, as their folders say", adopted),
        ("ended while no backend lived, and aborted", aborted),
    ):
        if runs:
            notices.add(f"{what}: {listed(runs)}")
    for folder in runs_folder(root).glob(f"{DELETED}*"):
        if _DELETED.fullmatch(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


def go_on(root: Path, scheduler: Scheduler, cancelling: Cancelling, notices: Notices) -> None:
    """Go on with what the folders of queued and running runs say beyond the queue: a play, a cancel."""
    running = list(scheduler.tenants.runs)
    for run_id in [*(job.run_id for job in scheduler.queue.jobs), *running]:
        try:
            job = RunDir(runs_folder(root) / run_id).read_job()
        except RunDirError:
            continue
        if job.kind == "play":
            scheduler.playing = run_id
        if job.cancel_requested_at is not None:
            cancelling.begin(run_id, None)
    ended = [run_id for run_id in running if RunDir(runs_folder(root) / run_id).is_done()]
    alive = [run_id for run_id in running if run_id not in ended]
    for what, runs in (
        ("ended while no backend lived", ended),
        ("were under way when this backend began, and were taken up", alive),
    ):
        if runs:
            notices.add(f"{what}: {listed(runs)}")


def _leave_what_runs_elsewhere(root: Path, queue: Queue, notices: Notices) -> None:
    for entry in list(queue.admitted):
        run_id = entry.job.run_id
        try:
            job = RunDir(runs_folder(root) / run_id).read_job()
        except RunDirError:
            continue
        if job.state == "started" and job.process is not None and not is_here(job.process):
            queue.finish(run_id)
            where = job.process.host if not _is_of_this_host(job.process) else "an earlier boot or container"
            notices.add(f"{run_id} was started on {where}, and is left alone; resume it if it has ended")


def _leave_or_end(run: RunDir, job: Job, why: RunDirError, notices: Notices) -> None:
    """What to do about a run in no queue whose spec cannot be read."""
    if job.state == "ended" or job.cluster is not None or not _is_of_this_host(job.process):
        return
    if job.state == "started" and (job.process is None or not is_here(job.process)):
        return
    if job.state == "started" and job.process is not None and is_alive(job.process):
        notices.add(f"{run.run_id} is alive, process {job.process.pid}, and cannot be taken up: {why}")
        return
    end_without_spec(run, why)
    notices.add(f"{run.run_id} is ended as an error: {why}; {NO_SPEC}")


def _is_remnant(run: RunDir) -> bool:
    """Whether it was being written when its backend died, so that nobody was told of it; then it goes."""
    names = {name for name in os.listdir(run.path) if not _TEMPORARY.fullmatch(name)}
    if names and not (names < _FIRST_FILES and _is_new(run)):
        return False
    shutil.rmtree(run.path, ignore_errors=True)
    return True


def _is_new(run: RunDir) -> bool:
    try:
        job = run.read_job()
    except RunDirError:
        return False
    return (job.state, job.attempt) == ("queued", 1) and _is_of_this_host(job.process)


def _has_begun(run: RunDir, job: Job) -> bool:
    shim = Attempt.of(run.path, job.attempt).read_shim()
    return shim is not None and not shim.void


def _is_of_this_host(process: ProcessIdentity | None) -> bool:
    return process is None or process.host == identity().host


def _admitted(spec: Spec, job: Job) -> Admitted:
    """The admission as job.json tells it."""
    claims = {pool: Claim(mb) for pool, mb in job.admit_charges.items() if pool in (RAM, *job.gpus)}
    own = Seated(
        owner=job.run_id,
        server=None,
        load=True,
        cards=tuple(job.gpus),
        visible=None,
        claims=claims,
        after_sec=0.0,
    )
    asked = QueuedJob.of(spec, job.submitted_at, job.kind)
    start = Start(
        run_id=job.run_id,
        run=own,
        servers=(),
        basis={},
        cold=False,
        exclusive=asked.need.exclusive_gpu,
        workers=asked.need.worker_count,
    )
    if not job.may_retry:
        asked = msgspec.structs.replace(asked, retries=0)
    return Admitted(job=asked, start=start, at=boottime())
