"""Runs that are only thought, on the simulated machine, under a clock that the test moves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from engine.scheduling.calibration import Calibration
from engine.scheduling.jobs import QueuedJob
from engine.scheduling.launching import LaunchError, Poll, RunEnd, RunState, ServerState
from engine.scheduling.ledger import Ledger
from engine.scheduling.machine import Root, Sample
from engine.scheduling.policy import Policy
from engine.scheduling.queue import Queue
from engine.scheduling.simulated import OutOfMemory, SimulatedMachine
from engine.scheduling.simulation_file import Simulation
from engine.scheduling.starts import Seated, Start
from engine.scheduling.tick import Scheduler
from engine.store.records import RunStatus


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Life:
    """How long a run lives, when it begins to step, how it ends of itself, and whether that teaches."""

    lasts: float
    works_after: float = 0.0
    outcome: Literal["completed", "failed", "infra"] = "completed"
    teaches: bool = True


@dataclass
class World:
    """The machine, and every process on it. ``foreign_then``: what strangers held when a run was started."""

    simulation: Simulation
    clock: Clock = field(default_factory=Clock)
    life: dict[str, Life] = field(default_factory=dict)
    default_life: Life = field(default_factory=lambda: Life(100.0))
    server_ready_after: float = 30.0

    def __post_init__(self) -> None:
        self.machine = SimulatedMachine(self.simulation, self.clock)
        self.roots: dict[str, Root] = {}
        self.stopping: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        self.failures: list[OutOfMemory] = []
        self.by_strangers: list[OutOfMemory] = []
        self.foreign_then: dict[str, dict[str, float]] = {}
        self.refuse: dict[str, str] = {}
        self._next_pid = 1000

    def observe(self, roots: Sequence[Root]) -> Sample:
        """The machine as it is: whoever lives takes memory, whether the scheduler looks at it or not."""
        before = len(self.machine.failures)
        sample = self.machine.sample(list(self.roots.values()))
        for failure in self.machine.failures[before:]:
            self._fail(failure)
        return sample

    def _fail(self, failure: OutOfMemory) -> None:
        there = [
            owner for owner, root in self.roots.items() if failure.pool in root.gpus or failure.pool == "ram"
        ]
        then = min(self.foreign_then[owner].get(failure.pool, 0.0) for owner in there)
        stranger_came = self.machine.foreign_mb(failure.pool) > then + 1
        (self.by_strangers if stranger_came else self.failures).append(failure)

    # The launcher's side.

    def start_run(self, job: QueuedJob, start: Start) -> None:
        if job.run_id in self.refuse:
            raise LaunchError(self.refuse[job.run_id])
        self.begin(job.run_id, job.need.graph_name, start.workers, start.run.cards)

    def begin(self, owner: str, name: str, workers: int, cards: Sequence[str]) -> None:
        assert owner not in self.roots, f"{owner} runs twice"
        self._next_pid += 1
        self.roots[owner] = Root(
            owner=owner,
            pid=self._next_pid,
            name=name,
            workers=workers,
            started_at=self.clock.now,
            gpus=tuple(cards),
        )
        self.foreign_then[owner] = {
            pool: self.machine.foreign_mb(pool) for pool in (*self.machine.uuids, "ram")
        }
        self.ended.pop(owner, None)

    def stop_run(self, run_id: str, why: str, grace_sec: float | None = None) -> None:
        self.stopping[run_id] = why

    def end_unstarted(self, run_id: str, status: Literal["cancelled", "error"], why: str) -> None:
        self.ended[run_id] = f"{status}: {why}"

    def start_server(self, server: Seated) -> None:
        assert server.server is not None
        if server.owner in self.refuse:
            raise LaunchError(self.refuse[server.owner])
        self.begin(server.owner, server.server.name, 1, server.cards)

    def stop_server(self, key: str) -> None:
        self.stopping[key] = "unloaded"

    def poll(self, runs: Collection[str], servers: Collection[str]) -> Poll:
        states = {
            run_id: self._run(run_id) for run_id in runs if run_id in self.roots or run_id in self.ended
        }
        served = {key: self._server(key) for key in servers if key in self.roots or key in self.ended}
        return Poll(states, served)

    def _run(self, run_id: str) -> RunState:
        if run_id not in self.roots:
            return RunState(0, end=RunEnd("completed" if self.ended[run_id] == "completed" else "failed"))
        root, life = self.roots[run_id], self.life.get(run_id, self.default_life)
        lived = self.clock.now - root.started_at
        end: RunEnd | None = None
        if run_id in self.stopping:
            end = RunEnd("cancelled", self.stopping.pop(run_id))
        elif any(failure.owner == run_id for failure in [*self.failures, *self.by_strangers]):
            end = RunEnd("failed", "out of memory")
        elif lived >= life.lasts:
            end = RunEnd(life.outcome, "so it was meant", life.teaches)
        if end:
            self.ended[run_id] = end.outcome
            del self.roots[run_id]
        return RunState(root.pid, working=lived >= life.works_after, end=end)

    def _server(self, key: str) -> ServerState:
        if key not in self.roots:
            return ServerState(0, ended=self.ended[key])
        root = self.roots[key]
        if key in self.stopping:
            self.ended[key] = self.stopping.pop(key)
            del self.roots[key]
            return ServerState(root.pid, ended=self.ended[key])
        return ServerState(root.pid, ready=self.clock.now - root.started_at >= self.server_ready_after)


@dataclass
class Backend:
    """A scheduler on a world. What it keeps on disk lies in ``folder``."""

    world: World
    folder: Path
    policy: Policy = field(default_factory=Policy)
    ledger: Ledger | None = None
    statuses: dict[str, RunStatus] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget everything, and take it up from disk."""
        self.queue = Queue(self.folder / "queue.json")
        self.calibration = Calibration(self.folder / "calibration.json")
        self.scheduler = Scheduler(
            self.queue,
            self.calibration,
            self.world,
            self.world.observe,
            self.statuses.get,
            policy=self.policy,
            ledger=self.ledger,
            root=str(self.folder),
            clock=self.world.clock,
        )

    def submit(self, *jobs: QueuedJob) -> None:
        for job in jobs:
            self.queue.submit(job)

    def tick(self, seconds: float = 1.0) -> None:
        self.world.clock.now += seconds
        self.scheduler.tick()

    def run_for(self, seconds: float, every: float = 1.0) -> None:
        until = self.world.clock.now + seconds
        while self.world.clock.now < until:
            self.tick(every)

    def drain(self, every: float = 1.0, longest: float = 100_000.0) -> None:
        """Go on until nothing waits or runs."""
        until = self.world.clock.now + longest
        while self.queue.jobs or self.queue.admitted:
            assert self.world.clock.now < until, f"still waiting: {self.waiting()}"
            self.tick(every)

    def running(self) -> dict[str, tuple[str, ...]]:
        return {
            run_id: root.gpus for run_id, root in self.world.roots.items() if not run_id.startswith("server:")
        }

    def waiting(self) -> dict[str, str]:
        return {run_id: reason.code for run_id, reason in self.scheduler.decisions.waiting.items()}
