"""Each run to where it was asked to go: this machine, or a cluster. Both stand in one queue."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launchers.local import LocalLauncher
from engine.scheduling.launchers.slurm.launcher import SlurmLauncher
from engine.scheduling.launching import Poll
from engine.scheduling.starts import Seated, Start
from engine.store.rundir import RunDirError


class RoutingLauncher:
    """:class:`engine.scheduling.launching.Launcher` over two. Servers of this machine are local."""

    def __init__(self, local: LocalLauncher, slurm: SlurmLauncher) -> None:
        self._local = local
        self._slurm = slurm
        self._away: dict[str, bool] = {}

    def start_run(self, job: QueuedJob, start: Start) -> None:
        self._away[job.run_id] = start.ask is not None
        if start.ask is None:
            self._local.start_run(job, start)
        else:
            self._slurm.start_run(job, start)

    def stop_run(self, run_id: str, why: str, grace_sec: float | None = None) -> None:
        (self._slurm if self._is_away(run_id) else self._local).stop_run(run_id, why, grace_sec)

    def end_unstarted(self, run_id: str, status: Literal["cancelled", "error"], why: str) -> None:
        self._local.end_unstarted(run_id, status, why)

    def start_server(self, server: Seated) -> None:
        self._local.start_server(server)

    def stop_server(self, key: str) -> None:
        self._local.stop_server(key)

    def poll(self, runs: Collection[str], servers: Collection[str]) -> Poll:
        away = {run_id for run_id in runs if self._is_away(run_id)}
        here = self._local.poll([run_id for run_id in runs if run_id not in away], servers)
        return Poll({**here.runs, **self._slurm.poll(away)}, here.servers)

    def _is_away(self, run_id: str) -> bool:
        """By its job.json, where it was started by an earlier backend."""
        if run_id not in self._away:
            try:
                record = self._local.run(run_id).read_job()
            except RunDirError:
                return False
            self._away[run_id] = record.cluster is not None
        return self._away[run_id]
