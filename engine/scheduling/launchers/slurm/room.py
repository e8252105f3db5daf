"""Whether a partition could ever hold a run together with the servers that it waits for. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from engine.scheduling.launchers.slurm.words import gpus_of
from engine.scheduling.starts import ClusterAsk, JobAsk
from engine.store.slurm_settings import SlurmSettings

TRACKED_MB = 1
"""What a node has that was never told its memory: then memory is not counted."""


class Size(NamedTuple):
    """A job, or a node."""

    gpus: int
    cpus: int
    mb: float


def size_of(ask: JobAsk, settings: SlurmSettings) -> Size:
    """What a job asks of its node."""
    gpus = gpus_of(settings.gres) if ask.gpus and settings.gres else ask.gpus
    cpus = 1 + math.ceil(ask.workers * settings.cpus_per_worker)
    return Size(gpus, cpus, math.ceil(settings.mem_mb or ask.mem_mb))


def lacks_room(ask: ClusterAsk, settings: SlurmSettings, nodes: Sequence[tuple[int, int, str]]) -> str:
    """Why a run would wait for ever, with nothing else there: its servers are jobs, too, which it holds as
    long as it waits. Empty where it would not. ``nodes``: (CPUs, MB, gres) of each."""
    servers = {name: size_of(server, settings) for name, server in ask.servers.items()}
    jobs = [*servers.values(), *[size_of(ask.run, settings)] * ask.nodes]
    free = [Size(gpus_of(gres), cpus, mb if mb > TRACKED_MB else math.inf) for cpus, mb, gres in nodes]
    if _fit(sorted(jobs, reverse=True), free):
        return ""
    own = _told(size_of(ask.run, settings)) + (f" on each of {ask.nodes} nodes" if ask.nodes > 1 else "")
    beside = "".join(f", {name} {_told(size)} beside it" for name, size in servers.items())
    there = ", ".join(dict.fromkeys(_told(node) for node in free)) or "no node"
    partition = ask.partition or settings.partition
    where = f"partition {partition}" if partition else "the default partition"
    return f"the run needs {own}{beside}, and {where} has never room for all of it: its nodes have {there}"


def _fit(jobs: Sequence[Size], free: list[Size]) -> bool:
    """Whether every job finds a node: the largest first, each tried wherever it may go."""
    if not jobs:
        return True
    first, *rest = jobs
    tried = set()
    for place, node in enumerate(free):
        left = Size(node.gpus - first.gpus, node.cpus - first.cpus, node.mb - first.mb)
        if node in tried or min(left) < 0:
            continue
        tried.add(node)
        if _fit(rest, [*free[:place], left, *free[place + 1 :]]):
            return True
        if len(jobs) > MOST_TRIED:
            return False
    return False


MOST_TRIED = 6
"""With more jobs than this only the first place of each is tried."""


def _told(size: Size) -> str:
    gpus = f", {size.gpus} GPU{'s' if size.gpus > 1 else ''}" if size.gpus else ""
    mb = f", {size.mb:.0f} MB" if math.isfinite(size.mb) else ""
    return f"{size.cpus} CPU{'s' if size.cpus > 1 else ''}{gpus}{mb}"
