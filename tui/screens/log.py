"""The log browser: an episode's firings, the one under the cursor whole, and what the agent saw then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Container

from engine.store.rundir import runs_folder
from tui import linking
from tui.actions import Fact
from tui.arrangement import GRID_WIDTH
from tui.drawing import Drawing
from tui.episode.details import Detail, Wanted
from tui.episode.headings import heading_lines
from tui.episode.inks import InkedLine, inked
from tui.episode.log_layout import Part, log_layout
from tui.episode.places import Place, PlaceError, attempt_of, place_by
from tui.episode.session import EVERY_SEC, LogSession
from tui.models import Snapshot
from tui.screens.base import Copies, Pane, View
from tui.screens.log_actions import carry_out
from tui.screens.log_tools import keep_position, log_copies
from tui.widgets.episode_bar import EpisodeBar
from tui.widgets.log_view import LogView
from tui.widgets.record_view import RecordView
from tui.widgets.thumbnail import Thumbnail

_TITLES: dict[Part, str] = {"rows": "Log", "record": "Firing", "frame": "Image"}
SHORT = 30
"""Lines below which the episode has two, not three."""


class _Area(Container):
    """Of the parts, which lie anew in it when it has another size: also when the lines over it are more."""

    def __init__(self, resized: Callable[[], None], *parts: Pane) -> None:
        super().__init__(*parts)
        self._resized = resized

    def on_resize(self) -> None:
        self.call_after_refresh(self._resized)


class LogScreen(View):
    """target: ``run/episode`` (a folder's name, or an index), or the path of a folder or a log.

    at_error: with the cursor at the first error; otherwise where the log was left, if it was seen before.
    """

    view_name = "log"
    heading = "log"
    DEFAULT_CSS = """
    LogScreen Container { width: 100%; height: 1fr; }
    LogScreen Container Pane { position: absolute; display: none; border: none; }
    LogScreen Pane.framed { border: round $foreground 35%; border-title-color: $foreground 75%; }
    LogScreen Pane.ruled { border-top: solid $foreground 35%; border-title-color: $foreground 75%; }
    LogScreen Pane.framed.active { border: round $accent; border-title-color: $accent; }
    LogScreen Pane.ruled.active { border-top: solid $accent; border-title-color: $accent; }
    """

    def __init__(self, target: str = "", *, at_error: bool = False, every: float = EVERY_SEC) -> None:
        super().__init__(target)
        self.session = LogSession(self._changed, every)
        self.bar = EpisodeBar()
        self.rows_view = LogView(self.session, self.moved)
        self.record = RecordView(self._arranged)
        self.frame = Thumbnail(self.bars_changed)
        self.parts: dict[Part, Pane] = {"rows": self.rows_view, "record": self.record, "frame": self.frame}
        self.area = _Area(self.place_parts, *self.parts.values())
        self.active: Part = "rows"
        self.zoomed = self.enlarged = False
        self.wrap: bool = True
        self.whole: bool = False
        self.changes: bool = False
        self._at_error = at_error
        self._attempt = 0
        self._has_frame = self._reading = self._bars_are_due = False

    def body(self) -> ComposeResult:
        yield self.bar
        yield self.area

    def on_mount(self) -> None:
        self.activate("rows")
        self.centre.spawn(self._open_target())

    async def on_unmount(self) -> None:
        await self.session.close()

    @property
    def pane(self) -> Pane:
        return self.parts[self.active]

    @property
    def drawing(self) -> Drawing:
        return self.centre.drawing

    @property
    def detail(self) -> Detail | None:
        return self.record.detail

    @property
    def shown_run(self) -> str:
        """Nothing where it lies in another root."""
        run = self.session.place.run if self.session.place is not None else None
        here = runs_folder(self.centre.control.root)
        return run.run_id if run is not None and run.path.resolve().parent == here.resolve() else ""

    def crumbs(self) -> str:
        place = self.session.place
        if place is None:
            return self.target
        return (
            f"{place.run.run_id} {place.name}"
            if place.run
            else str(place.log if not place.is_whole else place.folder)
        )

    def facts(self) -> set[Fact]:
        found = super().facts() | self.rows_view.facts()
        found |= {"opens", "filters", "faults"}
        place = self.session.place
        row = self.session.ending.row
        if row is not None and row.scoring != "none":
            found.add("scored")
        if place is not None:
            found |= {"episode", "row"} if row else {"episode"}
            if self.session.rows is not None:
                found.add("file")
        if self.detail is not None and self.detail.images:
            found.add("image")
        return found

    async def open(self, place: Place, *, at_error: bool = True) -> None:
        """Show another episode here."""
        self.target = place.target
        self.record.give(None, "")
        self.rows_view.forget()
        self.whole = self._has_frame = self.enlarged = False
        self.frame.give((), "")
        self._attempt = await asyncio.to_thread(attempt_of, place)
        left = None if at_error else self.centre.state.logs.get(place.target)
        kept = left is not None and left.attempt == self._attempt
        await self.session.open(place, left.offset if left is not None and kept else None)
        if place.run is not None:
            linking.log_opened(self.centre, place.run.run_id, self.session.ending.row)

    async def do(self, action_id: str) -> bool:
        done = await carry_out(self, action_id) or await super().do(action_id)
        self.bars_changed()
        return done

    def copies(self) -> Copies:
        return log_copies(self.session, self.detail, self.centre.rest)

    def show(self, snapshot: Snapshot) -> None:
        self.bars_changed()

    def bars_changed(self) -> None:
        """Once for all that a key changes."""
        if not self._bars_are_due:
            self._bars_are_due = True
            self.call_later(self._paint_bars)

    def _paint_bars(self) -> None:
        self._bars_are_due = False
        super().bars_changed()
        self._title_parts()

    def activate(self, part: Part) -> None:
        """Give a part the keys."""
        self.active = part
        for name, pane in self.parts.items():
            pane.active = name == part
            pane.set_class(pane.active, "active")
            pane.redraw()
        self.place_parts()

    def place_parts(self) -> None:
        """Put the parts where they belong now."""
        width, height = self.area.size
        if width <= 0 or height <= 0:
            return
        boxes = log_layout(
            width, height, self.active, frame=self._has_frame, zoomed=self.zoomed, enlarged=self.enlarged
        )
        for part, pane in self.parts.items():
            box = boxes.get(part)
            pane.display = box is not None
            if box is not None:
                alone = len(boxes) == 1
                pane.set_class(width >= GRID_WIDTH and not alone, "framed")
                pane.set_class(width < GRID_WIDTH or alone, "ruled")
                pane.styles.offset = (box.x, box.y)
                pane.styles.width, pane.styles.height = box.width, box.height
        self.call_after_refresh(self._arranged)

    def head_lines(self, place: Place) -> list[InkedLine]:
        """Over everything."""
        verdict = self.session.verdict
        return heading_lines(place, self.session.ending, verdict.text if verdict else "")

    def moved(self) -> None:
        """The cursor may stand on another row."""
        keep_position(self.centre, self.session, self._attempt)
        self.rows_view.keep_visible()
        self.look_at_row()
        self.bars_changed()

    def look_at_row(self) -> None:
        """Read the row under the cursor, whole; what is wanted meanwhile is read next."""
        if not self._reading and self._wanted() is not None:
            self._reading = True
            self.centre.spawn(self._read())

    def set_detail(
        self, *, whole: bool | None = None, wrap: bool | None = None, changes: bool | None = None
    ) -> None:
        """How the firing is shown."""
        self.whole = self.whole if whole is None else whole
        self.wrap = self.wrap if wrap is None else wrap
        self.changes = self.changes if changes is None else changes
        self.look_at_row()

    async def _open_target(self) -> None:
        try:
            place = await asyncio.to_thread(place_by, self.target, self.centre.control.root)
        except (PlaceError, OSError) as error:
            self.bar.say([inked(str(error), "bad")])
            self.record.give(None, "nothing to show")
            return
        await self.open(place, at_error=self._at_error)

    def _changed(self) -> None:
        """The session has something new."""
        if not self.is_attached:
            return
        place = self.session.place
        if place is not None:
            self.bar.most = 3 if self.size.height >= SHORT else 2
            self.bar.say(self.head_lines(place))
        self.moved()

    def _wanted(self) -> Wanted | None:
        """What is to be read, if it is not what is shown."""
        rows = self.session.rows
        if rows is None or self.session.details is None or rows.at >= rows.index.rows:
            return None
        width = (self.record.content_size.width or self.area.size.width) - 2
        same = self.detail is not None and self.detail.wanted.row == rows.at
        self.whole = self.whole and same
        wanted = Wanted(rows.at, max(8, width), self.wrap, self.whole, self.changes)
        return None if self.detail is not None and self.detail.wanted == wanted else wanted

    async def _read(self) -> None:
        try:
            while (wanted := self._wanted()) is not None and self.is_attached:
                details, place = self.session.details, self.session.place
                assert details is not None
                try:
                    detail = await asyncio.to_thread(details.detail, wanted)
                except OSError as error:
                    self.record.give(None, f"the log cannot be read: {error.strerror or error}")
                    break
                if place is self.session.place and details is self.session.details:
                    self._take(detail)
        finally:
            self._reading = False

    def _take(self, detail: Detail) -> None:
        self.record.give(detail)
        if detail.images and not self._has_frame:
            self._has_frame = True
            self.place_parts()
        self.give_frame()
        self.bars_changed()

    def give_frame(self) -> None:
        """The images of the firing, where they are to be drawn."""
        detail, preferences = self.detail, self.centre.preferences
        if detail is not None:
            off = (
                "images are off"
                if preferences.images == "off"
                else "low bandwidth"
                if self.drawing.slow
                else ""
            )
            why = f"{off}: i shows it" if off and not self.enlarged else ""
            self.frame.give(detail.images, detail.borrowed, why)

    def _arranged(self) -> None:
        self.rows_view.keep_visible()
        self.look_at_row()
        self.bars_changed()

    def _title_parts(self) -> None:
        for part, pane in self.parts.items():
            pieces = pane.title(self.centre.snapshot)
            pane.set_title(f"{_TITLES[part]}{''.join(text for text, _ in pieces)}")
