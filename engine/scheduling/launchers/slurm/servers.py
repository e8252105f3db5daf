"""Shared servers as jobs of a cluster. What there is to know of them is in their folders and with Slurm, so
that the next backend goes on with them; without any, each ends by itself when nobody uses it.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from engine.hosting.leases import give_back, living, touch
from engine.scheduling.launchers.server_attempts import mark_of, next_attempt, prune, read_end, read_record
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.script import SCRIPT, JobScript
from engine.scheduling.launchers.slurm.server_jobs import ServerJob, ServerStanding
from engine.scheduling.launching import LaunchError, NotNowError
from engine.scheduling.need import server_key
from engine.scheduling.reaper import MOST_RESTARTS
from engine.scheduling.starts import JobAsk, partition_of
from engine.store.atomic import write_bytes, write_json
from engine.store.records import NodesetNeed, now_iso
from engine.store.rundir import RunDirError
from engine.store.server_folder import GaveUp, ServerFolder, ServerRecord, cluster_url, server_folder
from engine.store.settings import Settings

log = logging.getLogger(__name__)

_COMMAND = ("-m", "engine.hosting.shared_server")


class ClusterServer(msgspec.Struct, frozen=True, kw_only=True):
    """One for people to see. on: ``slurm`` or ``slurm:PARTITION``. users: runs. detail: why it waits."""

    key: str
    name: str
    on: str
    state: Literal["waiting", "loading", "ready", "unloading"]
    detail: str = ""
    job_id: str = ""
    node: str = ""
    url: str = ""
    users: list[str] = []


@dataclass
class _Server:
    """used_at: when it last had a user. untold: no run was told yet to look for this attempt, so that whoever
    asked for it is to be told how it failed."""

    folder: ServerFolder
    record: ServerRecord
    job: ServerJob
    used_at: float
    users: Collection[str] = ()
    restarts: int = 0
    untold: bool = False


class ClusterServers:
    """Those of a root, by :func:`cluster_key`. Use it in one thread at a time."""

    def __init__(self, root: Path, clerk: Clerk, settings: Settings) -> None:
        self._root = root
        self._clerk = clerk
        self._settings = settings.slurm
        self._grace_sec = settings.admission.grace
        self._servers: dict[str, _Server] = {}
        self._adopted = False

    def use(self, nodeset: NodesetNeed, on: str, ask: JobAsk) -> tuple[str, str]:
        """Have a nodeset served on the cluster. (What a run's process finds it by; the job that must have
        begun before, "" where it has).

        NotNowError while nobody knows that job's number; LaunchError where it cannot be served; OSError.
        """
        self._adopt()
        key = cluster_key(nodeset, on)
        server = self._servers.get(key) or self._begin(key, nodeset, on, ask)
        standing = server.job.stand()
        if server.record.stop_requested_at is not None:
            raise NotNowError(f"{nodeset.name} is being unloaded from the cluster")
        if standing.state == "ended":
            if server.untold and not standing.unused:
                self._drop(server)
                raise LaunchError(f"{nodeset.name} cannot be served on the cluster: {standing.why}")
            server = self._begin(key, nodeset, on, ask)
            standing = server.job.stand()
        touch(server.folder, self._root)
        server.used_at = time.monotonic()
        if standing.state == "waiting" and not server.job.number:
            raise NotNowError(f"{nodeset.name}, which it uses: {standing.why}")
        server.untold = False
        return cluster_url(server.folder), server.job.number if standing.state == "waiting" else ""

    def tick(self, in_use: Mapping[str, Collection[str]]) -> None:
        """Look after them all. ``in_use``: key → the runs that use it, or wait for their turn to."""
        self._adopt()
        for key, server in list(self._servers.items()):
            server.users = in_use.get(key, ())
            try:
                self._look_after(server)
            except (OSError, RunDirError, LaunchError) as error:
                log.error("%s on the cluster: %s", server.record.nodeset.name, error)

    def reports(self) -> list[ClusterServer]:
        """Those that wait or run."""
        return [report for server in self._servers.values() if (report := self._report(server))]

    def _look_after(self, server: _Server) -> None:
        standing = server.job.stand()
        ended = standing.state == "ended"
        if server.record.stop_requested_at is not None:
            if ended:
                self._settle(server, standing)
            else:
                server.job.end(self._grace_sec)
        elif server.users:
            server.used_at = time.monotonic()
            if not ended:
                touch(server.folder, self._root)
            elif standing.killed:
                self._begin_again(server, standing)
        elif ended:
            self._settle(server, standing)
        else:
            give_back(server.folder)
            self._unload_if_unused(server)

    def _unload_if_unused(self, server: _Server) -> None:
        """A run looks whether it is being unloaded after it has taken its lease; we look after we said so."""
        if living(server.folder):
            server.used_at = time.monotonic()
        if time.monotonic() - server.used_at < self._settings.server_idle_sec:
            return
        before = server.record
        server.record = msgspec.structs.replace(before, stop_requested_at=now_iso())
        write_json(server.folder.record, server.record)
        if living(server.folder):
            server.record = before
            write_json(server.folder.record, before)
            return
        server.job.end(self._grace_sec)

    def _begin(self, key: str, nodeset: NodesetNeed, on: str, ask: JobAsk) -> _Server:
        """Anew: unless some wait for it already, it may run otherwise than the last time. Raises OSError."""
        folder = cluster_folder(self._root, key)
        folder.path.mkdir(parents=True, exist_ok=True)
        if before := self._servers.get(key):
            self._drop(before)
        if not living(folder):
            folder.regimes.unlink(missing_ok=True)
        record = ServerRecord(
            key=key,
            nodeset=nodeset,
            attempt=next_attempt(folder),
            token=secrets.token_hex(16),
            on=on,
            idle_sec=self._settings.server_idle_sec,
            mem_mb=ask.mem_mb,
            cards=ask.gpus,
        )
        server = self._submitted(folder, record)
        server.untold = True
        return server

    def _begin_again(self, server: _Server, standing: ServerStanding) -> None:
        """One that was killed while runs use it comes back, or has left word that it does not."""
        record, restarts = server.record, server.restarts + 1
        if restarts > MOST_RESTARTS:
            told = f"it was killed {restarts} times, and is not started again; {standing.why}"
            write_json(server.folder.end(record.attempt), GaveUp(why=told, at=now_iso()))
            return
        log.warning("%s is started again on the cluster: %s", record.nodeset.name, standing.why)
        self._clerk.forget(server.job.comment)
        attempt = next_attempt(server.folder)
        record = msgspec.structs.replace(record, attempt=attempt, token=secrets.token_hex(16))
        self._submitted(server.folder, record).restarts = restarts

    def _submitted(self, folder: ServerFolder, record: ServerRecord) -> _Server:
        """An attempt that the cluster is given, soon."""
        job = ServerJob(folder, record, self._clerk, self._settings.grace_sec)
        script = JobScript(
            attempt=job.attempt,
            name=folder.path.name,
            comment=job.comment,
            mark=mark_of(record),
            partition=partition_of(record.on),
            ask=JobAsk(mem_mb=record.mem_mb, gpus=record.cards),
            root=self._root,
            command=[*_COMMAND, "--dir", str(folder.path.absolute()), "--attempt", str(record.attempt)],
            grace_sec=self._grace_sec,
        )
        job.attempt.lay_out()
        write_bytes(job.attempt.path / SCRIPT, script.text(self._settings).encode())
        write_json(folder.record, record)
        self._clerk.submit(job.comment, job.attempt.path / SCRIPT)
        prune(folder, record.attempt)
        self._servers[record.key] = server = _Server(folder, record, job, time.monotonic())
        return server

    def _adopt(self) -> None:
        """Go on with those of an earlier backend; what it may not have handed over is."""
        if self._adopted:
            return
        self._adopted = True
        for path in sorted((self._root / "outputs" / "servers").glob("*/server.json")):
            folder = ServerFolder(path.parent)
            record = read_record(folder)
            if record is None or not record.on or read_end(folder, record):
                continue
            job = ServerJob(folder, record, self._clerk, self._settings.grace_sec)
            script = job.attempt.path / SCRIPT
            if not job.is_begun() and record.stop_requested_at is None and script.exists():
                self._clerk.submit(job.comment, script)
            self._servers[record.key] = _Server(folder, record, job, time.monotonic())

    def _settle(self, server: _Server, standing: ServerStanding) -> None:
        """It has ended, and no backend is to look for it again."""
        if read_end(server.folder, server.record) is None:
            word = GaveUp(why=standing.why, at=now_iso())
            write_json(server.folder.end(server.record.attempt), word)
        self._drop(server)

    def _drop(self, server: _Server) -> None:
        give_back(server.folder)
        self._clerk.forget(server.job.comment)
        self._servers.pop(server.record.key, None)

    def _report(self, server: _Server) -> ClusterServer | None:
        record = server.record
        try:
            standing = server.job.stand()
        except (OSError, RunDirError) as error:
            log.warning("%s on the cluster: %s", record.nodeset.name, error)
            return None
        if standing.state == "ended":
            return None
        seen = self._clerk.look(server.job.comment)
        return ClusterServer(
            key=record.key,
            name=record.nodeset.name,
            on=record.on,
            state=standing.state if record.stop_requested_at is None else "unloading",
            detail=standing.why,
            job_id=server.job.number,
            node=seen.nodes if seen else "",
            url=standing.url,
            users=sorted(server.users),
        )


def cluster_key(nodeset: NodesetNeed, on: str) -> str:
    """What a server goes by that is served at ``on``."""
    return f"{server_key(nodeset)}@{on}"


def cluster_folder(root: Path, key: str) -> ServerFolder:
    """Where the server with this key lies."""
    served, _, on = key.rpartition("@")
    return server_folder(root.absolute(), f"{served}-{re.sub(r'[^A-Za-z0-9_.-]', '-', on)}")
