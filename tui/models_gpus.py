"""The machine as gauges: who holds what of a memory, what the last ten minutes were like. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.control.queue_reports import GpuReport, HostReport, QueueReport, ResourcesReport
from tui.models import HISTORY_SEC, GpuSample, Snapshot, duration, gigabytes

Kind = Literal["run", "next run", "server", "foreign", "other", "reserved"]
"""Whose memory it is; ``next run`` is every second run, so that two of them are told apart; ``other`` is
taken by nobody that can be named; ``reserved`` is still free."""

STALE_SEC = 5.0
"""A sample older than this counts for nothing in admission."""
UNHEARD_SEC = 15.0
"""The machine is asked again sooner than that, as long as somebody answers."""


@dataclass(frozen=True)
class Part:
    """Some of a memory. names: whose, for ``run`` a label or an id."""

    kind: Kind
    name: str
    mb: float


@dataclass(frozen=True)
class Memory:
    """parts: what is taken, and last what is reserved of the rest."""

    total_mb: float
    used_mb: float
    parts: tuple[Part, ...]

    def of(self, kind: Kind) -> float:
        return math.fsum(part.mb for part in self.parts if part.kind == kind)


@dataclass(frozen=True)
class Card:
    """stale: in words, what is wrong with the sample; empty where it is fresh."""

    report: GpuReport
    memory: Memory
    history: tuple[GpuSample, ...]
    stale: str


@dataclass(frozen=True)
class Machine:
    """notes: what the operator has to know of the GPUs. ram: None where it was not read."""

    cards: tuple[Card, ...]
    host: HostReport
    ram: Memory | None
    ram_stale: str
    notes: tuple[str, ...]
    at: float


def machine_of(snapshot: Snapshot) -> Machine | None:
    """None before the machine has been looked at."""
    report = snapshot.resources
    if report is None:
        return None
    names = {run.run_id: run.label for run in snapshot.runs if run.label}
    cards = tuple(_card(gpu, snapshot, names) for gpu in report.gpus)
    heard = max((card.history[-1].at for card in cards if card.history), default=snapshot.at)
    host = report.host
    return Machine(
        cards,
        host,
        _ram(host, names),
        _stale(host.ram_age_sec or 0.0, snapshot.at - heard),
        gpu_notes(report, snapshot.queue),
        snapshot.at,
    )


def gpu_notes(report: ResourcesReport, queue: QueueReport) -> tuple[str, ...]:
    """Why there is no gauge, or not all of them, and what that means for the queue."""
    notes = list(report.problems)
    if report.driver == "absent":
        notes.insert(0, "No NVIDIA driver on this machine: no card is measured.")
        if queue.usable_vram_mb is not None:
            taken = f", {gigabytes(queue.reserved_vram_mb)} of it reserved" if queue.reserved_vram_mb else ""
            notes.append(f"Declared (usable_vram_mb): {gigabytes(queue.usable_vram_mb)}{taken}.")
        else:
            notes.append(
                "Where it has a card all the same, say how much of it runs may use: usable_vram_mb under"
                " [admission] in evaltower.toml."
            )
    elif report.driver == "failing":
        notes.insert(0, "The NVIDIA driver does not answer: nothing that needs a card starts meanwhile.")
    elif not report.gpus:
        notes.insert(0, "The NVIDIA driver shows no card.")
    return tuple(notes)


def _card(gpu: GpuReport, snapshot: Snapshot, names: dict[str, str]) -> Card:
    history = snapshot.history.cards.get(gpu.uuid, ())
    foreign = [Part("foreign", f"{found.name}, pid {found.pid}", found.mb or 0.0) for found in gpu.foreign]
    unnamed = gpu.foreign_mb - sum(part.mb for part in foreign)
    if unnamed > 0.5:
        foreign.append(Part("foreign", "processes without a name", unnamed))
    memory = _memory(gpu.total_mb, gpu.used_mb, gpu.runs_mb, gpu.servers_mb, foreign, gpu.reserved_mb, names)
    unheard = snapshot.at - history[-1].at if history else 0.0
    return Card(gpu, memory, history, _stale(gpu.age_sec, unheard))


def _ram(host: HostReport, names: dict[str, str]) -> Memory | None:
    if host.ram_total_mb is None or host.ram_available_mb is None:
        return None
    used = host.ram_total_mb - host.ram_available_mb
    return _memory(host.ram_total_mb, used, host.runs_mb, host.servers_mb, [], host.reserved_mb, names)


def _memory(
    total: float,
    used: float,
    runs: dict[str, float],
    servers: dict[str, float],
    foreign: Sequence[Part],
    reserved: dict[str, float],
    names: dict[str, str],
) -> Memory:
    kinds: tuple[Kind, Kind] = ("run", "next run")
    parts = [Part(kinds[place % 2], names.get(run, run), mb) for place, (run, mb) in enumerate(runs.items())]
    parts += [Part("server", name, mb) for name, mb in servers.items()]
    parts += sorted(foreign, key=lambda part: -part.mb)
    other = used - math.fsum(part.mb for part in parts)
    if other > total / 1000:  # what the driver and its counting are off by is nobody's
        parts.append(Part("other", "other", other))
    parts += [Part("reserved", _owner(owner, names), mb) for owner, mb in reserved.items()]
    return Memory(total, used, tuple(part for part in parts if part.mb > 0))


def _owner(owner: str, names: dict[str, str]) -> str:
    """A run by its label; a server, ``server:NODESET@KEY``, by its nodeset."""
    return names.get(owner, owner.removeprefix("server:").partition("@")[0])


def _stale(age_sec: float, unheard_sec: float) -> str:
    """A sample that the backend has not renewed, or that it was not asked for."""
    if age_sec <= STALE_SEC and unheard_sec <= UNHEARD_SEC:
        return ""
    return f"sample {duration(age_sec + unheard_sec)} old"


def bar_cells(memory: Memory, width: int) -> list[Kind | None]:
    """Whose each of ``width`` cells is; None is free. Whoever holds anything has a cell, if there is one."""
    kinds: list[Kind] = ["run", "next run", "server", "foreign", "other", "reserved"]
    shares = [memory.of(kind) / memory.total_mb * width if memory.total_mb else 0.0 for kind in kinds]
    cells = [math.ceil(share) if 0 < share < 1 else round(share) for share in shares]
    while sum(cells) > width:
        least = 1 if max(cells) > 1 else 0
        given = [place for place, count in enumerate(cells) if count > least]
        cells[max(given, key=lambda place: cells[place] - shares[place])] -= 1
    drawn: list[Kind | None] = [kind for kind, count in zip(kinds, cells, strict=True) for _ in range(count)]
    return drawn + [None] * (width - len(drawn))


def spark_levels(
    history: Sequence[GpuSample], now: float, cells: int, value: Callable[[GpuSample], float | None]
) -> list[float | None]:
    """The greatest value in each ``cells``-th of the last HISTORY_SEC, else the one before, as long as that
    is not UNHEARD_SEC old; else None.

    The cells begin at whole multiples of their length, so that they move on only once in that time.
    """
    length = HISTORY_SEC / cells
    first = math.floor(now / length) - cells + 1
    levels: list[float | None] = [None] * cells
    last: tuple[float, float] | None = None
    filled = 0
    for sample in history:
        found, cell = value(sample), math.floor(sample.at / length) - first
        if found is None:
            continue
        _carry(levels, filled, min(cell, cells), last, first * length, length)
        if 0 <= cell < cells:
            known = levels[cell] if cell < filled else None
            levels[cell] = found if known is None else max(known, found)
        filled, last = max(filled, cell + 1), (sample.at, found)
    _carry(levels, filled, cells, last, first * length, length)
    return levels


def _carry(
    levels: list[float | None],
    since: int,
    until: int,
    last: tuple[float, float] | None,
    start: float,
    length: float,
) -> None:
    """Fill the cells from ``since`` on with the last value, as long as it says anything."""
    for cell in range(since, until):
        if last is None or start + cell * length - last[0] > UNHEARD_SEC:
            break
        levels[cell] = last[1]


def spark(levels: Sequence[float | None], most: float, glyphs: str) -> str:
    """Levels of 0 to ``most`` as one line; a gap is blank."""
    top = len(glyphs) - 1
    return "".join(
        " "
        if level is None
        else glyphs[min(top, max(0, round(level / most * top)))]
        if most > 0
        else glyphs[0]
        for level in levels
    )
