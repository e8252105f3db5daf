"""Two to four runs side by side, paired by episode, and from each episode that flipped into both logs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from engine.control.comparing import CompareReport
from engine.control.reports import ControlError
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir, runs_folder
from tui import linking
from tui.arrangement import GRID_WIDTH, Box
from tui.models import Snapshot
from tui.models_compare import Flipped
from tui.panes.compare import DifferencesPane, FlippedPane, RunsCompared, TasksPane, VerdictPane
from tui.screens.base import Pane, View
from tui.widgets.menu import Item, Menu

if TYPE_CHECKING:
    from tui.app import ControlCentre

RULE = 1
"""A line with the title, above each part."""


async def open_compare(centre: ControlCentre) -> None:
    """``C``: the runs chosen by ``c``."""
    if centre.view is None or centre.view.view_name != "compare":
        centre.open_view("compare", ",".join(centre.compared))


class CompareView(View):
    """target: run ids with commas between them; each is compared with the first."""

    view_name = "compare"
    heading = "compare"
    DEFAULT_CSS = """
    CompareView Container { width: 100%; height: 1fr; }
    CompareView Container Pane { position: absolute; }
    CompareView Pane { border-top: solid $foreground 35%; border-title-color: $foreground 75%; }
    CompareView Pane.active { border-top: solid $accent; border-title-color: $accent; }
    """

    def __init__(self, target: str = "") -> None:
        super().__init__(target)
        self.report: CompareReport | None = None
        self.runs = RunsCompared()
        self.differences = DifferencesPane(self._moved)
        self.verdict = VerdictPane()
        self.tasks = TasksPane()
        self.flipped = FlippedPane()
        self._parts: dict[str, Pane] = {
            "Runs": self.runs,
            "Differences": self.differences,
            "Verdict": self.verdict,
            "Tasks": self.tasks,
            "Flipped": self.flipped,
        }
        self._active: Pane = self.differences

    def body(self) -> ComposeResult:
        yield Container(*self._parts.values())

    @property
    def pane(self) -> Pane:
        return self._active

    def crumbs(self) -> str:
        count = self.target.count(",") + 1
        return f"compare {count} runs, paired by episode"

    def on_mount(self) -> None:
        self._activate(self.differences)
        self.centre.spawn(self._read())

    def on_resize(self, event: events.Resize) -> None:
        self._place()

    def show(self, snapshot: Snapshot) -> None:
        super().show(snapshot)
        self._name_parts()

    async def do(self, action_id: str) -> bool:
        parts: list[Pane] = [self.differences, self.tasks, self.flipped, self.runs]
        stops = [part for part in parts if part.display]
        place = stops.index(self._active)
        if action_id == "global.focus_next":
            self._activate(stops[(place + 1) % len(stops)])
        elif action_id == "global.focus_previous":
            self._activate(stops[place - 1])
        elif action_id == "global.open" and self._active is self.differences:
            self._activate(self.flipped)
        elif action_id == "global.open" and (row := self.flipped.model.current) is not None:
            self.centre.spawn(self._open_log(row), opens=True)
        elif action_id == "global.refetch":
            self.centre.spawn(self._read())
        else:
            return await super().do(action_id)
        return True

    async def _read(self) -> None:
        """Compare, in a thread."""
        self.runs.give(self.report, "comparing…")
        said = ""
        try:
            self.report = await asyncio.to_thread(self.centre.control.compare, self.target.split(","))
        except ControlError as error:
            said = str(error)
        self.runs.give(self.report, said)
        self.differences.give(self.report)
        self.bars_changed()
        if self.report is not None:
            self.tasks.rows = await asyncio.to_thread(self._rows_of, self.report)
            self._moved()

    def _rows_of(self, report: CompareReport) -> dict[str, list[EpisodeRow]]:
        """Without those of a run that is gone by now."""
        found = {}
        for run in report.runs:
            with suppress(ControlError):
                found[run.run_id] = self.centre.control.episodes(run.run_id)
        return found

    def _moved(self) -> None:
        row = self.differences.model.current
        self.verdict.give(row)
        self.tasks.give(row)
        self.flipped.give(row)
        self._place()

    def _activate(self, pane: Pane) -> None:
        self._active = pane
        for part in self._parts.values():
            part.active = part is pane
            part.set_class(part.active, "active")
            part.redraw()
        self.bars_changed()

    def _name_parts(self) -> None:
        for name, pane in self._parts.items():
            pane.set_title(name + "".join(text for text, _ in pane.title(self.centre.snapshot)))

    def _place(self) -> None:
        """The runs and the verdict are as high as they need, the differences up to a third; what flipped has
        the rest, and where there is room the tasks stand beside it."""
        width, height = self.size.width, self.size.height - 2
        if height <= 0:
            return
        beside = width >= GRID_WIDTH
        left = width // 2 if beside else width
        runs = min(len(self.runs.all_lines(width, 0)), max(2, height // 4)) + RULE
        differences = min(len(self.differences.model.rows) + 1, max(3, height // 3)) + RULE
        verdict = min(len(self.verdict.all_lines(left, 0)), 5) + RULE
        below, under = runs + differences, runs + differences + verdict
        boxes = {
            "Runs": Box(0, 0, width, runs),
            "Differences": Box(0, runs, width, differences),
            "Verdict": Box(0, below, left, verdict),
            "Tasks": Box(0, under, left, max(3, height - under)),
            "Flipped": Box(left + 1, below, width - left - 1, max(3, height - below)),
        }
        if not beside:
            boxes["Flipped"] = boxes.pop("Tasks")
        for name, pane in self._parts.items():
            box = boxes.get(name)
            pane.display = box is not None
            if box is not None:
                pane.styles.offset = (box.x, box.y)
                pane.styles.width, pane.styles.height = box.width, box.height
        if not self._active.display:
            self._activate(self.differences)
        self._name_parts()

    async def _open_log(self, row: Flipped) -> None:
        """Of one of the two, as it is chosen."""
        items = [
            Item("left", f"A {row.left_id}", f"{row.flip.left:g}"),
            Item("right", f"{row.letter} {row.run_id}", f"{row.flip.right:g}"),
        ]
        chosen = await self.centre.ask(
            Menu(f"log of episode {row.flip.episode_index} of", lambda typed: items)
        )
        if chosen is None:
            return
        run_id = row.left_id if chosen.id == "left" else row.run_id
        found = await asyncio.to_thread(self._row_of, run_id, row)
        if found is None:
            self.centre.tell(f"{run_id} has no episode {row.flip.episode_index} any more", severity="warning")
        else:
            await linking.open_log(self.centre, RunDir(runs_folder(self.centre.control.root) / run_id), found)

    def _row_of(self, run_id: str, row: Flipped) -> EpisodeRow | None:
        """Its first try, where there are several."""
        wanted = (row.flip.episode_index, row.flip.selectors)
        try:
            rows = self.centre.control.episodes(run_id)
        except ControlError:
            return None
        return next((found for found in rows if found.identity[:2] == wanted), None)
