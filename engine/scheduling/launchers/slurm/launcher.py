"""Runs as jobs of a Slurm cluster that sees the same root. All there is to know of them is in their folders
and with the cluster, so that they go on without a backend, and the next one takes them up.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launchers import closing
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.commands import Slurm
from engine.scheduling.launchers.slurm.merging import Merger
from engine.scheduling.launchers.slurm.script import JobScript, test_options
from engine.scheduling.launchers.slurm.units import Standing, Unit, mark_of
from engine.scheduling.launchers.slurm.words import gpus_of
from engine.scheduling.launching import LaunchError, RunEnd, RunState
from engine.scheduling.reasons import Reason
from engine.scheduling.starts import ClusterAsk, Start
from engine.store.atomic import write_bytes, write_json
from engine.store.attempts import Attempt
from engine.store.pending import pending_summary
from engine.store.records import ClusterNote, Job, now_iso
from engine.store.rundir import RunDir, RunDirError, runs_folder
from engine.store.settings import Settings

log = logging.getLogger(__name__)

SCRIPT = "job.sh"
MOST_TIMES_HANDED = 4
"""An attempt that the cluster loses before it begins is handed over again, so often in all."""


@dataclass
class _Seat:
    """A run that the cluster has. units: of its shards that are not over; over: how others ended."""

    run: RunDir
    units: list[Unit]
    over: dict[int, Standing] = field(default_factory=dict)
    merger: Merger | None = None
    handed: int = 1


class SlurmLauncher:
    """As :class:`engine.scheduling.launching.Launcher` for runs. Use it in one thread at a time."""

    def __init__(
        self, root: Path, settings: Settings, fold: closing.Fold, clerk: Clerk | None = None
    ) -> None:
        self._root = root
        self._settings = settings.slurm
        self._grace_sec = settings.admission.grace
        self._fold = fold
        self._slurm = Slurm(settings.slurm.bin)
        self._clerk = clerk or Clerk(self._slurm, settings.slurm.poll_sec)
        self._seats: dict[str, _Seat] = {}
        self._ends: dict[str, RunEnd] = {}
        self._graces: dict[str, float] = {}

    def could_run(self, ask: ClusterAsk) -> None:
        """SlurmRefusedError where no node could ever take such a job; SlurmError where nobody knows."""
        self._slurm.could_run(test_options(ask.run, ask.partition, self._settings))

    def start_run(self, job: QueuedJob, start: Start) -> None:
        """Have it handed to the cluster, soon. Raises LaunchError and OSError."""
        run = self._run(job.run_id)
        self._forget(job.run_id)
        try:
            record = run.read_job()
        except RunDirError as error:
            raise LaunchError(str(error)) from error
        if run.is_done():
            return
        if record.cancel_requested_at is not None:
            closing.close_as_intended(run, record, self._fold)
            return
        assert start.ask is not None
        _next_attempt(run, record)
        run.progress.unlink(missing_ok=True)  # an earlier attempt's
        _note_start(record, job, start)
        shards = _shards_of(run, start.ask.nodes)
        for shard in shards if len(shards) > 1 else ():
            self._prepare(shard, record)
        write_json(run.job, record)
        self._seats[job.run_id] = seat = self._seat(run, shards)
        for unit in seat.units:
            self._hand_over(unit, start.ask)

    def stop_run(self, run_id: str, why: str, grace_sec: float | None = None) -> None:
        """See :meth:`engine.scheduling.launching.Launcher.stop_run`. Raises OSError."""
        run = self._run(run_id)
        if grace_sec is not None:
            self._graces[run_id] = min(grace_sec, self._graces.get(run_id, grace_sec))
        record = self._read_job(run)
        if record is None or run.is_done():
            return
        _intend(run, record, "" if why == closing.CANCELLED else why)
        if seat := self._seats.get(run_id):
            self._end_units(seat, record)

    def poll(self, runs: Collection[str]) -> dict[str, RunState]:
        """How these stand; those that were never given to the cluster are left out."""
        for run_id in self._ends.keys() - set(runs):
            self._forget(run_id)
        states = {}
        for run_id in runs:
            try:
                state = self._state(self._run(run_id))
            except OSError as error:
                log.error("how %s stands cannot be seen, or written, now: %s", run_id, error)
                state = RunState(0)
            if state is not None:
                states[run_id] = state
        return states

    def close(self) -> None:
        """Leave the cluster's runs to themselves."""
        self._clerk.close()

    def _state(self, run: RunDir) -> RunState | None:
        if end := self._ends.get(run.run_id):
            return RunState(0, end=end)
        record = self._read_job(run)
        if record is None:
            return RunState(0)
        seat = self._seats.get(run.run_id) or self._take_up(run, record)
        if seat is None:
            return RunState(0, end=closing.as_written(run)) if run.is_done() else None
        standings = self._look(seat, record)
        if seat.merger is not None:
            seat.merger.gather()
        if seat.units:
            self._note(seat, record)
            waits = [standing.reason for standing in standings if standing.kind == "waits"]
            return RunState(0, waits=waits[0] if len(waits) == len(standings) + len(seat.over) else None)
        end = self._end(seat, record)
        if end is None:
            return RunState(0)
        self._ends[run.run_id] = end
        return RunState(0, end=end)

    def _look(self, seat: _Seat, record: Job) -> list[Standing]:
        """See how each unit stands, and act on it; how those stand that go on."""
        going = []
        for unit in list(seat.units):
            ending = record.cancel_requested_at is not None
            standing = unit.stand(ending=ending)
            if standing.kind == "refused":
                unit.attempt.void()
                _intend(seat.run, record, standing.why)
                standing = Standing("ended", why=standing.why)
            if standing.kind == "never":
                standing = self._hand_over_again(seat, unit, record, standing)
            if standing.kind == "lingers":
                unit.end(self._grace_sec, self._grace_sec)
            if standing.kind == "ended":
                self._settle(seat, unit, standing)
            else:
                going.append(standing)
        if record.cancel_requested_at is not None:
            self._end_units(seat, record)
        return going

    def _settle(self, seat: _Seat, unit: Unit, standing: Standing) -> None:
        """A unit is over; of a shard's nothing writes any more from here on."""
        if seat.merger is not None:
            with suppress(RunDirError):
                closing.end_job(unit.run, unit.run.read_job())
        seat.over[unit.run.shard or 0] = standing
        seat.units.remove(unit)
        self._clerk.forget(unit.comment)

    def _end_units(self, seat: _Seat, record: Job) -> None:
        for unit in seat.units:
            if seat.merger is not None:
                with suppress(RunDirError):
                    _intend(unit.run, unit.run.read_job(), record.stop_reason)
            grace_sec = self._graces.get(seat.run.run_id, self._grace_sec)
            unit.end(grace_sec, self._grace_sec)

    def _end(self, seat: _Seat, record: Job) -> RunEnd | None:
        """How a run ended of which nothing is left, written down."""
        run = seat.run
        if seat.merger is None and run.is_done():
            closing.end_job(run, record)
            return closing.as_written(run)
        if record.cancel_requested_at is not None:
            return closing.close_as_intended(run, record, self._fold)
        if seat.merger is not None:
            shards = _shards_of(run, record.cluster.nodes if record.cluster else 1)
            ends = [closing.as_written(shard) for shard in shards if shard.is_done()]
            if failed := next((end for end in ends if end.outcome != "completed"), None):
                closing.close_off(run, record, "error", failed.message, self._fold)
                return failed
            if len(ends) == len(shards):
                closing.close_off(run, record, "completed", None, self._fold)
                return RunEnd("completed")
        why = "; ".join(dict.fromkeys(_told(run, shard, standing) for shard, standing in seat.over.items()))
        if record.may_retry:
            closing.queue_again(run, record, why)
        else:
            closing.close_off(run, record, "aborted", why, self._fold)
        return RunEnd("infra", why)

    def _take_up(self, run: RunDir, record: Job) -> _Seat | None:
        """Go on with a run that an earlier backend gave to the cluster; None where none did."""
        if record.state != "started" or record.cluster is None or run.is_done():
            return None
        shards = _shards_of(run, record.cluster.nodes)
        try:
            seat = self._seat(run, shards)
        except RunDirError:  # its backend ended while it gave it away
            return None
        for unit in seat.units:
            note = unit.run.read_job().cluster
            script = unit.attempt.path / SCRIPT
            if note is not None and not note.job_id and not unit.is_begun():
                if not script.exists():
                    return None
                self._clerk.submit(unit.comment, script)
        self._seats[run.run_id] = seat
        return seat

    def _seat(self, run: RunDir, shards: Sequence[RunDir]) -> _Seat:
        """With a unit for each shard that is not over. Raises RunDirError."""
        units = [
            Unit(shard, job, self._clerk, self._settings.grace_sec)
            for shard in shards
            if (job := shard.read_job()).state == "started"
        ]
        seat = _Seat(run, units, merger=Merger(run, len(shards), self._fold) if len(shards) > 1 else None)
        self._seats[run.run_id] = seat
        return seat

    def _prepare(self, shard: RunDir, record: Job) -> None:
        """Have a shard ready for its next attempt, unless nothing of it is left to do."""
        shard.own.mkdir(parents=True, exist_ok=True)
        if shard.is_done() and not record.rerun_errors and closing.as_written(shard).outcome == "completed":
            return
        latest = Attempt.latest(shard.own)
        job = msgspec.structs.replace(
            record, attempt=latest.number + 1 if latest else 1, token=secrets.token_hex(16)
        )
        write_json(shard.job, job)
        shard.progress.unlink(missing_ok=True)
        shard.done.unlink(missing_ok=True)
        if not shard.summary.exists():
            write_json(shard.summary, pending_summary(self._run(record.run_id).read_spec()))

    def _hand_over(self, unit: Unit, ask: ClusterAsk) -> None:
        job = unit.run.read_job()
        shard = ["--shard", f"{unit.run.shard}/{ask.nodes}"] if unit.run.shard is not None else []
        script = JobScript(
            attempt=unit.attempt,
            name=job.run_id if unit.run.shard is None else f"{job.run_id}.{unit.run.shard}",
            comment=unit.comment,
            mark=mark_of(job),
            partition=ask.partition,
            ask=ask.run,
            root=self._root,
            command=["-m", closing.RUN_PROCESS, "--run-dir", str(unit.run.path), *shard],
            grace_sec=self._grace_sec,
        )
        unit.attempt.lay_out()
        path = unit.attempt.path / SCRIPT
        write_bytes(path, script.text(self._settings).encode())
        self._clerk.submit(unit.comment, path)

    def _hand_over_again(self, seat: _Seat, unit: Unit, record: Job, standing: Standing) -> Standing:
        """A new attempt in place of one that the cluster lost before it had begun."""
        if seat.handed >= MOST_TIMES_HANDED:
            return Standing("ended", why=f"{standing.why}, and it never began, {seat.handed} times")
        seat.handed += 1
        log.warning("%s is handed over again: %s", unit.run.own, standing.why)
        script = (unit.attempt.path / SCRIPT).read_text(encoding="utf-8")
        job = unit.run.read_job() if seat.merger is not None else record
        before, old = mark_of(job), unit.attempt.path
        closing.renew(job)
        if job.cluster is not None:
            job.cluster = ClusterNote(on=job.cluster.on, nodes=job.cluster.nodes)
        write_json(unit.run.job, job)
        new = Unit(unit.run, job, self._clerk, self._settings.grace_sec)
        for was, now in (
            (before, mark_of(job)),
            (unit.comment, new.comment),
            (str(old.absolute()), str(new.attempt.path.absolute())),
        ):
            script = script.replace(was, now)
        new.attempt.lay_out()
        path = new.attempt.path / SCRIPT
        write_bytes(path, script.encode())
        self._clerk.forget(unit.comment)
        self._clerk.submit(new.comment, path)
        seat.units[seat.units.index(unit)] = new
        return Standing(
            "waits", Reason("cluster_queue", f"it is handed to the cluster again: {standing.why}")
        )

    def _note(self, seat: _Seat, record: Job) -> None:
        """Where it is, in job.json: of the run, and of each of its shards."""
        notes = []
        for unit in seat.units:
            job = unit.run.read_job() if seat.merger is not None else record
            note = self._note_of(unit, job)
            notes.append(note)
            if note != job.cluster:
                job.cluster = note
                write_json(unit.run.job, job, durable=False)
        if seat.merger is not None and record.cluster is not None:
            note = ClusterNote(
                on=record.cluster.on,
                nodes=record.cluster.nodes,
                gpus=sum(note.gpus for note in notes),
                **{
                    name: ",".join(
                        dict.fromkeys(getattr(note, name) for note in notes if getattr(note, name))
                    )
                    for name in ("job_id", "state", "reason", "node", "why")
                },
            )
            if note != record.cluster:
                record.cluster = note
                write_json(seat.run.job, record, durable=False)

    def _note_of(self, unit: Unit, job: Job) -> ClusterNote:
        on, nodes = (job.cluster.on, job.cluster.nodes) if job.cluster else ("slurm", 1)
        seen = self._clerk.look(unit.comment)
        note = ClusterNote(on=on, nodes=nodes, job_id=self._clerk.number(unit.comment), why=unit.told)
        if seen is None:
            return note
        return msgspec.structs.replace(
            note, state=seen.state, reason=seen.reason, node=seen.nodes, gpus=gpus_of(seen.gres)
        )

    def _read_job(self, run: RunDir) -> Job | None:
        try:
            return run.read_job()
        except RunDirError as error:
            log.error("%s", error)
            return None

    def _forget(self, run_id: str) -> None:
        seat = self._seats.pop(run_id, None)
        for unit in seat.units if seat else ():
            self._clerk.forget(unit.comment)
        self._ends.pop(run_id, None)
        self._graces.pop(run_id, None)

    def _run(self, run_id: str) -> RunDir:
        return RunDir(runs_folder(self._root) / run_id)


def _shards_of(run: RunDir, nodes: int) -> list[RunDir]:
    return [run] if nodes == 1 else [RunDir(run.path, shard) for shard in range(nodes)]


def _next_attempt(run: RunDir, record: Job) -> None:
    """Have the record be of an attempt that nobody has begun, and nobody will."""
    attempt = Attempt.of(run.own, record.attempt)
    if record.state != "queued":
        attempt.void()
    if attempt.read_shim() is not None:
        closing.renew(record)


def _note_start(record: Job, job: QueuedJob, start: Start) -> None:
    assert start.ask is not None
    record.state, record.process, record.reason = "started", None, ""
    record.started_at, record.finished_at = now_iso(), None
    record.may_retry = job.failures < job.retries
    record.gpus = []
    record.admit_charges = {"ram": start.ask.run.mem_mb * start.ask.nodes}
    record.admit_basis = {name: basis for name, basis in start.basis.items() if basis is not None}
    record.cluster = ClusterNote(on=start.ask.on, nodes=start.ask.nodes)


def _intend(run: RunDir, record: Job, stop_reason: str) -> None:
    if record.cancel_requested_at is None:
        record.cancel_requested_at, record.stop_reason = now_iso(), stop_reason
        write_json(run.job, record)


def _told(run: RunDir, shard: int, standing: Standing) -> str:
    """Why an attempt ended that did not end its run."""
    with suppress(RunDirError, OSError):
        unit = run if not run.shards() else RunDir(run.path, shard)
        ended = Attempt.of(unit.own, unit.read_job().attempt).read_exit()
        if ended is not None and not ended.stopped_by and "OUT_OF_MEMORY" not in standing.why:
            return closing.told(ended, 0.0)
        if ended is not None and ended.stopped_by:
            told = (
                "its processes were told to end, and not from here: it was cancelled on the cluster, or its"
                " time there was nearly over ([slurm] time)"
            )
            return f"{told}; {standing.why}" if standing.why else told
    return standing.why
