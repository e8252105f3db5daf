"""A graph: its nodes in dataflow order, the wires of the one under the cursor, and its problems."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container

from engine.control.outline import Outline, OutlineNode, outline
from engine.control.protocol import Control
from engine.control.reports import CheckReport, ControlError
from engine.figures import count
from engine.graph.model import GraphError, Problem
from engine.store.rundir import RunDir, RunDirError, runs_folder
from tui.episode.inks import inked
from tui.graph_lines import node_lines, overview_lines, problems_of
from tui.panes.nodes import NodesPane
from tui.screens.base import Copies, Pane, View
from tui.widgets.lines_view import LinesView
from tui.widgets.menu import Item, Menu, matching

if TYPE_CHECKING:
    from tui.app import ControlCentre

SAVED = "graph:"
"""Before a target that is a saved graph's name, and not a run."""

BESIDE = 100
"""Cells from which on the detail stands beside the nodes, not below them."""


class GraphView(View):
    """target: a run, whose frozen graph is shown, or ``graph:`` and a saved graph's name. graph: that one
    instead of the saved one."""

    view_name = "graph"
    heading = "graph"
    DEFAULT_CSS = """
    GraphView Container { width: 100%; height: 1fr; layout: vertical; }
    GraphView Container.beside { layout: horizontal; }
    GraphView Pane { width: 100%; height: 3fr; border-top: solid $foreground 35%;
                     border-title-color: $foreground 75%; }
    GraphView LinesView { height: 2fr; }
    GraphView Container.beside Pane { width: 3fr; height: 100%; }
    GraphView Container.beside LinesView { width: 2fr; }
    GraphView Pane.active { border-top: solid $accent; border-title-color: $accent; }
    """

    def __init__(self, target: str = "", graph: dict[str, Any] | None = None) -> None:
        super().__init__(target)
        self.outline: Outline | None = None
        self.problems: list[Problem] = []
        self.nodes = NodesPane(self._moved)
        self.lines = LinesView()
        self.area = Container(self.nodes, self.lines)
        self._graph = graph
        self._active: Pane = self.nodes

    def body(self) -> ComposeResult:
        yield self.area

    @property
    def pane(self) -> Pane:
        return self._active

    def crumbs(self) -> str:
        name = self.outline.name if self.outline is not None else ""
        of = self.target.removeprefix(SAVED)
        return "  ".join(filter(None, ["graph", of, name if name != of else ""]))

    def on_mount(self) -> None:
        self._activate(self.nodes)
        self.lines.give([inked("reading…", "dim")])
        self.centre.spawn(self._read())

    def on_resize(self, event: events.Resize) -> None:
        self.area.set_class(event.size.width >= BESIDE, "beside")

    async def do(self, action_id: str) -> bool:
        if action_id in ("global.focus_next", "global.focus_previous", "global.open"):
            self._activate(self.lines if self._active is self.nodes else self.nodes)
        elif action_id == "global.refetch":
            self.centre.spawn(self._read())
        else:
            return await super().do(action_id)
        return True

    def copies(self) -> Copies:
        return self.nodes.copies()

    def _activate(self, pane: Pane) -> None:
        self._active = pane
        for one in (self.nodes, self.lines):
            one.active = one is pane
            one.set_class(one.active, "active")
            one.redraw()
        self.bars_changed()

    async def _read(self) -> None:
        try:
            graph, report = await asyncio.to_thread(self._read_now, self.centre.control)
            self.problems = report.problems
            self.outline = outline(graph)
        except GraphError as error:
            self.problems = error.problems
        except (ControlError, RunDirError) as error:
            self.nodes.set_empty("no graph to show")
            self.lines.give([inked(str(error), "bad")])
            return
        if self.is_attached:
            self._show_outline()

    def _read_now(self, control: Control) -> tuple[dict[str, Any], CheckReport]:
        if self._graph is not None:
            graph = self._graph
        elif self.target.startswith(SAVED):
            graph = control.graph(self.target.removeprefix(SAVED))
        else:
            graph = RunDir(runs_folder(control.root) / self.target).read_spec().graph
        return graph, control.validate(graph)

    def _show_outline(self) -> None:
        nodes = self.outline.nodes if self.outline is not None else ()
        self.nodes.give(nodes, problems_of(nodes, self.problems))
        self.nodes.set_empty("the graph cannot be read: see its problems")
        errors = sum(problem.severity == "error" for problem in self.problems)
        counts = {"node": len(nodes), "error": errors, "warning": len(self.problems) - errors}
        self.nodes.set_title(", ".join(count(number, what) for what, number in counts.items() if number))
        self._moved(self.nodes.model.current)
        self.bars_changed()

    def _moved(self, node: OutlineNode | None) -> None:
        overview = overview_lines(self.outline, self.problems)
        if node is None or self.outline is None:
            self.lines.set_title("Graph")
            self.lines.give(overview)
            return
        self.lines.set_title(node.shown)
        own = self.nodes.problems.get(node.id, ())
        self.lines.give([*node_lines(node, self.outline, own), (), *overview])


async def open_graph(centre: ControlCentre) -> None:
    """Of the run that is shown, or under the cursor; else of a saved graph that is chosen."""
    shown = centre.view.shown_run if centre.view is not None else ""
    for run_id in [shown] if shown else [report.run_id for report in centre.targets[:1]]:
        centre.open_view("graph", run_id)
        return
    try:
        entries = await asyncio.to_thread(centre.control.graphs)
    except ControlError as error:
        centre.tell(f"the saved graphs cannot be listed: {error}", severity="error")
        return
    items = [Item(entry.name, entry.name, note=entry.description) for entry in entries]
    chosen = await centre.ask(Menu("graphs", lambda typed: matching(items, typed), typed=""))
    if chosen is not None and chosen.id:
        centre.open_view("graph", f"{SAVED}{chosen.id}")
