"""Pane 3: the workers of the selected run, each with its episodes over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from engine.store.records import EpisodeRow
from engine.store.strict_json import encode_indented
from tui import linking
from tui.actions import Fact
from tui.drawing import Piece, fit
from tui.lane_view import Cursor, LaneView, told
from tui.models import RunDetail, Snapshot, duration, headline_of
from tui.models_lanes import Block, Lanes, finished_blocks, lanes_of
from tui.models_scoring import scoring_line, wait_of, waiting_in, waits_text
from tui.panes.episode_columns import Line as Episode
from tui.panes.lane_lines import axis_line, detail_line, lane_line, legend_line, rare_outcomes, widths
from tui.screens.base import Copies
from tui.widgets.drawn import DrawnPane, Line

AROUND = 2
"""Lines that are no lane: the axis and the episode under the cursor."""


class LanesPane(DrawnPane):
    """linked: its cursor and that of the episodes follow each other."""

    scope = ("lanes",)
    opens = True

    def __init__(self) -> None:
        super().__init__()
        self.seen = LaneView()
        self.linked = True
        self._detail: RunDetail | None = None
        self._rows: Sequence[EpisodeRow] = ()
        self._finished: Mapping[int, tuple[Block, ...]] = {}
        self._start: datetime | None = None
        self._now = datetime.min

    def title(self, snapshot: Snapshot) -> list[Piece]:
        detail = snapshot.run
        if detail is None:
            return []
        report, left = detail.report, snapshot.left_sec.get(detail.run_id)
        summary = report.summary
        parts = [report.label or report.run_id, f"{summary.completed_count}/{summary.total_episodes}"]
        parts += [headline] if (headline := headline_of(report)) else []
        parts += [f"{duration(left)} left"] if left is not None else []
        parts += [report.cluster.told] if report.cluster is not None else []
        faults = [(" faults only", self.drawing.warn)] if self.seen.faults_only else []
        return [(f" {'  '.join(parts)}", self.drawing.dim), *faults]

    def show(self, snapshot: Snapshot) -> None:
        detail = snapshot.run
        if detail is None or self._detail is None or detail.run_id != self._detail.run_id:
            self.seen.zoom, self.seen.cursor = None, Cursor()
            self._rows, self._finished, self._start = (), {}, None
        self._detail, self._now = detail, snapshot.now
        self.seen.take(self._lanes(snapshot.now))
        self.changed()

    def _lanes(self, now: datetime) -> Lanes:
        detail = self._detail
        if detail is None:
            return Lanes()
        began_at = detail.report.summary.started_at
        if detail.rows is not self._rows or self._start is None:
            self._rows = detail.rows
            self._start, self._finished = finished_blocks(detail.rows, began_at, now)
        if self._start is None:
            return Lanes()
        progress = None if detail.report.is_over else detail.report.progress
        return lanes_of(self._finished, progress, self._start, now, began_at)

    def wanted_height(self, width: int) -> int | None:
        waiting = self._detail is not None and bool(waiting_in(self._detail.report))
        return max(3, len(self.seen.lanes.lanes) + AROUND + 1 + waiting)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        seen, drawing = self.seen, self.drawing
        parts = widths(width, seen.lanes.lanes)
        waiting = self._scoring_line(width)
        seen.cells, seen.rows = parts.track, height - AROUND - len(waiting)
        shown, hidden = seen.visible()
        if not shown:
            return [[(self._empty(), drawing.dim)]]
        lane, block, window = seen.lane, seen.block, seen.window
        lines: list[Line] = [axis_line(drawing, seen.lanes, window, parts)]
        for each in shown:
            here = self.active and each is lane
            chosen = block if here else None
            lines.append(lane_line(drawing, each, window, parts, seen.lanes, here, chosen))
        if hidden:
            lines.append([(f" {told(hidden)}", drawing.dim)])
        below = 1 + len(waiting)
        if height - len(lines) > below:
            legend = legend_line(drawing, width, rare_outcomes(seen.lanes))
            lines += [()] * (height - len(lines) - below - 1) + [legend]
        worker = lane.now if lane else None
        return [*lines, *waiting, detail_line(drawing, block, seen.lanes, worker, self._wait_of(block))]

    def _scoring_line(self, width: int) -> list[Line]:
        """What the finished episodes wait for; nothing where none does."""
        if self._detail is None:
            return []
        text = scoring_line(self._detail.rows, waiting_in(self._detail.report), self._now)
        style = self.drawing.marks["scoring"].style
        return [[(f" {fit(text, width - 1, cut=self.drawing.glyphs.cut)}", style)]] if text else []

    def _wait_of(self, block: Block | None) -> str:
        row, report = block.row if block else None, self._detail.report if self._detail else None
        if row is None or report is None or report.is_over:
            return ""
        waits = wait_of(row, report.progress)
        return waits_text(waits, self._now) if waits is not None else ""

    def _empty(self) -> str:
        if self._detail is None:
            return "no run is under the cursor"
        if self.seen.lanes.lanes:
            return "no worker stalls, and none has met a fault: F shows all"
        report = self._detail.report
        if report.status == "pending":
            return f"waits: {report.waits}" if report.waits else "it has not started yet"
        if report.progress is not None and report.progress.activity:
            return report.progress.activity
        waits = not self._detail.loaded and report.summary.completed_count
        return "reading…" if waits else "no episode has begun"

    def show_all(self) -> bool:
        hides = self.seen.faults_only
        if hides:
            self.seen.toggle_faults()
            self.changed()
        return hides

    def facts(self) -> set[Fact]:
        return {"faults", "row", "episode"} if self.seen.block is not None else {"faults"}

    async def do(self, action_id: str) -> bool:
        seen, page = self.seen, max(1, self.seen.rows - 1)
        moves: dict[str, Callable[[], None]] = {
            "lanes.previous_episode": lambda: seen.step(-1),
            "lanes.next_episode": lambda: seen.step(1),
            "lanes.screen_left": lambda: seen.screen(-1),
            "lanes.screen_right": lambda: seen.screen(1),
            "lanes.zoom_in": lambda: seen.zoom_by(1),
            "lanes.zoom_out": lambda: seen.zoom_by(-1),
            "lanes.now": seen.to_now,
            "global.down": lambda: seen.to_lane(1),
            "global.up": lambda: seen.to_lane(-1),
            "global.first": lambda: seen.to_lane(-len(seen.listed)),
            "global.last": lambda: seen.to_lane(len(seen.listed)),
            "global.page_down": lambda: seen.to_lane(page),
            "global.page_up": lambda: seen.to_lane(-page),
            "global.half_page_down": lambda: seen.to_lane(page // 2),
            "global.half_page_up": lambda: seen.to_lane(-(page // 2)),
            "global.faults": seen.toggle_faults,
        }
        if action_id in moves:
            moves[action_id]()
            self.changed()
            linking.lanes_moved(self.centre, seen.block)
        elif action_id == "global.open" and self._detail is not None and seen.block is not None:
            run = linking.run_at(self._detail.report.path)
            opening = linking.open_log(self.centre, run, linking.line_of(seen.block))
            self.centre.spawn(opening, opens=True)
        else:
            return False
        return True

    def go_to(self, episode: Episode) -> None:
        """The cursor goes to an episode, where a lane has it."""
        if isinstance(episode, EpisodeRow):
            self.seen.to_episode(episode)
        else:
            self.seen.to_worker(episode.worker_id)
        self.changed()

    def copies(self) -> Copies:
        block, detail = self.seen.block, self._detail
        if block is None or detail is None:
            return {}
        line = detail_line(self.drawing, block, self.seen.lanes, None)
        copies = {
            "copy.id": lambda: f"{detail.run_id}/{block.episode_index}",
            "copy.path": lambda: f"{detail.report.path}/episodes",
            "copy.row": lambda: "".join(text for text, _ in line),
        }
        if (row := block.row) is not None:
            copies["copy.json"] = lambda: encode_indented(row).decode()
            if error := row.error:
                copies["copy.error"] = lambda: error
        return copies
