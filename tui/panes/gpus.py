"""Pane 6: the cards and the host, and who holds what of them."""

from __future__ import annotations

from collections.abc import Sequence

from engine.store.strict_json import encode_indented
from tui.actions import Fact
from tui.drawing import Piece
from tui.models import Snapshot
from tui.models_gpus import Machine, machine_of
from tui.panes.gpu_lines import MIDDLE, level_that_fits, machine_lines
from tui.screens.base import Copies
from tui.widgets.drawn import Line
from tui.widgets.scrolled import ScrolledPane


class GpusPane(ScrolledPane):
    """As much of each card as there is room for; where there is none for a line a card, it scrolls."""

    def __init__(self) -> None:
        super().__init__()
        self.machine: Machine | None = None
        self._snapshot = Snapshot()

    def title(self, snapshot: Snapshot) -> list[Piece]:
        if self.machine is None:
            return []
        simulated = snapshot.resources is not None and snapshot.resources.simulated
        told = f" {len(self.machine.cards)}" if self.machine.cards else ""
        return [(told, self.drawing.dim), (" simulated" if simulated else "", self.drawing.warn)]

    def show(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.machine = machine_of(snapshot)
        self.changed()

    def wanted_height(self, width: int) -> int | None:
        if self.machine is None:
            return 3
        return len(machine_lines(self.drawing, self.machine, max(20, width // 3), MIDDLE))

    def all_lines(self, width: int, height: int) -> Sequence[Line]:
        if self.machine is None:
            return [[("reading…" if not self._snapshot.problem else "not known", self.drawing.dim)]]
        return level_that_fits(self.drawing, self.machine, width, height)[1]

    def facts(self) -> set[Fact]:
        return {"row"} if self.machine is not None else set()

    def copies(self) -> Copies:
        report = self._snapshot.resources
        if report is None or self.machine is None:
            return {}
        machine = self.machine
        lines = machine_lines(self.drawing, machine, 100, MIDDLE)
        return {
            "copy.row": lambda: "\n".join("".join(text for text, _ in line).rstrip() for line in lines),
            "copy.json": lambda: encode_indented(report).decode(),
        }
