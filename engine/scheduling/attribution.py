"""Whose memory it is: each process's, walked up to the run or shared server that started it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from engine.scheduling.machine import RAM, Gpu, Process, Root, Sample
from engine.scheduling.samplers.processes import below

_UNEXPLAINED_MB = 1024.0
"""Memory of a card that no listed process holds: above this, some process is hidden. In a container they all
are, or are listed by the pids that they have outside."""


class Foreign(msgspec.Struct, frozen=True):
    """A process that is nothing of ours. mb: None where the driver does not say. whose: the run or server of
    another backend that it belongs to, in words; empty of a stranger."""

    pid: int
    name: str
    mb: float | None
    whose: str = ""

    def __str__(self) -> str:
        return f"process {self.pid}" + (f" ({self.name})" if self.name else "")


class Usage(msgspec.Struct, frozen=True):
    """shown: owner → pool → MB now held. foreign: card → processes that are not ours, the largest first.

    explained: the cards whose use is known process by process; elsewhere nothing says what an owner holds.
    foreign_ram: the largest process of the host that is not ours.
    """

    shown: Mapping[str, Mapping[str, float]]
    foreign: Mapping[str, Sequence[Foreign]]
    explained: frozenset[str]
    foreign_ram: Foreign | None = None


NOTHING_SEEN = Usage({}, {}, frozenset())


def attribute(sample: Sample, roots: Sequence[Root], others: Mapping[int, str] | None = None) -> Usage:
    """Sum up ``sample`` by owner. An owner that has ended, and whose processes are still listed, counts.

    ``others``: what other backends have, by the pids at the top, in words.
    """
    owner_of_root = {root.pid: root.owner for root in roots}
    others = {pid: whose for pid, whose in (others or {}).items() if pid not in owner_of_root}
    top_of = below(sample.processes, owner_of_root | others)
    owner_of = {pid: owner_of_root[top] for pid, top in top_of.items() if top in owner_of_root}
    whose = {pid: others[top] for pid, top in top_of.items() if top in others}
    shown: dict[str, dict[str, float]] = {root.owner: {} for root in roots}
    for pid, owner in owner_of.items():
        _add(shown[owner], RAM, _weight(sample.processes[pid]))
    foreign: dict[str, list[Foreign]] = {}
    for gpu in sample.gpus:
        foreign[gpu.uuid] = []
        for process in gpu.processes:
            if process.pid in owner_of:
                pool = RAM if gpu.unified else gpu.uuid
                _add(shown[owner_of[process.pid]], pool, process.used_mb or 0.0)
            else:
                name = _name(sample, process.pid)
                foreign[gpu.uuid].append(
                    Foreign(process.pid, name, process.used_mb, whose.get(process.pid, ""))
                )
        foreign[gpu.uuid].sort(key=lambda found: -(found.mb or 0.0))
    explained = frozenset(gpu.uuid for gpu in sample.gpus if _is_explained(gpu, sample))
    return Usage(shown, foreign, explained, _largest(sample, owner_of, whose))


def _weight(process: Process) -> float:
    return process.rss_mb if process.pss_mb is None else process.pss_mb


def _add(pools: dict[str, float], pool: str, mb: float) -> None:
    pools[pool] = pools.get(pool, 0.0) + mb


def _name(sample: Sample, pid: int) -> str:
    process = sample.processes.get(pid)
    return process.name if process else ""


def _is_explained(gpu: Gpu, sample: Sample) -> bool:
    told = all(row.used_mb is not None and row.pid in sample.processes for row in gpu.processes)
    if not gpu.processes_known or not told:
        return False
    return gpu.unified or gpu.used_mb - sum(row.used_mb or 0.0 for row in gpu.processes) <= _UNEXPLAINED_MB


def _largest(sample: Sample, owner_of: Mapping[int, str], whose: Mapping[int, str]) -> Foreign | None:
    others = [process for pid, process in sample.processes.items() if pid not in owner_of]
    if not others:
        return None
    largest = max(others, key=lambda process: process.rss_mb)
    return Foreign(largest.pid, largest.name, largest.rss_mb, whose.get(largest.pid, ""))
