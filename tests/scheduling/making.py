"""A machine, its tenants and a queue in a few words, and what is decided about them, in as few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from engine.scheduling.accounts import Neighbours
from engine.scheduling.admission import Decisions, State, decide
from engine.scheduling.attribution import attribute
from engine.scheduling.estimates import RUN, Estimate, Figure, Part
from engine.scheduling.jobs import RANKS, QueuedJob
from engine.scheduling.machine import RAM, Gpu, GpuProcess, Memory, Process, Root, Sample
from engine.scheduling.need import Claim, Need, Priority, Tenant, server_key
from engine.scheduling.policy import Policy
from engine.scheduling.reasons import Reason
from engine.scheduling.starts import Start
from engine.store.records import NodesetNeed

GB = 1024.0
NOW = 10_000.0


def nodeset(name: str = "env", source: str = "aa", **more: Any) -> NodesetNeed:
    return NodesetNeed(
        name=name,
        path=f"/{name}",
        source_hash=source,
        parallelism=more.pop("parallelism", "replicated"),
        **more,
    )


def shared(name: str, **more: Any) -> NodesetNeed:
    return nodeset(name, parallelism="shared", **more)


def need(graph: str = "g", workers: int = 1, nodesets: Sequence[NodesetNeed] = (), **more: Any) -> Need:
    return Need(
        graph_name=graph,
        graph_hash=graph,
        worker_count=workers,
        nodesets=tuple(nodesets or [nodeset()]),
        **more,
    )


def job(run_id: str, *, priority: Priority = "normal", **more: Any) -> QueuedJob:
    of_job = {name: more.pop(name) for name in tuple(more) if name in QueuedJob.__struct_fields__}
    of_job.setdefault("sequence", 1)
    return QueuedJob(
        run_id=run_id,
        priority=priority,
        rank=RANKS[priority],
        need=of_job.pop("need", need(**more)),
        **of_job,
    )


def figure(mb: float, margin: float = 0.0) -> Figure:
    return Figure(mb, margin, "measured")


@dataclass
class Box:
    """Cards named 0, 1, …, each with ``cards`` GB; RAM of ``ram`` GB, 4 of it never given."""

    cards: Sequence[float] = (24,)
    ram: float = 132
    fair_wait: float = 600.0
    usable_gb: float | None = None
    driver: Any = "present"
    disk_gb: float | None = None
    age: float = 0.0
    ages: Mapping[int, float] = field(default_factory=dict)
    unread: bool = False
    unified: bool = False
    problems: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tenants: list[Tenant] = []
        self.queue: list[QueuedJob] = []
        self.estimates: dict[str, Estimate] = {}
        self._held: list[list[GpuProcess]] = [[] for _ in self.cards]
        self._processes: dict[int, Process] = {}
        self._roots: list[Root] = []

    def runs(
        self,
        owner: str,
        gpu: int | None = 0,
        claim: float = 0.0,
        holds: float = 0.0,
        ram: float = 0.0,
        ram_holds: float | None = None,
        margin: float = 0.0,
        **more: Any,
    ) -> Box:
        """A tenant that claims and holds so many GB of a card and of RAM."""
        pid = 100 + len(self._processes)
        cards = () if gpu is None else (f"GPU-{gpu}",)
        claims = {RAM: Claim(ram * GB)}
        if gpu is not None:
            claims[f"GPU-{gpu}"] = Claim(claim * GB, margin * GB)
            if holds:
                self._held[gpu].append(GpuProcess(pid, holds * GB))
        self._processes[pid] = Process(pid, 1, "python", GB * (ram if ram_holds is None else ram_holds))
        self._roots.append(Root(owner=owner, pid=pid, name=owner, workers=1, started_at=0, gpus=cards))
        self.tenants.append(Tenant(owner=owner, cards=cards, claims=claims, **more))
        return self

    def serves(self, name: str, gpu: int, claim: float, holds: float, **more: Any) -> Box:
        return self.runs(server_key(shared(name)), gpu, claim, holds, **more)

    def stranger(self, gpu: int, holds: float, pid: int = 4242, name: str = "python") -> Box:
        self._held[gpu].append(GpuProcess(pid, holds * GB))
        self._processes[pid] = Process(pid, 1, name, 0.0)
        return self

    def left(self, gpu: int) -> float:
        """GB that nobody holds of a card yet."""
        return self.cards[gpu] - sum(row.used_mb or 0.0 for row in self._held[gpu]) / GB

    def process(self, pid: int, name: str, ram: float) -> Box:
        """A process of the host that is nothing of ours."""
        self._processes[pid] = Process(pid, 1, name, ram * GB)
        return self

    def job(
        self,
        run_id: str,
        gb: float | None,
        ram: float = 0.0,
        margin: float = 0.0,
        servers: Mapping[str, float | None] | None = None,
        waited: float = 0.0,
        **more: Any,
    ) -> Box:
        """A queued job that needs so many GB of a card; None is not known."""
        nodesets = [nodeset(), *(shared(name) for name in servers or {})]
        queued = job(
            run_id, nodesets=nodesets, sequence=len(self.queue) + 1, eligible_since=NOW - waited, **more
        )
        parts = [_part(RUN, None, gb, margin, ram)]
        if queued.need.marginal_vram_mb is not None and parts[0].vram:
            declared = msgspec.structs.replace(parts[0].vram, basis="declared")
            parts = [msgspec.structs.replace(parts[0], vram=declared)]
        for name, size in (servers or {}).items():
            parts.append(_part(server_key(shared(name)), shared(name), size, 0.0, 0.0))
        self.queue.append(queued)
        self.estimates[run_id] = Estimate(tuple(parts))
        return self

    def sample(self) -> Sample:
        gpus = []
        for index, total in enumerate(self.cards):
            held = tuple(self._held[index])
            gpus.append(
                Gpu(
                    uuid=f"GPU-{index}",
                    label=str(index),
                    name="card",
                    total_mb=0.0 if self.unified else total * GB,
                    used_mb=sum(row.used_mb or 0.0 for row in held),
                    sampled_at=NOW - self.ages.get(index, self.age),
                    processes=held,
                    unified=self.unified,
                )
            )
        used = sum(process.rss_mb for process in self._processes.values())
        memory = Memory(self.ram * GB, self.ram * GB - used, NOW - self.age)
        return Sample(
            gpus=tuple(gpus),
            driver=self.driver,
            memory=None if self.unread else memory,
            processes=self._processes,
            disk_free_mb=None if self.disk_gb is None else self.disk_gb * GB,
            problems=self.problems,
        )

    def state(self) -> State:
        return State(
            policy=Policy(
                fair_wait_sec=self.fair_wait, usable_vram_mb=self.usable_gb and self.usable_gb * GB
            ),
            queue=self.queue,
            estimates=self.estimates,
            tenants=self.tenants,
            usage=attribute(self.sample(), self._roots),
            **self.more,
        )

    def decide(self) -> Decisions:
        return decide(self.state(), self.sample(), NOW)

    def told(self) -> dict[str, str]:
        """Job → where it goes, else the code of why it does not; a refused one with an exclamation mark."""
        decided = self.decide()
        told = {start.run_id: where(start) for start in decided.starts}
        told.update({run_id: f"{reason.code}!" for run_id, reason in decided.refused.items()})
        told.update({run_id: reason.code for run_id, reason in decided.waiting.items()})
        return told

    def why(self, run_id: str) -> Reason:
        decided = self.decide()
        return {**decided.waiting, **decided.refused}[run_id]


def where(start: Start) -> str:
    cards = [card.removeprefix("GPU-") for card in start.run.cards]
    return "+".join(cards) if cards else "no card"


def _part(owner: str, server: NodesetNeed | None, gb: float | None, margin: float, ram: float) -> Part:
    return Part(
        owner=owner,
        server=server,
        vram=None if gb is None else figure(gb * GB, margin * GB),
        ram=figure(ram * GB),
    )


def neighbours(**more: Any) -> dict[str, Any]:
    return {"neighbours": Neighbours(**more)}
