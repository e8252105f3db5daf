"""The workers of a run over time: one lane each, its episodes as blocks. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from engine.store.outcomes import outcome_of
from engine.store.records import EpisodeRow, Progress, WorkerProgress
from tui.models import age_sec, stalled_workers
from tui.theme import OUTCOMES, Outcome

ALIVE = ("starting", "resetting", "running", "waiting")
FAULTS: frozenset[Outcome] = frozenset(("crash", "misconfigured", "timeout"))
_RANK = {outcome: rank for rank, outcome in enumerate(OUTCOMES)}

STEPS_SEC = (
    *(0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0),
    *(20.0, 30.0, 40.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 450.0, 600.0, 900.0, 1200.0, 1800.0, 2700.0),
    *(3600.0, 5400.0, 7200.0, 14400.0, 28800.0, 86400.0),
)
"""What a cell of the time axis may stand for."""


class Block(NamedTuple):
    """An episode on its lane, in seconds after the run's start. row: None while it is played; stalled_from:
    since when its worker does nothing."""

    worker_id: int
    episode_index: int
    outcome: Outcome
    start: float
    end: float
    row: EpisodeRow | None = None
    stalled_from: float | None = None

    @property
    def repeat(self) -> int:
        return self.row.repeat if self.row else 1


@dataclass(frozen=True)
class Lane:
    """A worker. blocks: in the order of time. idle_sec: since when it is where it is now."""

    worker_id: int
    blocks: tuple[Block, ...]
    now: WorkerProgress | None = None
    idle_sec: float | None = None
    stalled: bool = False

    @cached_property
    def faults(self) -> int:
        return sum(block.outcome in FAULTS for block in self.blocks)

    @property
    def healthy(self) -> bool:
        return not self.stalled and not self.faults

    def at(self, moment: float) -> int:
        """The place of the block that is nearest to a moment; -1 where there is none."""
        found = bisect_right(self.blocks, moment, key=lambda block: block.start) - 1
        if found + 1 < len(self.blocks):
            later = self.blocks[found + 1].start
            if found < 0 or moment - self.blocks[found].end > later - moment:
                return found + 1
        return found


@dataclass(frozen=True)
class Lanes:
    """start: of the run, None where nothing has begun. span: seconds from there to now, or to its end."""

    lanes: tuple[Lane, ...] = ()
    start: datetime | None = None
    span: float = 0.0


def finished_blocks(
    rows: Sequence[EpisodeRow], began_at: str | None, now: datetime
) -> tuple[datetime | None, dict[int, tuple[Block, ...]]]:
    """When the run's first attempt began, in ``now``'s time zone, and each worker's blocks, from the rows
    whose times can be read. began_at: of the newest attempt."""
    timed: list[tuple[float, float, EpisodeRow]] = []
    for row in rows:
        started, finished = _time(row.started_at), _time(row.finished_at)
        if started is not None and finished is not None:
            timed.append((started.timestamp(), finished.timestamp(), row))
    begun = _time(began_at)
    first = min([*(began for began, _, _ in timed), *([begun.timestamp()] if begun else [])], default=None)
    if first is None:
        return None, {}
    found: defaultdict[int, list[Block]] = defaultdict(list)
    for began, ended, row in sorted(timed, key=lambda each: each[:2]):
        found[row.worker_id].append(
            Block(
                row.worker_id,
                row.episode_index,
                outcome_of(row),
                began - first,
                max(began, ended) - first,
                row,
            )
        )
    blocks = {worker: tuple(blocks) for worker, blocks in found.items()}
    return datetime.fromtimestamp(first, now.tzinfo), blocks


def lanes_of(
    finished: Mapping[int, tuple[Block, ...]],
    progress: Progress | None,
    start: datetime,
    now: datetime,
    began_at: str | None = None,
) -> Lanes:
    """All lanes by the workers' numbers. ``progress``: of a run that goes on, None of one that is over.
    began_at: when its attempt began."""
    stalled = {worker.worker_id for worker, _ in stalled_workers(progress, now)}
    until = max(0.0, (now - start).total_seconds())
    since = max(0.0, _seconds(began_at or "", start) or 0.0)
    alive = {worker.worker_id: worker for worker in (progress.workers if progress else ())}
    lanes = []
    for worker_id in sorted(finished.keys() | alive.keys()):
        blocks, worker = finished.get(worker_id, ()), alive.get(worker_id)
        idle = age_sec(worker.since, now) if worker is not None and worker.state in ALIVE else None
        lane = Lane(worker_id, blocks, worker, idle, worker_id in stalled)
        if worker is not None and worker.state in ALIVE and worker.episode_index is not None:
            lane = replace(lane, blocks=(*blocks, _going(lane, worker.episode_index, since, until)))
        lanes.append(lane)
    ended = max((block.end for lane in lanes for block in lane.blocks), default=0.0)
    return Lanes(tuple(lanes), start, until if progress else ended)


def worst_first(lanes: Sequence[Lane], rows: int) -> list[Lane]:
    """As they are where all have room; else the stalled ones first, then those with most faults."""
    if len(lanes) <= rows:
        return list(lanes)
    return sorted(lanes, key=lambda lane: (not lane.stalled, -lane.faults, lane.worker_id))


@dataclass(frozen=True)
class Window:
    """The part of the time that is seen: ``cells`` of ``step`` seconds from ``first`` on."""

    first: float
    step: float
    cells: int

    @property
    def last(self) -> float:
        return self.first + self.step * self.cells

    def cell(self, moment: float) -> int:
        """The cell that a moment falls into; it may lie outside."""
        return math.floor((moment - self.first) / self.step + 1e-9)

    def span(self, block: Block) -> tuple[int, int]:
        """The cells of a block, as a range; each block has at least one."""
        return self.spans((block,))[0]

    def spans(self, blocks: Iterable[Block]) -> list[tuple[int, int]]:
        """Those of each."""
        first, step, floor, ceil = self.first, self.step, math.floor, math.ceil
        found = []
        for block in blocks:
            left = floor((block.start - first) / step + 1e-9)
            right = ceil((block.end - first) / step - 1e-9)
            found.append((left, right if right > left else left + 1))
        return found

    def shows(self, block: Block) -> bool:
        left, right = self.span(block)
        return right > 0 and left < self.cells


def whole(span: float, cells: int) -> Window:
    """The whole run, at the finest of STEPS_SEC that has room for it."""
    cells = max(1, cells)
    step = next((step for step in STEPS_SEC if step * cells > span), STEPS_SEC[-1])
    return Window(0.0, step, cells)


def zoomed(window: Window, by: int, about: float) -> Window:
    """Half as much time (``by`` 1), a quarter (2), twice as much (-1), about; with ``about`` where it was."""
    wanted = window.step * 0.5**by
    step = min(STEPS_SEC, key=lambda step: abs(math.log(step / wanted)))
    share = (about - window.first) / (window.step * window.cells)
    return aligned(about - share * step * window.cells, step, window.cells)


def aligned(first: float, step: float, cells: int) -> Window:
    """Moved to a whole number of steps, so that blocks keep their cells while it moves."""
    return Window(max(0.0, math.floor(first / step + 1e-9) * step), step, max(1, cells))


def following(window: Window, now: float) -> Window:
    """With ``now`` in it. It moves by a quarter of its width, since each time all is sent."""
    if window.first <= now < window.last:
        return window
    ahead = window.step * max(1, window.cells // 4)
    return aligned(now + ahead - window.step * window.cells, window.step, window.cells)


def with_moment(window: Window, moment: float) -> Window:
    """Moved, where it must be, so that the moment is seen."""
    if window.first <= moment < window.last:
        return window
    return aligned(moment - window.step * window.cells / 2, window.step, window.cells)


def cells_of(lane: Lane, window: Window) -> list[Outcome | None]:
    """What each cell shows: the worst outcome of the episodes in it; None where there are none."""
    found: list[Outcome | None] = [None] * window.cells
    for block, (left, right) in zip(lane.blocks, window.spans(lane.blocks), strict=True):
        idle = right if block.stalled_from is None else max(left, window.cell(block.stalled_from))
        for cell in range(max(0, left), min(right, window.cells)):
            outcome: Outcome = block.outcome if cell < idle else "stalled"
            known = found[cell]
            if known is None or _RANK[outcome] < _RANK[known]:
                found[cell] = outcome
    return found


def own_cells(lane: Lane, window: Window) -> Iterable[tuple[int, Block, int, int]]:
    """Place and block, and as a range the cells that are seen of it and that no other has a part of."""
    taken = 0
    spans = window.spans(lane.blocks)
    for place, (left, right) in enumerate(spans):
        since = left if left > taken else taken
        taken = max(taken, right)
        until = min(right, window.cells, spans[place + 1][0] if place + 1 < len(spans) else window.cells)
        if since < until:
            yield place, lane.blocks[place], since, until


def axis_labels(window: Window, start: datetime, apart: int = 12) -> list[tuple[int, str]]:
    """(cell, wall clock time), at round times, no two nearer than ``apart`` cells."""
    least = window.step * apart
    every = next((step for step in _ROUND_SEC if step >= least), _ROUND_SEC[-1])
    offset = start.hour * 3600 + start.minute * 60 + start.second + start.microsecond / 1e6
    first = math.ceil((window.first + offset) / every) * every - offset
    labels = []
    for place in range(window.cells // apart + 2):
        cell = window.cell(first + place * every)
        if cell >= window.cells:
            break
        second = (offset + first + place * every) % 86400
        labels.append((cell, _clock(second, with_seconds=every < 60)))
    return labels


_ROUND_SEC = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def _clock(second: float, *, with_seconds: bool) -> str:
    whole_second = round(second)
    minutes = whole_second // 60
    text = f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"
    return f"{text}:{whole_second % 60:02d}" if with_seconds else text


def _going(lane: Lane, episode_index: int, since: float, until: float) -> Block:
    """The episode that is played now. It is taken to have begun where the worker's last one ended."""
    began = max(lane.blocks[-1].end if lane.blocks else 0.0, since)
    idle_from = until - lane.idle_sec if lane.stalled and lane.idle_sec is not None else None
    return Block(lane.worker_id, episode_index, "running", min(began, until), until, stalled_from=idle_from)


def _time(text: str | None) -> datetime | None:
    """None for what is no time, or has no offset."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else None


def _seconds(text: str, start: datetime) -> float | None:
    return (found - start).total_seconds() if (found := _time(text)) else None
