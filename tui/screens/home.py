"""The first screen: panes for runs, queue, workers, episodes, metrics and the machine."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from engine.control.reports import RunReport
from engine.figures import count
from tui.actions import Fact, Scope
from tui.arrangement import ZOOMS, Arrangement, Wish, Zoom, arrange
from tui.models import Snapshot, duration, headline_of, short_headline
from tui.models_scoring import waiting_in
from tui.panes import SLOTS, Slot
from tui.panes.queue import QueuePane
from tui.panes.run_copies import run_error
from tui.panes.runs import WIDE, RunsPane, run_facts
from tui.screens.base import Pane, View
from tui.widgets.notice import Notice
from tui.widgets.tabs import Tabs


class HomeView(View):
    """One pane has the keys; which others are seen beside it is a matter of room."""

    view_name = "home"
    keeps = ("global.copy", "global.leave")
    DEFAULT_CSS = """
    HomeView Container { width: 100%; height: 1fr; layers: panes; }
    HomeView Pane { position: absolute; display: none; }
    HomeView Pane.framed { border: round $foreground 35%; border-title-color: $foreground 75%; }
    HomeView Pane.framed.active { border: round $accent; border-title-color: $accent; }
    """

    def __init__(self, target: str = "") -> None:
        super().__init__(target)
        self.panes: dict[str, Pane] = {slot.name: slot.make() for slot in SLOTS}
        self.active = "runs"
        self.zoom: Zoom = "normal"
        self.tabs = Tabs([(slot.number, slot.name, slot.heading) for slot in SLOTS])
        self.area = Container(self.tabs, *self.panes.values())
        self._arrangement: Arrangement | None = None

    def body(self) -> ComposeResult:
        yield self.area

    def on_mount(self) -> None:
        self.activate(self.active)

    @property
    def pane(self) -> Pane:
        return self.panes[self.active]

    @property
    def runs(self) -> RunsPane:
        pane = self.panes["runs"]
        assert isinstance(pane, RunsPane)
        return pane

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The runs' actions are there from every pane, about the selected run."""
        return tuple(dict.fromkeys((*self.pane.scope, "runs")))

    @property
    def targets(self) -> list[RunReport]:
        """Marked runs count in their own pane; from every other it is the selected run."""
        snapshot, pane = self.centre.snapshot, self.pane
        if isinstance(pane, RunsPane):
            return pane.model.targets
        if isinstance(pane, QueuePane):
            found = [snapshot.find(row.run_id) for row in pane.model.targets]
            return [report for report in found if report is not None]
        return [snapshot.run.report] if snapshot.run is not None else []

    def facts(self) -> set[Fact]:
        found = super().facts()
        if self.active not in ("runs", "queue"):
            detail = self.centre.snapshot.run
            found |= run_facts(detail.report if detail else None, self.centre.snapshot)
        return found

    def crumbs(self) -> str:
        snapshot = self.centre.snapshot
        if snapshot.run is None:
            return str(self.centre.control.root)
        report = snapshot.run.report
        left = snapshot.left_sec.get(report.run_id)
        parts = [
            report.label or report.run_id,
            report.status,
            f"{report.summary.completed_count}/{report.summary.total_episodes}",
            count(report.summary.error_count, "error") if report.summary.error_count else "",
            headline_of(report) if self.size.width >= WIDE else short_headline(report, room=16),
            f"{duration(left)} left" if left is not None else "",
            f"{len(waiting)} being scored" if (waiting := waiting_in(report)) else "",
        ]
        return "  ".join(filter(None, parts))

    def activate(self, name: str) -> None:
        """Give a pane the keys."""
        self.active = name
        for slot in SLOTS:
            pane = self.panes[slot.name]
            pane.active = slot.name == name
            pane.set_class(pane.active, "active")
            pane.redraw()
        self.pane.activated()
        self._place()
        self.bars_changed()

    async def do(self, action_id: str) -> bool:
        named = {f"global.pane_{slot.name}": slot.name for slot in SLOTS}
        names = list(self.panes)
        place = names.index(self.active)
        if action_id in named:
            self.activate(named[action_id])
        elif action_id == "global.pane_main":
            self.activate("episodes" if "episodes" in self.panes else "runs")
        elif action_id == "global.focus_next":
            self.activate(names[(place + 1) % len(names)])
        elif action_id == "global.focus_previous":
            self.activate(names[place - 1])
        elif action_id in ("global.bigger", "global.smaller"):
            by = 1 if action_id == "global.bigger" else -1
            self.zoom = ZOOMS[min(2, max(0, ZOOMS.index(self.zoom) + by))]
            self._place()
        elif action_id == "global.open" and self.active in ("runs", "queue"):
            self._open_run()
        else:
            return await super().do(action_id)
        return True

    def _open_run(self) -> None:
        """Its episodes, the first failed one under the cursor; what went wrong, where it has none."""
        pane = self.pane
        assert isinstance(pane, RunsPane | QueuePane)
        report = self.centre.snapshot.find(pane.model.current_id)
        if report is not None and not report.summary.completed_count and (error := run_error(report)):
            notice = Notice(f"{report.run_id} {report.status}", error)
            self.centre.spawn(self.centre.ask(notice), opens=True)
        elif "episodes" in self.panes:
            self.activate("episodes")
            self.pane.drill_in()

    def show(self, snapshot: Snapshot) -> None:
        super().show(snapshot)
        self._place()

    def bars_changed(self) -> None:
        super().bars_changed()
        for slot in SLOTS:
            self._title(slot, self.centre.snapshot)

    def on_resize(self, event: events.Resize) -> None:
        self._place()

    def _place(self) -> None:
        """Put the panes where they belong now."""
        width, height = self.size.width, self.size.height - 2
        if width <= 0 or height <= 0:
            return
        wishes = [
            Wish(slot.name, slot.column, slot.weight, self.panes[slot.name].wanted_height(width))
            for slot in SLOTS
        ]
        arrangement = arrange(width, height, wishes, self.active, self.zoom)
        self.tabs.active = self.active
        if arrangement == self._arrangement:
            return
        self._arrangement = arrangement
        self.tabs.display = arrangement.tabs
        for name, pane in self.panes.items():
            box = arrangement.boxes.get(name)
            pane.display = box is not None
            if box is not None:
                pane.full = len(arrangement.boxes) == 1
                pane.set_class(arrangement.framed, "framed")
                pane.styles.offset = (box.x, box.y)
                pane.styles.width, pane.styles.height = box.width, box.height

    def _title(self, slot: Slot, snapshot: Snapshot) -> None:
        pane = self.panes[slot.name]
        text = f"{slot.number} {slot.heading}{''.join(piece for piece, _ in pane.title(snapshot))}"
        pane.set_title(text)
        if slot.name == self.active:
            self.tabs.say(text)
