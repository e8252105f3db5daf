"""The nodes of a graph, in the order in which values flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from engine.control.outline import OutlineNode
from tui.graph_lines import Problems, indented
from tui.screens.base import Copies
from tui.table_model import Column, TableModel
from tui.widgets.virtual_table import VirtualTable


class NodesPane(VirtualTable[OutlineNode]):
    """``moved_to`` is told of the node under the cursor."""

    opens = True

    def __init__(self, moved_to: Callable[[OutlineNode | None], None]) -> None:
        self.problems: Problems = {}
        self._moved_to = moved_to
        self._empty = ""
        columns = [
            Column[OutlineNode]("fault", "", 1, self._worst, style=lambda node: self.drawing.bad),
            Column[OutlineNode]("node", "node", 0, indented, least=16),
            Column[OutlineNode]("type", "type", 26, lambda node: node.type, drop=2),
            Column[OutlineNode]("takes", "in", 3, lambda node: len(node.takes), align="right", drop=3),
            Column[OutlineNode]("gives", "out", 3, lambda node: len(node.gives), align="right", drop=4),
            Column[OutlineNode]("label", "label", 0, lambda node: node.label, drop=5),
        ]
        super().__init__(
            TableModel(columns, lambda node: node.id, is_fault=lambda node: node.id in self.problems)
        )

    def give(self, nodes: Sequence[OutlineNode], problems: Problems) -> None:
        self.problems = problems
        self.set_rows(nodes)

    def set_empty(self, text: str) -> None:
        self._empty = text
        self.redraw()

    def empty(self) -> str:
        return self._empty

    def moved(self) -> None:
        self._moved_to(self.model.current)

    def copies(self) -> Copies:
        node = self.model.current
        if node is None:
            return {}
        return {
            "copy.id": lambda: node.id,
            "copy.json": lambda: msgspec.json.format(msgspec.json.encode(node, enc_hook=str)).decode(),
        }

    def _worst(self, node: OutlineNode) -> str:
        found = self.problems.get(node.id, ())
        if not found:
            return ""
        return "!" if any(problem.severity == "error" for problem in found) else "?"
