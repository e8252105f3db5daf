"""Shared servers: every nodeset that is served to several runs, its process, its memory, and its users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.style import Style
from textual.app import ComposeResult

from engine.control.queue_reports import ServerReport
from engine.store.strict_json import encode_indented
from engine.text import one_line
from tui.actions import Fact
from tui.drawing import Piece
from tui.models import Snapshot, gigabytes
from tui.screens.base import Copies, Pane, View
from tui.table_model import Column, TableModel
from tui.theme import Outcome
from tui.widgets.virtual_table import VirtualTable

if TYPE_CHECKING:
    from tui.app import ControlCentre

NODESETS = "/api/components/nodesets"

_OUTCOMES: dict[str, Outcome] = {
    "installed": "waiting",
    "loading": "running",
    "ready": "success",
    "unloading": "paused",
    "failed": "crash",
}


async def open_servers(centre: ControlCentre) -> None:
    if centre.view is None or centre.view.view_name != "servers":
        centre.open_view("servers")


class ServersPane(VirtualTable[ServerReport]):
    scope = ("servers",)
    opens = True

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._servers: Sequence[ServerReport] = ()
        columns: list[Column[ServerReport]] = [
            Column("glyph", "", 1, lambda row: row.state, text=self._glyph, style=self._glyph_style),
            Column("name", "nodeset", 20, lambda row: row.name),
            Column("state", "state", 12, _state),
            Column("memory", "memory", 21, _most, text=self._memory, drop=2),
            Column("pid", "pid", 8, lambda row: row.pid, align="right", drop=3),
            Column("url", "url", 28, lambda row: row.url, drop=4),
            Column("parallelism", "kind", 10, lambda row: row.parallelism, drop=5),
            Column(
                "users",
                "for whom",
                0,
                lambda row: len(row.users),
                text=self._whom,
                style=self._whom_style,
                least=24,
            ),
        ]
        super().__init__(
            TableModel(columns, lambda row: row.key or row.name, is_fault=lambda row: row.state == "failed")
        )

    def title(self, snapshot: Snapshot) -> list[Piece]:
        loaded = sum(row.loaded for row in self._servers)
        return [(f" {self.counts()}, {loaded} loaded", self.drawing.dim), *self.filter_pieces()]

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        servers = sorted(snapshot.servers, key=_rank)
        if servers != self._servers:
            self._servers = servers
            self.set_rows(servers)

    def empty(self) -> str:
        return "no nodeset passes the filter: esc clears it" if self._servers else "looking for nodesets…"

    def facts(self) -> set[Fact]:
        found, row = super().facts(), self.model.current
        if row is not None and row.parallelism == "shared":
            found.add("shared nodeset")
            if row.state in ("loading", "ready"):
                found.add("loaded server")
        return found

    async def do(self, action_id: str) -> bool:
        row = self.model.current
        if row is not None and action_id == "servers.load":
            name = row.name
            self.centre.verb(lambda control: control.load_server(name), f"load {name}")
        elif row is not None and action_id == "servers.unload":
            name = row.name
            self.centre.verb(lambda control: control.unload_server(name), f"unload {name}")
        elif row is not None and action_id == "global.open":
            self.centre.tell(row.detail or self._told(row))
        else:
            return await super().do(action_id)
        return True

    def copies(self) -> Copies:
        row = self.model.current
        if row is None:
            return {}
        verb = "unload" if row.state in ("loading", "ready") else "load"
        copies = {
            "copy.id": lambda: row.name,
            "copy.row": lambda: self._told(row),
            "copy.json": lambda: encode_indented(row).decode(),
            "copy.command": lambda: self.centre.rest.call("POST", f"{NODESETS}/{row.name}/{verb}"),
        }
        if row.detail:
            copies["copy.error"] = lambda: row.detail
        return copies

    def _told(self, row: ServerReport) -> str:
        parts = [row.name, _state(row), row.url, f"pid {row.pid}" if row.pid else "", self._memory(row)]
        users = f"for {self._users(row)}" if row.users else ""
        return "  ".join(filter(None, [*parts, users]))

    def _glyph(self, row: ServerReport) -> str:
        return self.drawing.marks[_OUTCOMES[row.state]].glyph

    def _glyph_style(self, row: ServerReport) -> Style:
        return self.drawing.marks[_OUTCOMES[row.state]].style

    def _whom(self, row: ServerReport) -> str:
        """Its users; of what failed, why."""
        return one_line(row.detail) or self._users(row)

    def _whom_style(self, row: ServerReport) -> Style:
        return self.drawing.bad if row.detail else Style.null()

    def _memory(self, row: ServerReport) -> str:
        """By card, as its label, and main memory."""
        resources = self._snapshot.resources
        labels = {gpu.uuid: f"GPU {gpu.label}" for gpu in (resources.gpus if resources else ())}
        held = [f"{labels.get(pool, pool.upper())} {gigabytes(mb)}" for pool, mb in row.memory_mb.items()]
        return ", ".join(held)

    def _users(self, row: ServerReport) -> str:
        names = {run.run_id: run.label or run.run_id for run in self._snapshot.runs}
        kept = ["you"] if row.kept else []
        return ", ".join([*kept, *(names.get(user, user) for user in row.users)])


class ServersView(View):
    view_name = "servers"
    heading = "shared servers"

    def __init__(self, target: str = "") -> None:
        super().__init__(target)
        self._pane = ServersPane()
        self._pane.active = True

    def body(self) -> ComposeResult:
        yield self._pane

    @property
    def pane(self) -> Pane:
        return self._pane

    def crumbs(self) -> str:
        return "shared servers" + "".join(text for text, _ in self._pane.title(self.centre.snapshot))

    def on_screen_resume(self) -> None:
        self.centre.store.watch_servers(True)
        super().on_screen_resume()

    def on_screen_suspend(self) -> None:
        self.centre.store.watch_servers(False)

    def on_unmount(self) -> None:
        self.centre.store.watch_servers(False)


def _rank(row: ServerReport) -> tuple[bool, bool, str]:
    """What runs first, then what could, then what every worker has for itself."""
    return row.state == "installed", row.parallelism != "shared", row.name


def _state(row: ServerReport) -> str:
    return f"{row.state}, kept" if row.kept and row.state == "ready" else row.state


def _most(row: ServerReport) -> float:
    return sum(row.memory_mb.values())
