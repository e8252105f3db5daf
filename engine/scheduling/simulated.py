"""A machine that is only thought: the cards and memory of a simulation file, and what runs take of them.

It is asked as the real one is. What each run takes follows from the roots that it is asked about: a run that
is in them holds memory, and one that is not any more has given it back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from engine.scheduling.machine import RAM, Gpu, GpuProcess, Memory, Process, Root, Sample, boottime
from engine.scheduling.simulation_file import Fault, ForeignLoad, Load, Simulation

_FOREIGN_PIDS = 1 << 22  # above every pid that Linux gives
_DISK_MB = 1 << 20


class OutOfMemory(msgspec.Struct, frozen=True):
    """An allocation that found no room; whoever made it holds nothing from then on."""

    owner: str
    pool: str
    at: float


class SimulatedMachine:
    """The machine of ``simulation``, which began when it was made. ``failures``: every allocation that
    failed.
    """

    def __init__(self, simulation: Simulation, clock: Callable[[], float] = boottime) -> None:
        self.failures: list[OutOfMemory] = []
        self._simulation = simulation
        self._clock = clock
        self._began = clock()
        self._uuids = [f"GPU-simulated-{index}" for index in range(len(simulation.gpus))]
        self._held: dict[str, dict[str, float]] = {}
        self._foreign: dict[int, dict[str, float]] = {}
        self._dead: set[str] = set()
        self._loads: dict[str, Load | None] = {}
        self._chances: dict[str, float] = {}
        self._rows: dict[str, Gpu] = {}

    @property
    def uuids(self) -> Sequence[str]:
        """The cards' UUIDs, in the order of the file."""
        return self._uuids

    def sample(self, roots: Sequence[Root]) -> Sample:
        """Let everyone take what they take by now, and look."""
        now = self._clock()
        self._let_go(roots, now)
        for number, foreign in self._strangers(now):
            self._take_what_is_left(number, foreign)
        for root in roots:
            self._grow(root, now)
        faults = [
            fault for fault in self._simulation.faults if self._happens(fault.at_sec, fault.for_sec, now)
        ]
        processes = self._processes(roots)
        self._read_cards(roots, faults, now)
        return Sample(
            gpus=tuple(self._rows.values()),
            driver=self._driver(faults),
            memory=None if _any(faults, "memory_unread") else self._memory(now),
            processes=processes,
            disk_free_mb=0.0 if _any(faults, "disk_full") else _DISK_MB,
            problems=tuple(f"{fault.kind} is simulated" for fault in faults),
        )

    def peak_mb(self, root: Root, pool: str) -> float:
        """What a run really takes of a pool in the end."""
        load = self._load_of(root)
        if load is None:
            return 0.0
        each, per_worker = (
            (load.ram_mb, load.ram_per_worker_mb) if pool == RAM else (load.vram_mb, load.vram_per_worker_mb)
        )
        return (each + per_worker * root.workers) * (1 + load.spread * self._chance(root.owner))

    def _chance(self, owner: str) -> float:
        """Where an owner lies within its load's spread, from -1 to 1."""
        if owner not in self._chances:
            self._chances[owner] = random.Random(f"{self._simulation.seed} {owner}").uniform(-1, 1)
        return self._chances[owner]

    def foreign_mb(self, pool: str) -> float:
        """What strangers hold of a pool now."""
        return sum(held.get(pool, 0.0) for held in self._foreign.values())

    def _load_of(self, root: Root) -> Load | None:
        if root.name not in self._loads:
            loads = (load for load in self._simulation.loads if fnmatchcase(root.name, load.match))
            self._loads[root.name] = next(loads, None)
        return self._loads[root.name]

    def _let_go(self, roots: Sequence[Root], now: float) -> None:
        living = {root.owner for root in roots}
        self._held = {owner: held for owner, held in self._held.items() if owner in living}
        self._dead &= living
        there = {number for number, _ in self._strangers(now)}
        self._foreign = {number: held for number, held in self._foreign.items() if number in there}

    def _strangers(self, now: float) -> Iterator[tuple[int, ForeignLoad]]:
        for number, foreign in enumerate(self._simulation.foreign):
            if self._happens(foreign.at_sec, foreign.for_sec, now):
                yield number, foreign

    def _happens(self, at: float, lasting: float | None, now: float) -> bool:
        passed = now - self._began
        return at <= passed and (lasting is None or passed < at + lasting)

    def _take_what_is_left(self, number: int, foreign: ForeignLoad) -> None:
        if number in self._foreign:
            return
        held = {RAM: min(foreign.ram_mb, self._free(RAM))}
        if foreign.gpu is not None:
            card = self._uuids[foreign.gpu]
            held[card] = min(foreign.vram_mb, self._free(card))
        self._foreign[number] = held

    def _grow(self, root: Root, now: float) -> None:
        load = self._load_of(root)
        if load is None or root.owner in self._dead:
            return
        held = self._held.setdefault(root.owner, {})
        share = max((part for after, part in load.steps if now - root.started_at >= after), default=0.0)
        for pool in (RAM, *(card for card in root.gpus if card in self._uuids)):
            wanted = self.peak_mb(root, pool) * share
            if wanted - held.get(pool, 0.0) > self._free(pool):
                self.failures.append(OutOfMemory(root.owner, pool, now))
                self._dead.add(root.owner)
                del self._held[root.owner]
                return
            held[pool] = wanted

    def _total(self, pool: str) -> float:
        if pool == RAM:
            return self._simulation.ram_mb
        card = self._simulation.gpus[self._uuids.index(pool)]
        return card.total_mb - card.used_mb

    def _free(self, pool: str) -> float:
        ours = sum(held.get(pool, 0.0) for held in self._held.values())
        return self._total(pool) - ours - self.foreign_mb(pool)

    def _processes(self, roots: Sequence[Root]) -> dict[int, Process]:
        ours = {
            root.pid: Process(root.pid, 1, root.name, self._held.get(root.owner, {}).get(RAM, 0.0))
            for root in roots
        }
        others = {
            _FOREIGN_PIDS + number: Process(
                _FOREIGN_PIDS + number, 1, self._simulation.foreign[number].name, held.get(RAM, 0.0)
            )
            for number, held in self._foreign.items()
        }
        return {**ours, **others}

    def _memory(self, now: float) -> Memory:
        return Memory(self._simulation.ram_mb, self._free(RAM), now)

    def _driver(self, faults: Sequence[Fault]) -> Literal["present", "absent", "failing"]:
        if not self._uuids:
            return "absent"
        return "failing" if _any(faults, "driver_failing") else "present"

    def _read_cards(self, roots: Sequence[Root], faults: Sequence[Fault], now: float) -> None:
        for index, uuid in enumerate(self._uuids):
            unread = _any(faults, "card_unreadable", index) or _any(faults, "driver_failing")
            if not unread:
                hidden = _any(faults, "processes_hidden", index)
                self._rows[uuid] = self._row(index, uuid, roots, hidden, now)

    def _row(self, index: int, uuid: str, roots: Sequence[Root], hidden: bool, now: float) -> Gpu:
        card = self._simulation.gpus[index]
        holders = [(root.pid, self._held.get(root.owner, {}).get(uuid, 0.0)) for root in roots]
        holders += [(_FOREIGN_PIDS + number, held.get(uuid, 0.0)) for number, held in self._foreign.items()]
        return Gpu(
            uuid=uuid,
            label=str(index),
            name=card.name,
            total_mb=card.total_mb,
            used_mb=card.total_mb - self._free(uuid),
            sampled_at=now,
            processes=() if hidden else tuple(GpuProcess(pid, mb) for pid, mb in holders if mb > 0),
            processes_known=not hidden,
        )


def _any(faults: Sequence[Fault], kind: str, gpu: int | None = None) -> bool:
    return any(fault.kind == kind and fault.gpu in (None, gpu) for fault in faults)
