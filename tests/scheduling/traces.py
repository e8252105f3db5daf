"""Random traces: jobs of hidden sizes that show late, among strangers; what several rules make of them."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path

from engine.scheduling.calibration import Peak
from engine.scheduling.jobs import RANKS, QueuedJob
from engine.scheduling.machine import RAM, Root
from engine.scheduling.need import Priority
from engine.scheduling.policy import Policy
from engine.scheduling.simulation_file import ForeignLoad, Load, SimulatedCard, Simulation
from tests.scheduling.making import GB, need
from tests.scheduling.world import Backend, Life, World

STEP_SEC = 4.0
FAIR_WAIT_SEC = 600.0
WARM_UP = 3
"""Runs of each kind that were measured before."""


@dataclass(frozen=True)
class Arrival:
    at: float
    job: QueuedJob
    life: Life


@dataclass(frozen=True, eq=False)
class Trace:
    seed: int
    simulation: Simulation
    arrivals: tuple[Arrival, ...]

    def world(self) -> World:
        world = World(self.simulation)
        world.life = {arrival.job.run_id: arrival.life for arrival in self.arrivals}
        return world


def make_trace(seed: int, *, strangers: bool = True) -> Trace:
    """Cards, kinds of jobs, when they come and how long they live, and who else is on the machine."""
    rng = random.Random(seed)
    sizes = [rng.choice([16, 24, 40, 48, 80]) * GB] * rng.randint(1, 4)
    if rng.random() < 0.3:
        sizes = [rng.choice([16, 24, 40, 48, 80]) * GB for _ in sizes]
    kinds = [_kind(rng, f"kind{number}", max(sizes)) for number in range(rng.randint(4, 8))]
    arrivals = [_arrival(rng, number, rng.choice(kinds)) for number in range(rng.randint(30, 50))]
    simulation = Simulation(
        ram_mb=512 * GB,
        seed=seed,
        gpus=tuple(SimulatedCard(total_mb=size, used_mb=300) for size in sizes),
        loads=tuple(kinds),
        foreign=tuple(_strangers(rng, sizes)) if strangers else (),
    )
    return Trace(seed, simulation, tuple(sorted(arrivals, key=lambda arrival: arrival.at)))


def _kind(rng: random.Random, name: str, largest: float) -> Load:
    share = rng.choice([rng.uniform(0.05, 0.2), rng.uniform(0.2, 0.5), rng.uniform(0.5, 0.93)])
    delay = rng.uniform(4, 60)
    whole = delay + rng.uniform(4, 60)
    return Load(
        match=name,
        vram_mb=share * largest,
        ram_mb=rng.uniform(1, 12) * GB,
        steps=((0.0, 0.0), (delay, rng.uniform(0.4, 1.0)), (whole, 1.0)),
        spread=rng.uniform(0, 0.04),
    )


def _arrival(rng: random.Random, number: int, kind: Load) -> Arrival:
    priority: Priority = rng.choices(["high", "normal", "low"], [1, 8, 1])[0]
    loaded, whole = kind.steps[1][0], kind.steps[2][0]
    job = QueuedJob(
        run_id=f"job{number}",
        sequence=number + 1,
        need=need(kind.match, exclusive_gpu=rng.random() < 0.03),
        priority=priority,
        rank=RANKS[priority],
    )
    at = 0.0 if rng.random() < 0.6 else rng.uniform(0, 1500)
    return Arrival(at, job, Life(whole + rng.uniform(30, 600), works_after=rng.uniform(loaded, whole)))


def _strangers(rng: random.Random, sizes: list[float]) -> Iterator[ForeignLoad]:
    for _ in range(rng.randint(0, 3)):
        gpu = rng.randrange(len(sizes))
        at = rng.choice([0.0, rng.uniform(0, 3000)])
        yield ForeignLoad(
            gpu=gpu, at_sec=at, for_sec=rng.uniform(200, 2000), vram_mb=rng.uniform(0.05, 0.5) * sizes[gpu]
        )


@dataclass
class Outcome:
    """What came of a trace. out_of_memory: runs whose allocation failed; by_strangers: those for which a
    stranger had come since, counted apart. busy_sec: when the last job had been started.
    """

    finished_sec: float = 0.0
    busy_sec: float = 0.0
    out_of_memory: set[str] = field(default_factory=set)
    by_strangers: set[str] = field(default_factory=set)
    ended: dict[str, str] = field(default_factory=dict)
    _held: list[dict[str, float]] = field(default_factory=list)

    def packed(self, until_sec: float) -> float:
        """How full the cards were on average until then, 0 to 1: by true peaks, of runs that found room."""
        steps = round(until_sec / STEP_SEC)
        held = self._held[:steps]
        return sum(mb for step in held for run, mb in step.items() if run not in self.out_of_memory) / steps

    def see(self, world: World, began: float, waiting: bool) -> None:
        total = sum(card.total_mb for card in world.simulation.gpus)
        self._held.append(
            {
                root.owner: sum(world.machine.peak_mb(root, card) for card in root.gpus) / total
                for root in world.roots.values()
            }
        )
        if waiting:
            self.busy_sec = world.clock.now - began

    def close(self, world: World, began: float) -> Outcome:
        self.finished_sec = world.clock.now - began
        self.out_of_memory = {failure.owner for failure in world.failures}
        self.by_strangers = {failure.owner for failure in world.by_strangers}
        self.ended = dict(world.ended)
        return self


def warm_peaks(trace: Trace, world: World, job: QueuedJob) -> list[Peak]:
    """What earlier runs of the job's kind were measured to hold."""
    load = next(load for load in trace.simulation.loads if load.match == job.need.graph_name)
    roots = [
        Root(owner=f"warm{number} {load.match}", pid=1, name=load.match, workers=1, started_at=0.0)
        for number in range(WARM_UP)
    ]
    return [
        Peak(
            vram_mb=world.machine.peak_mb(root, "card"),
            ram_mb=world.machine.peak_mb(root, RAM),
            after_sec=load.steps[-1][0],
        )
        for root in roots
    ]


def run_ours(trace: Trace) -> Outcome:
    """The scheduler, calibrated by ``WARM_UP`` runs of each kind."""
    world = trace.world()
    shared_memory = Path("/dev/shm")
    place = shared_memory if shared_memory.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="evaltower-trace-", dir=place) as folder:
        backend = Backend(world, Path(folder), Policy(fair_wait_sec=FAIR_WAIT_SEC))
        for kind in {arrival.job.need.graph_name: arrival.job for arrival in trace.arrivals}.values():
            for peak in warm_peaks(trace, world, kind):
                backend.calibration.record_run(kind.need, peak)
        outcome, began = Outcome(), world.clock.now
        coming = list(trace.arrivals)
        while coming or backend.queue.jobs or backend.queue.admitted:
            while coming and coming[0].at <= world.clock.now - began:
                backend.submit(coming.pop(0).job)
            backend.tick(STEP_SEC)
            outcome.see(world, began, bool(backend.queue.jobs))
            assert world.clock.now - began < 200_000, backend.waiting()
        return outcome.close(world, began)


Rule = Callable[[Trace, World, QueuedJob, list[QueuedJob], dict[str, float]], str | None]
"""Where a waiting job goes, given the jobs that were passed over before it, and since when each waits."""


def run_rule(trace: Trace, rule: Rule) -> Outcome:
    """Any other rule: each tick goes through the queue once, in the same order as ours."""
    world = trace.world()
    outcome, began = Outcome(), world.clock.now
    coming, waiting = list(trace.arrivals), list[QueuedJob]()
    since: dict[str, float] = {}
    while coming or waiting or world.roots:
        while coming and coming[0].at <= world.clock.now - began:
            job = coming.pop(0).job
            waiting.append(job)
            since[job.run_id] = world.clock.now
        waiting.sort(key=lambda job: (job.rank, job.sequence))
        world.clock.now += STEP_SEC
        world.observe(())
        world.poll(list(world.roots), [])
        passed: list[QueuedJob] = []
        for job in waiting:
            card = rule(trace, world, job, passed, since)
            if card is None:
                passed.append(job)
            else:
                world.begin(job.run_id, job.need.graph_name, job.need.worker_count, [card])
        waiting = passed
        outcome.see(world, began, bool(waiting))
        assert world.clock.now - began < 200_000, [job.run_id for job in waiting]
    return outcome.close(world, began)


def true_peak(world: World, job: QueuedJob) -> float:
    root = Root(owner=job.run_id, pid=1, name=job.need.graph_name, workers=1, started_at=0.0)
    return world.machine.peak_mb(root, "card")


@cache
def _exclusive(trace: Trace) -> frozenset[str]:
    return frozenset(arrival.job.run_id for arrival in trace.arrivals if arrival.job.need.exclusive_gpu)


class Oracle:
    """Knows every true peak, and that what is not yet allocated will be: no margin, no sample, no learning.

    The same order, the same passing over, and the same fair wait as ours; the tightest card.
    """

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def __call__(
        self, trace: Trace, world: World, job: QueuedJob, passed: list[QueuedJob], since: dict[str, float]
    ) -> str | None:
        size = true_peak(world, job)
        fitting = []
        for card in world.machine.uuids:
            room = self._room(trace, world, card) - sum(self._there(world, card))
            if self._is_open(trace, world, job, card) and size <= room:
                fitting.append((room, card))
        for _, card in sorted(fitting):
            if not any(self._delays(trace, world, old, card, size, since) for old in passed):
                return card
        return None

    def _room(self, trace: Trace, world: World, card: str) -> float:
        index = list(world.machine.uuids).index(card)
        simulated = trace.simulation.gpus[index]
        return simulated.total_mb - simulated.used_mb - world.machine.foreign_mb(card)

    def _there(self, world: World, card: str) -> list[float]:
        return [world.machine.peak_mb(root, card) for root in world.roots.values() if card in root.gpus]

    def _is_open(self, trace: Trace, world: World, job: QueuedJob, card: str) -> bool:
        exclusive = _exclusive(trace)
        there = [root.owner for root in world.roots.values() if card in root.gpus]
        return not there if job.need.exclusive_gpu else not exclusive.intersection(there)

    def _delays(
        self, trace: Trace, world: World, old: QueuedJob, card: str, size: float, since: dict[str, float]
    ) -> bool:
        """Whether, on the card that is kept for ``old``, some who are there could end so that it could start
        alone, but not beside a newcomer of ``size``."""
        if world.clock.now - since[old.run_id] < FAIR_WAIT_SEC:
            return False
        wanted = true_peak(world, old)
        if self._keep(trace, world, old, wanted) != card:
            return False
        if old.need.exclusive_gpu:
            return True
        limit, there = self._room(trace, world, card) - wanted, self._there(world, card)
        return any(
            sum(left) <= limit < sum(left) + size
            for count in range(len(there) + 1)
            for left in combinations(there, count)
        )

    def _keep(self, trace: Trace, world: World, old: QueuedJob, wanted: float) -> str | None:
        rooms = {card: self._room(trace, world, card) for card in world.machine.uuids}
        possible = [card for card in rooms if rooms[card] >= wanted]
        if self._kept.get(old.run_id) not in possible:
            free = {card: rooms[card] - sum(self._there(world, card)) for card in possible}
            others = {
                card for run, card in self._kept.items() if run not in world.ended and run not in world.roots
            }
            best = min(possible, key=lambda card: (card in others, -free[card]), default=None)
            self._kept.pop(old.run_id, None)
            if best:
                self._kept[old.run_id] = best
        return self._kept.get(old.run_id)


def one_job_a_gpu(
    trace: Trace, world: World, job: QueuedJob, passed: list[QueuedJob], since: dict[str, float]
) -> str | None:
    """The first card without a job, if the job fits it."""
    oracle = Oracle()
    for card in world.machine.uuids:
        if not oracle._there(world, card) and true_peak(world, job) <= oracle._room(trace, world, card):
            return card
    return None


class Reference:
    """AgentCanvas's rule, as its scheduler applies it to calibrated jobs: the free memory of all cards is
    added up, the margin is never given back, nobody's turn is kept. It places nothing; the emptiest card is
    kinder than what it does.
    """

    MARGIN_MB = 1500.0

    def __init__(self) -> None:
        self._charges: dict[str, float] = {}

    def __call__(
        self, trace: Trace, world: World, job: QueuedJob, passed: list[QueuedJob], since: dict[str, float]
    ) -> str | None:
        running = {
            arrival.job.run_id: arrival.job for arrival in trace.arrivals if arrival.job.run_id in world.roots
        }
        if any(other.need.exclusive_gpu for other in running.values()) or (
            job.need.exclusive_gpu and running
        ):
            return None
        charge = max(peak.vram_mb or 0.0 for peak in warm_peaks(trace, world, job)) + self.MARGIN_MB
        sample = world.machine.sample(list(world.roots.values()))
        free = {gpu.uuid: gpu.total_mb - gpu.used_mb for gpu in sample.gpus}
        held = {root.pid: 0.0 for root in world.roots.values()}
        for gpu in sample.gpus:
            for process in gpu.processes:
                held[process.pid] = held.get(process.pid, 0.0) + (process.used_mb or 0.0)
        reserved = sum(max(0.0, self._charges[root.owner] - held[root.pid]) for root in world.roots.values())
        if charge > sum(free.values()) - reserved:
            return None
        self._charges[job.run_id] = charge
        return max(free, key=lambda card: free[card])
