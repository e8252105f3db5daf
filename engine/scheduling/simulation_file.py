"""What ``--simulate FILE`` holds: a machine, what runs really take on it, who else is on it, and what breaks.

TOML. Times are seconds after the start, memory MB::

    ram_mb = 65536

    [[gpus]]
    total_mb = 24576

    [[loads]]                       # the first that matches a run's graph or a server's nodeset counts
    match = "gridhouse*"
    vram_mb = 6000
    vram_per_worker_mb = 300
    steps = [[10, 0.5], [40, 1.0]]  # from 10 s on half of it, from 40 s on all of it
    spread = 0.05                   # each run takes up to 5 % more or less

    [[foreign]]
    gpu = 0
    at_sec = 120
    for_sec = 600
    vram_mb = 21000
    name = "someone's server"

    [[faults]]
    kind = "card_unreadable"        # or driver_failing, processes_hidden, memory_unread, disk_full
    gpu = 0
    at_sec = 300
    for_sec = 20
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec

MB = Annotated[float, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class SimulationError(Exception):
    """The file cannot be used. The message names it, and what is wrong where."""


class SimulatedCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A card. used_mb: what the driver itself takes."""

    total_mb: Annotated[float, msgspec.Meta(gt=0)]
    name: str = "Simulated GPU"
    used_mb: MB = 0.0


class Load(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run or server takes. match: a shell pattern. steps: (seconds after its start, share of the
    peak).

    spread: the share by which its peak may lie off, drawn for each run.
    """

    match: str = "*"
    vram_mb: MB = 0.0
    vram_per_worker_mb: MB = 0.0
    ram_mb: MB = 0.0
    ram_per_worker_mb: MB = 0.0
    steps: tuple[tuple[Seconds, Share], ...] = ((0.0, 1.0),)
    spread: Share = 0.0


class ForeignLoad(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A process that is nothing of ours. for_sec: None is for ever. gpu: None where it has no card."""

    gpu: Annotated[int, msgspec.Meta(ge=0)] | None = None
    at_sec: Seconds = 0.0
    for_sec: Seconds | None = None
    vram_mb: MB = 0.0
    ram_mb: MB = 0.0
    name: str = "stranger"


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that breaks for a while. gpu: None is every card."""

    kind: Literal["card_unreadable", "driver_failing", "processes_hidden", "memory_unread", "disk_full"]
    gpu: Annotated[int, msgspec.Meta(ge=0)] | None = None
    at_sec: Seconds = 0.0
    for_sec: Seconds = 60.0


class Simulation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file. gpus: none is a machine without driver. seed: of the spreads."""

    ram_mb: Annotated[float, msgspec.Meta(gt=0)] = 65536.0
    seed: int = 0
    gpus: tuple[SimulatedCard, ...] = ()
    loads: tuple[Load, ...] = ()
    foreign: tuple[ForeignLoad, ...] = ()
    faults: tuple[Fault, ...] = ()


def read_simulation(path: Path) -> Simulation:
    """Read the file. SimulationError for what is no simulation."""
    try:
        simulation = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Simulation)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SimulationError(f"{path}: {error}") from None
    for kind, entries in (("foreign", simulation.foreign), ("faults", simulation.faults)):
        for entry in entries:
            if entry.gpu is not None and entry.gpu >= len(simulation.gpus):
                raise SimulationError(f"{path}: {kind} names gpu {entry.gpu} of {len(simulation.gpus)}")
    return simulation
