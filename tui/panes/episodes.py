"""Pane 4: the episodes of the selected run, those that are played now included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from engine.control.reports import RunReport
from engine.store.outcomes import is_fault
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.text import one_line
from tui import linking
from tui.actions import Fact
from tui.drawing import Piece
from tui.episode.places import Place, PlaceError
from tui.filtering import FilterError
from tui.models import RunDetail, Snapshot, age_sec, duration
from tui.models_scoring import wait_of, waiting_in
from tui.panes.episode_columns import (
    Going,
    Line,
    Shape,
    episode_columns,
    is_doubtful,
    line_id,
    shape_of,
    tell,
)
from tui.panes.episode_copies import episode_copies
from tui.screens.base import Copies
from tui.screens.log_tools import open_file
from tui.table_model import TableModel
from tui.widgets.virtual_table import VirtualTable

_OPENS: Mapping[str, str] = {"episodes.scores": "scores", "episodes.trace": "trace"}
"""Action → the view of the episode that it opens."""


class EpisodesPane(VirtualTable[Line]):
    """Its rows are new only when an episode has begun or ended; the steps of those that go on are drawn as
    they are at the time."""

    scope = ("episodes",)
    opens = True

    def __init__(self) -> None:
        self._detail: RunDetail | None = None
        self._shape = Shape()
        self._now = datetime.min
        self._finished: Sequence[EpisodeRow] = ()
        self._going: tuple[Going, ...] = ()
        self._wanted_filter = ""
        self._drilled = False
        self.following = False
        columns = episode_columns(self._shape, self._step_of, self._wait_of, lambda: self.drawing)
        super().__init__(TableModel(columns, line_id, is_fault=_is_fault, tell=tell))

    def title(self, snapshot: Snapshot) -> list[Piece]:
        going = f", {len(self._going)} played now" if self._going else ""
        pieces: list[Piece] = [(f" {self.counts()}{going}", self.drawing.dim), *self.filter_pieces()]
        return [*pieces, (" following", self.drawing.good)] if self.following else pieces

    def show(self, snapshot: Snapshot) -> None:
        detail = snapshot.run
        before = self._detail.run_id if self._detail is not None else None
        another = before != (detail.run_id if detail is not None else None)
        if another and before is not None:
            self._drilled = False
        self._detail, self._now = detail, snapshot.now
        going = _going(detail)
        finished = detail.rows if detail is not None else ()
        if not another and finished is self._finished and going == self._going:
            if going or (detail is not None and waiting_in(detail.report)):
                self.redraw()  # their steps, and what they wait for
            return
        self._finished, self._going = finished, going
        self._take((*finished, *going), detail)

    def _take(self, lines: Sequence[Line], detail: RunDetail | None) -> None:
        columns, shape = None, shape_of(lines)
        if shape != self._shape:
            self._shape = shape
            columns = episode_columns(shape, self._step_of, self._wait_of, lambda: self.drawing)
        self.set_rows(lines, columns)
        if self._wanted_filter and self._finished:
            self._try_wanted_filter()
        if self._drilled and detail is not None and detail.loaded:
            self.drill_in()
        elif self.following and self._finished:
            self.go_to_id(line_id(self._finished[-1]))

    def set_filter(self, typed: str) -> None:
        """Before there are rows, nobody knows the metrics that a filter may name: then it waits for them."""
        if not self._finished and typed:
            self._wanted_filter = typed
            return
        self._wanted_filter = ""
        super().set_filter(typed)

    def _try_wanted_filter(self) -> None:
        try:
            self.set_filter(self._wanted_filter)
        except FilterError as error:
            self.centre.tell(f"the filter of the episodes was dropped: {error}")

    def empty(self) -> str:
        if self.model.rows:
            return "no episode passes the filter: esc clears it"
        if self._detail is None:
            return "no run is under the cursor"
        report = self._detail.report
        if not self._detail.loaded and report.summary.completed_count:
            return "reading…"
        return one_line(report.summary.error or "") or "no episode has begun yet"

    def drill_in(self) -> None:
        """To the first that failed, as soon as the rows are there."""
        self._drilled = not self._finished
        place = self._next_place(0, _is_fault, include=True)
        self.go_to(place if place is not None else 0)

    def moved(self) -> None:
        if self.active:
            linking.episodes_moved(self.centre, self.model.current)

    def facts(self) -> set[Fact]:
        found = super().facts()
        line = self.model.current
        if line is not None:
            found.add("episode")
        if isinstance(line, EpisodeRow) and line.scoring != "none":
            found.add("scored")
        return found

    def copies(self) -> Copies:
        line = self.model.current
        if line is None or self._detail is None:
            return {}
        return episode_copies(self._detail.report, line, self.model, self.centre.rest)

    async def do(self, action_id: str) -> bool:
        model = self.model
        jumps: dict[str, tuple[Callable[[Line], bool], bool]] = {
            "episodes.next_error": (_is_fault, True),
            "episodes.previous_error": (_is_fault, False),
            "episodes.next_warning": (is_doubtful, True),
            "episodes.previous_warning": (is_doubtful, False),
        }
        if action_id == "global.open":
            self._at_current(self._open_log)
        elif action_id in _OPENS:
            self._at_current(lambda place: self.centre.open_view(_OPENS[action_id], place.target))
        elif action_id == "episodes.editor":
            self._at_current(lambda place: self.centre.spawn(open_file(self.centre, place.log)))
        elif action_id in jumps:
            wanted, forward = jumps[action_id]
            found = self._next_place(model.at, wanted, forward=forward)
            if found is None:
                self.centre.tell("there is none further " + ("down" if forward else "up"))
            else:
                self.go_to(found)
        elif action_id in ("episodes.previous_episode", "episodes.next_episode"):
            self.go_to(model.at + (1 if action_id == "episodes.next_episode" else -1))
        elif action_id == "episodes.follow":
            self.following = not self.following
            if self.following and self._finished:
                self.go_to_id(line_id(self._finished[-1]))
        else:
            return await super().do(action_id)
        return True

    def _next_place(
        self, at: int, wanted: Callable[[Line], bool], *, forward: bool = True, include: bool = False
    ) -> int | None:
        """The nearest place whose row is wanted."""
        ahead = range(at if include else at + 1, len(self.model))
        places = ahead if forward else range(at - 1, -1, -1)
        return next((place for place in places if wanted(self.model.row(place))), None)

    def _at_current(self, use: Callable[[Place], object]) -> None:
        """With the place of the episode under the cursor, which is looked for in a thread."""
        line, detail = self.model.current, self._detail
        if line is not None and detail is not None:
            self.centre.spawn(self._find(detail.report, line, use), opens=True)

    async def _find(self, report: RunReport, line: Line, use: Callable[[Place], object]) -> None:
        try:
            place = await asyncio.to_thread(linking.place_of_line, RunDir(Path(report.path)), line)
        except PlaceError as error:
            self.centre.tell(str(error), severity="warning")
            return
        use(place)

    def _open_log(self, place: Place) -> None:
        if place.run is not None:
            self.centre.open_log(place.run.run_id, place.folder.name)

    def _wait_of(self, row: EpisodeRow) -> str:
        """What it waits for, now."""
        report = self._detail.report if self._detail is not None else None
        waits = wait_of(row, report.progress) if report is not None and not report.is_over else None
        return f"{waits.waits_for} {duration(age_sec(waits.since, self._now))}" if waits is not None else ""

    def _step_of(self, going: Going) -> str:
        """How far it is, now."""
        progress = self._detail.report.progress if self._detail is not None else None
        for worker in progress.workers if progress else ():
            if worker.worker_id == going.worker_id and worker.episode_index == going.episode_index:
                return f"{worker.step}/{worker.budget}" if worker.budget else str(worker.step)
        return ""


def _going(detail: RunDetail | None) -> tuple[Going, ...]:
    progress = detail.report.progress if detail is not None and not detail.report.is_over else None
    return tuple(
        Going(worker.episode_index, worker.task, worker.worker_id)
        for worker in (progress.workers if progress else ())
        if worker.episode_index is not None and worker.state not in ("done", "starting")
    )


def _is_fault(line: Line) -> bool:
    return not isinstance(line, Going) and is_fault(line)
