"""The tenants of this backend as they live: what was let in, what was seen of it, how its processes stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from engine.scheduling.attribution import Usage
from engine.scheduling.calibration import Peak
from engine.scheduling.jobs import Admitted, LoadedServer
from engine.scheduling.machine import RAM, Root, Sample
from engine.scheduling.need import Claim, Tenant
from engine.scheduling.reasons import Reason
from engine.scheduling.watch import Watch

DEPARTED_LONGEST_SEC = 60.0
"""For this long at most the memory of one that has ended is taken for its own: a pid may come again."""


@dataclass
class Run:
    """A run that was let in. launched: its process was started. pid: None before. learned: its peaks are in
    the calibration. waits: why it has not begun, on a cluster that has it."""

    entry: Admitted
    watch: Watch
    launched: bool = False
    learned: bool = False
    pid: int | None = None
    waits: Reason | None = None

    @property
    def run_id(self) -> str:
        return self.entry.job.run_id

    @property
    def servers(self) -> list[str]:
        return [server.owner for server in self.entry.start.servers]


@dataclass
class Server:
    """A shared server. claims: for all workers that it has now. most_workers: that it ever had. ready: it can
    be used, at ``url``. ending: it is being unloaded. restarts: how often it came back after it was
    killed. leased: those of other roots use it."""

    entry: LoadedServer
    watch: Watch
    claims: Mapping[str, Claim]
    most_workers: int = 1
    ready: bool = False
    url: str = ""
    pid: int | None = None
    ending: bool = False
    restarts: int = 0
    leased: bool = False

    @property
    def key(self) -> str:
        return self.entry.seated.owner

    @property
    def name(self) -> str:
        """The nodeset's."""
        return self.entry.seated.server.name if self.entry.seated.server else ""


@dataclass
class Tenants:
    """All of them, and the processes of those that ended so lately that a sample may still show them.

    failed: nodeset → why its shared server ended of itself, the last time.
    """

    cold_longest_sec: float
    failed: dict[str, str] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    servers: dict[str, Server] = field(default_factory=dict)
    _departed: dict[str, tuple[Root, float]] = field(default_factory=dict)

    def users(self, key: str) -> list[Run]:
        """The runs that use a server."""
        return [run for run in self.runs.values() if key in run.servers]

    def workers(self, key: str) -> int:
        """The workers that a server has."""
        return sum(run.entry.job.need.worker_count for run in self.users(key))

    def is_ready(self, key: str) -> bool:
        """Whether a server can be used."""
        server = self.servers.get(key)
        return server is not None and server.ready and not server.ending

    def admit(self, entry: Admitted, *, from_start: bool = True) -> None:
        """Take in an admission, whose servers are there already."""
        watch = Watch(entry.at, from_start, entry.start.run.after_sec)
        self.runs[entry.job.run_id] = Run(entry, watch)
        for use in entry.start.servers:
            if server := self.servers.get(use.owner):
                server.claims = {**server.claims, **use.claims}
                server.most_workers = max(server.most_workers, self.workers(use.owner))

    def load(self, entry: LoadedServer, *, from_start: bool = True) -> None:
        """Take in a server."""
        watch = Watch(entry.at, from_start, entry.seated.after_sec)
        server = Server(entry, watch, entry.seated.claims)
        self.servers[server.key] = server
        self.failed.pop(server.name, None)

    def depart(self, owner: str, now: float) -> None:
        """Let one go whose processes have ended."""
        root = next((root for root in self._living() if root.owner == owner), None)
        if root:
            self._departed[owner] = root, now
        self.runs.pop(owner, None)
        self.servers.pop(owner, None)

    def roots(self) -> list[Root]:
        """Whose processes to look at."""
        return [*self._living(), *(root for root, _ in self._departed.values())]

    def see(self, sample: Sample, usage: Usage) -> None:
        """Note what each of them holds; forget the departed whom this sample cannot show any more."""
        read_at = {gpu.uuid: gpu.sampled_at for gpu in sample.gpus}
        if sample.memory:
            read_at[RAM] = sample.memory.sampled_at
        for owner, pid, cards, watch in self._watched():
            if pid not in sample.processes:
                continue
            shown = usage.shown.get(owner, {})
            for pool in {RAM, *cards, *shown} & read_at.keys():
                exact = pool == RAM or pool in usage.explained
                watch.see(pool, shown.get(pool, 0.0), read_at[pool], exact=exact)
        oldest, newest = min(read_at.values(), default=0.0), max(read_at.values(), default=0.0)
        self._departed = {
            owner: (root, at)
            for owner, (root, at) in self._departed.items()
            if oldest <= at and newest - at < DEPARTED_LONGEST_SEC
        }

    def as_seen(self, now: float) -> list[Tenant]:
        """Each of them as admission sees it."""
        found = []
        for run in self.runs.values():
            start = run.entry.start
            found.append(
                Tenant(
                    owner=run.run_id,
                    cards=start.run.cards,
                    claims=start.run.claims,
                    peaks=run.watch.peaks,
                    settled=self._is_settled(run.watch, start.cold, now),
                    cold=start.cold,
                    exclusive=start.exclusive,
                    workers=start.workers,
                    aside=run.entry.job.kind == "score",
                )
            )
        for server in self.servers.values():
            entry = server.entry
            found.append(
                Tenant(
                    owner=server.key,
                    cards=entry.seated.cards,
                    claims=server.claims,
                    peaks=server.watch.peaks,
                    settled=self._is_settled(server.watch, entry.cold, now),
                    cold=entry.cold,
                    lasting=entry.kept,
                    ending=server.ending,
                    users=[run.run_id for run in self.users(server.key)],
                )
            )
        return found

    def holdings(self, now: float) -> dict[tuple[str, int], Peak]:
        """(run key, workers) → the most that a run of that kind, now settled, was seen to hold."""
        found: dict[tuple[str, int], Peak] = {}
        for run in self.runs.values():
            if run.watch.is_settled(now, cold=True):
                need = run.entry.job.need
                key = need.run_key, need.worker_count
                found[key] = _higher(found.get(key, Peak()), run.watch.so_far(run.entry.start.run.cards))
        return found

    def _is_settled(self, watch: Watch, cold: bool, now: float) -> bool:
        if cold and now - watch.started_at >= self.cold_longest_sec:
            return True
        return watch.is_settled(now, cold)

    def _living(self) -> Iterator[Root]:
        for run in self.runs.values():
            if run.pid is not None:
                job, start = run.entry.job, run.entry.start
                yield Root(
                    owner=run.run_id,
                    pid=run.pid,
                    name=job.need.graph_name,
                    workers=start.workers,
                    started_at=run.watch.started_at,
                    gpus=start.run.cards,
                )
        for server in self.servers.values():
            if server.pid is not None:
                seated = server.entry.seated
                yield Root(
                    owner=server.key,
                    pid=server.pid,
                    name=server.name or server.key,
                    workers=max(1, self.workers(server.key)),
                    started_at=server.watch.started_at,
                    gpus=seated.cards,
                )

    def _watched(self) -> Iterator[tuple[str, int, tuple[str, ...], Watch]]:
        for run in self.runs.values():
            if run.pid is not None:
                yield run.run_id, run.pid, run.entry.start.run.cards, run.watch
        for server in self.servers.values():
            if server.pid is not None:
                yield server.key, server.pid, server.entry.seated.cards, server.watch


def _higher(one: Peak, other: Peak) -> Peak:
    def most(*values: float | None) -> float | None:
        return max((value for value in values if value is not None), default=None)

    return Peak(vram_mb=most(one.vram_mb, other.vram_mb), ram_mb=most(one.ram_mb, other.ram_mb))
