"""How much a run will take, and where that figure comes from. Pure; loads nothing.

A run is estimated in parts: its own processes, and each shared server that it uses. What was measured of
exactly this run comes first, then what its submitter declared, then what one that runs now holds, then what
other worker counts took, then the larger of what other selections of the same graph took and what the
nodesets' authors say. Video memory of which nobody said anything stays unknown, and the run starts alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from engine.scheduling.calibration import Calibration, Peak
from engine.scheduling.need import COLD_MB, COLD_SHARE, Need, server_key
from engine.store.records import NodesetNeed

Basis = Literal["measured", "declared", "running", "scaled", "related", "stated", "assumed"]

MARGIN_SHARE, FIRST_MARGIN_SHARE, MARGIN_MB = 0.05, 0.10, 256.0
"""What a run may take beyond an estimate: a share of it, and some on top. The larger share until
``KNOWN_AFTER`` runs were measured."""

KNOWN_AFTER = 3

SERVER_GROWTH = 1.25
"""A server with more workers than it was ever seen with: its weights stay, its activations grow."""

ASSUMED_RUN_MB, ASSUMED_WORKER_MB, ASSUMED_SERVER_MB = 1024.0, 1024.0, 4096.0
"""Main memory of what nobody said anything about. It is reserved only until memory shows up, and the measured
free memory gates as well."""


RUN = "run"
"""The run itself, in an estimate: the same for every run that needs the same."""


class Figure(msgspec.Struct, frozen=True):
    """An amount. margin_mb: what it may come to above that, until it has settled."""

    mb: float
    margin_mb: float
    basis: Basis


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One tenant that the run needs. owner: a server's key, or ``RUN``. vram: None is unknown.

    after_sec: when past ones had reached their peak. lender: where another backend has it loaded already.
    """

    owner: str
    server: NodesetNeed | None = None
    vram: Figure | None
    ram: Figure
    after_sec: float = 0.0
    lender: str = ""


class Estimate(msgspec.Struct, frozen=True):
    """What is asked for comes first, mostly a run, then the servers that it uses."""

    parts: tuple[Part, ...]

    @property
    def run(self) -> Part:
        return self.parts[0]

    @property
    def uncalibrated(self) -> list[str]:
        """The parts that were never measured as they would run now, by owner."""
        return [part.owner for part in self.parts if not _is_measured(part)]


def estimate(
    need: Need,
    calibration: Calibration,
    running: Mapping[tuple[str, int], Peak] | None = None,
    served: Callable[[str], int] = lambda key: 0,
    lent: Mapping[str, str] | None = None,
) -> Estimate:
    """Estimate a run.

    ``running``: (run key, workers) → what one that has settled holds so far. ``served``: the workers of other
    runs that a server has already, by its key. ``lent``: servers that other backends have loaded, and where;
    what they hold is theirs, and shows in what is free. A run that is to have its card alone borrows none.
    """
    seen = (running or {}).get((need.run_key, need.worker_count), Peak())
    parts = [_own_part(need, calibration.of_run(need), calibration.of_kin(need), seen)]
    for nodeset in need.shared:
        key = server_key(nodeset)
        if lent and key in lent and not need.exclusive_gpu:
            nothing = Figure(0.0, 0.0, "running")
            parts.append(Part(owner=key, server=nodeset, vram=nothing, ram=nothing, lender=lent[key]))
            continue
        workers = need.worker_count + served(key)
        declared = need.marginal_vram_mb is not None
        parts.append(_server_part(nodeset, workers, calibration.of_server(nodeset), declared))
    return Estimate(tuple(parts))


def server_estimate(nodeset: NodesetNeed, calibration: Calibration) -> Estimate:
    """Estimate a shared server that no run uses yet, for one worker."""
    return Estimate((_server_part(nodeset, 1, calibration.of_server(nodeset), declared=False),))


def _own_part(need: Need, peaks: Mapping[int, Peak], of_kin: Mapping[int, Peak], seen: Peak) -> Part:
    workers = need.worker_count
    vram, ram = _column(peaks, "vram_mb"), _column(peaks, "ram_mb")
    kin_vram, kin_ram = _column(of_kin, "vram_mb"), _column(of_kin, "ram_mb")
    return Part(
        owner=RUN,
        vram=_first(
            Figure(0.0, 0.0, "declared") if need.marginal_vram_mb == 0 else None,
            _measured(vram, workers, peaks),
            _declared(need.marginal_vram_mb),
            _running(seen.vram_mb),
            _scaled(vram, workers, workers / max(vram, default=workers)),
            _larger(
                _related(kin_vram, workers),
                _stated([nodeset.expected_vram_mb for nodeset in need.own], workers, 0.0),
            ),
            None if need.own else Figure(0.0, 0.0, "assumed"),  # a run process alone has nothing on a card
        ),
        ram=_first(
            _measured(ram, workers, peaks),
            _running(seen.ram_mb),
            _scaled(ram, workers, workers / max(ram, default=workers)),
            _larger(
                _related(kin_ram, workers),
                _stated([nodeset.expected_ram_mb for nodeset in need.own], workers, ASSUMED_WORKER_MB),
            ),
        )
        or Figure(ASSUMED_RUN_MB + ASSUMED_WORKER_MB * workers, 0.0, "assumed"),
        after_sec=_after(peaks, workers),
    )


def _server_part(nodeset: NodesetNeed, workers: int, peaks: Mapping[int, Peak], declared: bool) -> Part:
    vram, ram = _column(peaks, "vram_mb"), _column(peaks, "ram_mb")
    return Part(
        owner=server_key(nodeset),
        server=nodeset,
        vram=_first(
            _measured(vram, workers, peaks),
            _scaled(vram, workers, SERVER_GROWTH),
            _stated([nodeset.expected_vram_mb], 1, 0.0),
            Figure(0.0, 0.0, "declared") if declared else None,  # what was declared for the run covers it
        ),
        ram=_first(
            _measured(ram, workers, peaks),
            _scaled(ram, workers, SERVER_GROWTH),
            _stated([nodeset.expected_ram_mb], 1, 0.0),
        )
        or Figure(ASSUMED_SERVER_MB, 0.0, "assumed"),
        after_sec=_after(peaks, workers),
    )


def _larger(*figures: Figure | None) -> Figure | None:
    return max((figure for figure in figures if figure), key=lambda figure: figure.mb, default=None)


def _first(*figures: Figure | None) -> Figure | None:
    return next((figure for figure in figures if figure is not None), None)


def _measured(points: Mapping[int, float], workers: int, peaks: Mapping[int, Peak]) -> Figure | None:
    mb = points.get(workers)
    if mb is None:
        return None
    share = MARGIN_SHARE if peaks[workers].runs >= KNOWN_AFTER else FIRST_MARGIN_SHARE
    return Figure(mb, _margin(mb, share), "measured")


def _declared(mb: float | None) -> Figure | None:
    return None if mb is None else Figure(mb, 0.0, "declared")


def _running(mb: float | None) -> Figure | None:
    return None if mb is None else Figure(mb, mb * COLD_SHARE + COLD_MB, "running")


def _scaled(points: Mapping[int, float], workers: int, growth: float) -> Figure | None:
    """From other worker counts: what more workers took is enough; else on the line through the outermost
    two, or, of a single one, ``growth`` times that."""
    if not points:
        return None
    if above := [mb for count, mb in points.items() if count >= workers]:
        mb = min(above)
    else:
        few, many = min(points), max(points)
        slope = (points[many] - points[few]) / (many - few) if many > few else 0.0
        mb = points[many] + max(0.0, slope) * (workers - many) if many > few else points[many] * growth
    return Figure(mb, _margin(mb), "scaled")


def _related(points: Mapping[int, float], workers: int) -> Figure | None:
    found = _scaled(points, workers, workers / max(points, default=workers))
    return found and Figure(found.mb, found.margin_mb, "related")


def _stated(each: list[int | None], times: int, otherwise: float) -> Figure | None:
    """What the authors say, ``times`` over; ``otherwise`` for those that say nothing, unless none does."""
    if all(mb is None for mb in each):
        return None
    mb = sum(otherwise if mb is None else float(mb) for mb in each) * times
    return Figure(mb, _margin(mb), "stated")


def _margin(mb: float, share: float = FIRST_MARGIN_SHARE) -> float:
    return MARGIN_MB + share * mb if mb > 0 else 0.0


def _column(peaks: Mapping[int, Peak], name: Literal["vram_mb", "ram_mb"]) -> dict[int, float]:
    found = {workers: getattr(peak, name) for workers, peak in peaks.items()}
    return {workers: mb for workers, mb in found.items() if mb is not None}


def _after(peaks: Mapping[int, Peak], workers: int) -> float:
    exact = peaks.get(workers)
    return exact.after_sec if exact else max((peak.after_sec for peak in peaks.values()), default=0.0)


def _is_measured(part: Part) -> bool:
    return part.vram is not None and part.vram.basis == "measured" and part.ram.basis == "measured"
