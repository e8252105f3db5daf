"""The queue: who waits, in which order, and who was let in. Every change is on disk before it is answered.

``outputs/system/queue.json`` is replaced whole. Its order is the queue's: a job goes behind the last one of
its priority or a higher one, and an operator may move it anywhere. An admission moves a job from the waiting
to the admitted in one write, before anything is started, so that a crash neither loses nor doubles it.
Times are CLOCK_BOOTTIME seconds, so that no step of the wall clock moves a job; after a reboot everyone's
waiting begins anew, and the order stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.scheduling.jobs import RANKS, Admitted, LoadedServer, QueuedJob
from engine.scheduling.kept_aside import read_or_set_aside
from engine.scheduling.need import Priority
from engine.store.atomic import write_json
from engine.store.process_identity import identity
from engine.store.records import RunStatus


class QueueError(Exception):
    """The queue holds no such job, or holds it already."""


class QueueFile(msgspec.Struct, kw_only=True):
    """The file: ``jobs`` in the queue's order."""

    schema: int = 1
    boot_id: str = ""
    paused: bool = False
    next_sequence: int = 1
    jobs: list[QueuedJob] = []
    admitted: list[Admitted] = []
    servers: list[LoadedServer] = []


class Queue:
    """The queue of one root. One process has it, one thread at a time.

    Every method that changes it raises OSError where that cannot be written; then nothing has changed.
    ``set_aside``: where an unreadable file was moved.
    """

    def __init__(self, path: Path) -> None:
        """Take it up from disk. An unreadable file is kept aside, and the queue begins empty, and paused:
        nobody knows whether it was."""
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        found, self.set_aside = read_or_set_aside(path, QueueFile)
        boot = identity().boot_id
        self._file = found or QueueFile(boot_id=boot)
        if self.set_aside:
            self.pause()
        self.rebooted = self._file.boot_id != boot
        if self.rebooted:
            jobs = [_changed(job, eligible_since=None, not_before=None) for job in self._file.jobs]
            self._commit(jobs=jobs, boot_id=boot, servers=[])

    @property
    def admitted(self) -> Sequence[Admitted]:
        return self._file.admitted

    @property
    def servers(self) -> Sequence[LoadedServer]:
        return self._file.servers

    @property
    def jobs(self) -> Sequence[QueuedJob]:
        return self._file.jobs

    @property
    def paused(self) -> bool:
        return self._file.paused

    def find(self, run_id: str) -> QueuedJob:
        """The queued job of a run. QueueError where it is not queued."""
        for job in self._file.jobs:
            if job.run_id == run_id:
                return job
        if any(entry.job.run_id == run_id for entry in self._file.admitted):
            raise QueueError(f"{run_id} is not queued: it was let in")
        raise QueueError(f"{run_id} is not queued")

    def position(self, run_id: str) -> int:
        """Its place, from 1. QueueError where it is not queued."""
        return self._file.jobs.index(self.find(run_id)) + 1

    def submit(self, job: QueuedJob, *, first: bool = False) -> int:
        """Queue a new job behind the last one of its priority or a higher one, or ``first`` of all; its
        position, from 1.

        QueueError where it is queued or admitted already.
        """
        known = {*(job.run_id for job in self.jobs), *(entry.job.run_id for entry in self.admitted)}
        if job.run_id in known:
            raise QueueError(f"{job.run_id} is queued or running already")
        sequence = self._file.next_sequence
        new = _changed(job, sequence=sequence)
        jobs = [new, *self._file.jobs] if first else _inserted(self._file.jobs, new)
        self._commit(jobs=jobs, next_sequence=sequence + 1)
        return self.position(job.run_id)

    def admit(self, admitted: Sequence[Admitted], loaded: Sequence[LoadedServer]) -> None:
        """Let jobs in, with the servers that are loaded for them."""
        ids = {entry.job.run_id for entry in admitted}
        keys = {server.seated.owner for server in loaded}
        self._commit(
            jobs=[job for job in self._file.jobs if job.run_id not in ids],
            admitted=[*self._file.admitted, *admitted],
            servers=[*(one for one in self._file.servers if one.seated.owner not in keys), *loaded],
        )

    def finish(self, run_id: str) -> None:
        """Forget an admitted job: it has ended."""
        self._commit(admitted=[entry for entry in self._file.admitted if entry.job.run_id != run_id])

    def put_back(self, run_id: str, failure: str, now: float) -> None:
        """Queue an admitted job again that the box failed, at its old place, to be tried after a pause.

        With no ``failure`` it was never started, and is tried at once.
        """
        job = next(entry.job for entry in self._file.admitted if entry.job.run_id == run_id)
        self._commit(
            jobs=_inserted(self._file.jobs, job.failed(failure, now) if failure else job),
            admitted=[entry for entry in self._file.admitted if entry.job.run_id != run_id],
        )

    def forget_server(self, key: str) -> None:
        """A shared server has ended."""
        self._commit(servers=[server for server in self._file.servers if server.seated.owner != key])

    def keep_server(self, key: str, kept: bool) -> None:
        """Let a shared server stay beyond its last user, or not."""
        changed = [
            msgspec.structs.replace(server, kept=kept) if server.seated.owner == key else server
            for server in self._file.servers
        ]
        self._commit(servers=changed)

    def remove(self, run_id: str) -> None:
        """Take a waiting job out. QueueError where it is not queued."""
        job = self.find(run_id)
        self._commit(jobs=[other for other in self._file.jobs if other is not job])

    def hold(self, run_id: str) -> None:
        """Keep a job from starting until it is released."""
        self._replace(_changed(self.find(run_id), held=True, eligible_since=None))

    def release(self, run_id: str) -> None:
        """Let a held job start again."""
        self._replace(_changed(self.find(run_id), held=False))

    def move(self, run_id: str, position: int) -> int:
        """Put a job at a position, from 1; beyond the end is the end. Where it is then."""
        job = self.find(run_id)
        rest = [other for other in self._file.jobs if other is not job]
        at = min(max(position, 1) - 1, len(rest))
        self._commit(jobs=[*rest[:at], job, *rest[at:]])
        return self.position(run_id)

    def prioritize(self, run_id: str, priority: Priority) -> int:
        """Give a job another priority, and the place that it would have had with it; its position."""
        job = self.find(run_id)
        rest = [other for other in self._file.jobs if other is not job]
        self._commit(jobs=_inserted(rest, _changed(job, priority=priority, rank=RANKS[priority])))
        return self.position(run_id)

    def pause(self) -> None:
        """Start nothing until :meth:`resume`; what runs goes on."""
        self._commit(paused=True)

    def resume(self) -> None:
        """End a pause."""
        self._commit(paused=False)

    def refresh(self, outcomes: Mapping[str, RunStatus], now: float) -> None:
        """Note who is kept by nothing but room, and let those rise who have waited long.

        A change of order is written; since when a job waits is written with the next change.
        """
        before = self._file.jobs
        self._file.jobs = [job.refreshed(outcomes, now) for job in before]
        risen = [new for old, new in zip(before, self._file.jobs, strict=True) if new.rank < old.rank]
        for job in risen:
            rest = [other for other in self._file.jobs if other is not job]
            self._commit(jobs=_inserted(rest, job))

    def _replace(self, job: QueuedJob) -> None:
        self._commit(jobs=[job if other.run_id == job.run_id else other for other in self._file.jobs])

    def _commit(self, **changes: Any) -> None:
        new = msgspec.structs.replace(self._file, **changes)
        write_json(self._path, new)
        self._file = new


_changed: Callable[..., QueuedJob] = msgspec.structs.replace


def _inserted(jobs: Sequence[QueuedJob], job: QueuedJob) -> list[QueuedJob]:
    """``jobs`` with ``job`` behind the last one that comes before it by rank and sequence."""
    key = job.rank, job.sequence
    before = [at for at, other in enumerate(jobs, start=1) if (other.rank, other.sequence) < key]
    at = before[-1] if before else 0
    return [*jobs[:at], job, *jobs[at:]]
