"""What is seen of the lanes: which part of the time, which workers, the episode under the cursor. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.store.records import EpisodeRow
from tui.models_lanes import (
    Block,
    Lane,
    Lanes,
    Window,
    aligned,
    following,
    whole,
    with_moment,
    worst_first,
    zoomed,
)


@dataclass(frozen=True)
class Cursor:
    """On an episode of a worker. now: on whatever it plays. moment: in the middle of the episode, for where
    it is no more."""

    worker_id: int = -1
    episode_index: int = -1
    repeat: int = 1
    moment: float = 0.0
    now: bool = True


class LaneView:
    """zoom: the part of the time that is seen; None: all of it. cells: of a lane's track. rows: lines that
    there are for lanes."""

    def __init__(self) -> None:
        self.lanes = Lanes()
        self.cursor = Cursor()
        self.zoom: Window | None = None
        self.faults_only = False
        self.cells = self.rows = 1
        self.top = 0

    def take(self, lanes: Lanes) -> None:
        """As it is now. The part that is seen follows the time while the cursor is on what is played."""
        self.lanes = lanes
        if self.zoom is not None and self.cursor.now:
            self.zoom = following(self.window, lanes.span)

    @property
    def window(self) -> Window:
        if self.zoom is None:
            return whole(self.lanes.span, self.cells)
        return Window(self.zoom.first, self.zoom.step, self.cells)

    @property
    def listed(self) -> list[Lane]:
        """In the order of their lines, also those for which there is no room."""
        lanes = [lane for lane in self.lanes.lanes if not (self.faults_only and lane.healthy)]
        return worst_first(lanes, self.rows)

    def visible(self) -> tuple[list[Lane], list[Lane]]:
        """Those that have a line, the cursor's among them, and those that have none."""
        listed, lane = self.listed, self.lane
        room = max(1, self.rows if len(listed) <= self.rows else self.rows - 1)  # a line tells of the rest
        at = listed.index(lane) if lane is not None else 0
        self.top = max(0, min(self.top, at, len(listed) - room), at - room + 1)
        end = self.top + room
        return listed[self.top : end], [*listed[: self.top], *listed[end:]]

    @property
    def lane(self) -> Lane | None:
        """The one under the cursor."""
        listed = self.listed
        found = (lane for lane in listed if lane.worker_id == self.cursor.worker_id)
        return next(found, listed[0] if listed else None)

    @property
    def place(self) -> int:
        """Of the episode under the cursor, on its lane; -1 where there is none."""
        lane = self.lane
        if lane is None:
            return -1
        if self.cursor.now:
            return len(lane.blocks) - 1
        for place, block in enumerate(lane.blocks):
            if block.episode_index == self.cursor.episode_index and block.repeat == self.cursor.repeat:
                return place
        return lane.at(self.cursor.moment)

    @property
    def block(self) -> Block | None:
        """The episode under the cursor."""
        lane, place = self.lane, self.place
        return lane.blocks[place] if lane is not None and place >= 0 else None

    @property
    def moment(self) -> float:
        """Of the cursor."""
        return self.lanes.span if self.cursor.now else self.cursor.moment

    def step(self, by: int) -> None:
        """Along the lane, by episodes."""
        if (lane := self.lane) is not None:
            self._put(lane, self.place + by)

    def to_lane(self, by: int) -> None:
        """To another worker, at the same time."""
        listed, lane, moment, now = self.listed, self.lane, self.moment, self.cursor.now
        if lane is None:
            return
        target = listed[min(len(listed) - 1, max(0, listed.index(lane) + by))]
        self._put(target, len(target.blocks) - 1 if now else target.at(moment))

    def screen(self, by: int) -> None:
        """Along the lane, by what is seen."""
        seen, lane = self.window, self.lane
        if lane is None:
            return
        moment = min(self.lanes.span, max(0.0, self.moment + by * seen.step * seen.cells))
        if self.zoom is not None:
            self.zoom = aligned(seen.first + by * seen.step * seen.cells, seen.step, seen.cells)
        self._put(lane, lane.at(moment))
        self.cursor = replace(self.cursor, moment=moment, now=moment >= self.lanes.span)

    def zoom_by(self, by: int) -> None:
        """Narrower (positive) or wider, about the cursor, up to all of it."""
        fits, narrower = whole(self.lanes.span, self.cells), zoomed(self.window, by, self.moment)
        self.zoom = None if narrower.step >= fits.step else narrower
        if self.cursor.now:
            self.take(self.lanes)

    def to_now(self) -> None:
        """To what the worker plays now, and stay there."""
        if (lane := self.lane) is not None:
            self._put(lane, len(lane.blocks) - 1)
            self.cursor = Cursor(lane.worker_id)
            self.take(self.lanes)

    def to_worker(self, worker_id: int) -> None:
        """To what this one plays now."""
        if any(lane.worker_id == worker_id for lane in self.listed):
            self.cursor = Cursor(worker_id)
            self.take(self.lanes)

    def to_episode(self, row: EpisodeRow) -> bool:
        """To a finished episode. False where no lane has it."""
        for lane in self.listed:
            for place, block in enumerate(lane.blocks):
                if block.row is not None and block.row.identity == row.identity:
                    self._put(lane, place)
                    return True
        return False

    def toggle_faults(self) -> None:
        self.faults_only = not self.faults_only

    def _put(self, lane: Lane, place: int) -> None:
        """The cursor on a block, which is seen then."""
        if not lane.blocks:
            self.cursor = Cursor(lane.worker_id, moment=self.moment, now=self.cursor.now)
            return
        block = lane.blocks[min(max(0, place), len(lane.blocks) - 1)]
        middle = (block.start + block.end) / 2
        now = block.row is None
        self.cursor = Cursor(lane.worker_id, block.episode_index, block.repeat, middle, now)
        if self.zoom is not None and not self.window.shows(block):
            self.zoom = with_moment(self.window, self.moment)


def told(lanes: Sequence[Lane]) -> str:
    """Of lanes that are not seen: ``+17 healthy``, ``+3 with faults, +14 healthy``; nothing for none."""
    healthy = sum(lane.healthy for lane in lanes)
    parts = [(len(lanes) - healthy, "with faults"), (healthy, "healthy")]
    return ", ".join(f"+{count} {what}" for count, what in parts if count)
