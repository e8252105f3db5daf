"""Runs as jobs of a Slurm cluster that sees the same root. All there is to know of them is in their folders
and with the cluster, so that they go on without a backend, and the next one takes them up.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launchers import closing
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.commands import Slurm, SlurmRefusedError
from engine.scheduling.launchers.slurm.handing import Handing, begin, begin_shard, shards_of
from engine.scheduling.launchers.slurm.merging import Merger
from engine.scheduling.launchers.slurm.notes import write_notes
from engine.scheduling.launchers.slurm.room import lacks_room
from engine.scheduling.launchers.slurm.script import test_options
from engine.scheduling.launchers.slurm.servers import ClusterServer, ClusterServers, cluster_key
from engine.scheduling.launchers.slurm.units import Standing, Unit
from engine.scheduling.launching import LaunchError, RunEnd, RunState
from engine.scheduling.reasons import Reason
from engine.scheduling.starts import ClusterAsk, Start
from engine.store.atomic import write_json
from engine.store.attempts import Attempt
from engine.store.records import Job, now_iso
from engine.store.rundir import RunDir, RunDirError, runs_folder
from engine.store.settings import Settings

log = logging.getLogger(__name__)

MOST_TIMES_HANDED = 4
"""An attempt that the cluster loses before it begins is handed over again, so often in all."""

TURN_SEC = 60.0


@dataclass
class _Seat:
    """A run that the cluster has. units: of its shards that are not over; over: how others ended."""

    run: RunDir
    units: list[Unit]
    over: dict[int, Standing] = field(default_factory=dict)
    merger: Merger | None = None
    handed: int = 1


@dataclass
class _Uses:
    """The servers of a run, by their keys."""

    keys: list[str]
    since: float = field(default_factory=time.monotonic)


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
        self._handing = Handing(root, settings, self._clerk)
        self._servers = ClusterServers(root, self._clerk, settings)
        self._uses: dict[str, _Uses] = {}
        self._seats: dict[str, _Seat] = {}
        self._ends: dict[str, RunEnd] = {}
        self._graces: dict[str, float] = {}

    def could_run(self, ask: ClusterAsk) -> None:
        """SlurmRefusedError where no node could ever take such a job; SlurmError where nobody knows."""
        for one in (ask.run, *ask.servers.values()):
            self._slurm.could_run(test_options(one, ask.partition, self._settings))
        if not ask.servers:
            return
        nodes = self._slurm.capacities(ask.partition or self._settings.partition)
        if why := lacks_room(ask, self._settings, nodes):
            raise SlurmRefusedError(why)

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
        after = self._serve(run, job, start.ask)
        begin(run, record, job, start)
        run.progress.unlink(missing_ok=True)  # an earlier attempt's
        shards = shards_of(run, start.ask.nodes)
        if len(shards) > 1:
            Merger(run, len(shards), self._fold).gather()
            for shard in shards:
                begin_shard(shard, record)
        write_json(run.job, record)
        for unit in self._seat(run, shards).units:
            self._handing.hand_over(unit, start.ask, after)

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
        self._servers.tick(self._in_use(runs))
        return states

    def servers(self) -> list[ClusterServer]:
        """The shared servers that it has there."""
        return self._servers.reports()

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
        waits = [standing.reason for standing in standings if standing.kind == "waits"]
        waiting = bool(seat.units) and len(waits) == len(standings) + len(seat.over)
        if seat.merger is not None:
            seat.merger.gather("pending" if waiting else "running")
        if seat.units:
            write_notes(run, record, seat.units, self._clerk)
            return RunState(0, waits=waits[0] if waiting else None)
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
                standing = self._again(seat, unit, record, standing)
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
        if seat.merger is not None and (outcome := seat.merger.outcome()) and not record.cancel_requested_at:
            closing.end_job(run, record)
            seat.merger.finish(*outcome)
        if run.is_done():
            closing.end_job(run, record)
            return closing.as_written(run)
        if seat.merger is not None:
            seat.merger.finish("aborted", None)  # its rows, however the run is to end
        if record.cancel_requested_at is not None:
            return closing.close_as_intended(run, record, self._fold)
        lost = {shard: told for shard, told in seat.over.items() if not _is_over(run, shard)}
        why = "; ".join(dict.fromkeys(_told(run, shard, standing) for shard, standing in lost.items()))
        if record.may_retry:
            closing.queue_again(run, record, why)
        else:
            closing.close_off(run, record, "aborted", why, self._fold)
        return RunEnd("infra", why)

    def _take_up(self, run: RunDir, record: Job) -> _Seat | None:
        """Go on with a run that an earlier backend gave to the cluster; None where none did."""
        if record.state != "started" or record.cluster is None or run.is_done():
            return None
        shards = shards_of(run, record.cluster.nodes)
        try:
            seat = self._seat(run, shards)
        except RunDirError:  # its backend ended while it gave it away
            return None
        if not all(self._handing.go_on(unit) for unit in seat.units):
            self._forget(run.run_id)
            return None
        self._uses[run.run_id] = _Uses(_keys_of(run, record.cluster.on))
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

    def _again(self, seat: _Seat, unit: Unit, record: Job, standing: Standing) -> Standing:
        if seat.handed >= MOST_TIMES_HANDED:
            return Standing("ended", why=f"{standing.why}, and it never began, {seat.handed} times")
        seat.handed += 1
        log.warning("%s is handed over again: %s", unit.run.own, standing.why)
        job = unit.run.read_job() if seat.merger is not None else record
        seat.units[seat.units.index(unit)] = self._handing.again(unit, job)
        return Standing("waits", Reason("cluster_queue", f"it is handed over again: {standing.why}"))

    def _serve(self, run: RunDir, job: QueuedJob, ask: ClusterAsk) -> list[str]:
        """Have its shared nodesets served there; the jobs that must have begun before. NotNowError where that
        takes a moment."""
        self._uses[run.run_id] = _Uses([cluster_key(nodeset, ask.on) for nodeset in job.need.shared])
        urls, after = {}, []
        for nodeset in job.need.shared:
            urls[nodeset.name], number = self._servers.use(nodeset, ask.on, ask.servers[nodeset.name])
            after += [number] if number else []
        write_json(run.shared_urls, urls)
        return after

    def _in_use(self, runs: Collection[str]) -> dict[str, list[str]]:
        """Server key → its runs. One that is not started yet counts for a while: its turn comes, or not."""
        now = time.monotonic()
        self._uses = {
            run_id: uses
            for run_id, uses in self._uses.items()
            if run_id in runs or now - uses.since < TURN_SEC
        }
        found: dict[str, list[str]] = {}
        for run_id, uses in self._uses.items():
            for key in uses.keys:
                found.setdefault(key, []).append(run_id)
        return found

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
        self._uses.pop(run_id, None)
        self._ends.pop(run_id, None)
        self._graces.pop(run_id, None)

    def _run(self, run_id: str) -> RunDir:
        return RunDir(runs_folder(self._root) / run_id)


def _intend(run: RunDir, record: Job, stop_reason: str) -> None:
    if record.cancel_requested_at is None:
        record.cancel_requested_at, record.stop_reason = now_iso(), stop_reason
        write_json(run.job, record)


def _keys_of(run: RunDir, on: str) -> list[str]:
    try:
        return [cluster_key(n, on) for n in run.read_spec().needs.nodesets if n.parallelism == "shared"]
    except RunDirError:
        return []


def _is_over(run: RunDir, shard: int) -> bool:
    """Whether a shard of a split run has played all that it had to."""
    return bool(run.shards()) and RunDir(run.path, shard).is_done()


def _told(run: RunDir, shard: int, standing: Standing) -> str:
    """Why an attempt ended that did not end its run."""
    with suppress(RunDirError, OSError):
        unit = run if not run.shards() else RunDir(run.path, shard)
        ended = Attempt.of(unit.own, unit.read_job().attempt).read_exit()
        if ended is not None and not ended.stopped_by and "OUT_OF_MEMORY" not in standing.why:
            return closing.told(unit, ended, 0.0)
        if ended is not None and ended.stopped_by:
            told = (
                "its processes were told to end, and not from here: it was cancelled on the cluster, or its"
                " time there was nearly over ([slurm] time)"
            )
            return f"{told}; {standing.why}" if standing.why else told
    return standing.why
