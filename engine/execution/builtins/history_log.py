"""``historyLog``: one entry a firing, and the history so far as text."""

from __future__ import annotations

from typing import Any

from engine.components.bases import BaseCanvasNode
from engine.components.builtin_configs import number, require_fields
from engine.components.context import NodeContext

DEFAULT_TEMPLATE = "Step {step}: {entry}"
DEFAULT_MAX_ENTRIES = 20


class HistoryLog(BaseCanvasNode):
    """Config: ``template`` with ``{step}`` and ``{entry}``; ``max_entries``, how many are shown, newest last.

    An empty entry is not kept. What was left out is counted in the first line.
    """

    node_type = "historyLog"

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[tuple[int, str]] = []

    async def initialize(self) -> None:
        require_fields(self.node_type, self.config)
        self._template = str(self.config.get("template") or DEFAULT_TEMPLATE)
        self._limit = int(number(self.config.get("max_entries")) or DEFAULT_MAX_ENTRIES)

    async def forward(self, inputs: dict[str, Any], ctx: NodeContext) -> dict[str, Any]:
        entry = inputs.get("entry")
        text = "" if entry is None else str(entry).strip()
        if text:
            self._entries.append((ctx.step, text))
        if not self._entries:
            return {"history": "(no history yet)"}
        left_out = len(self._entries) - self._limit
        lines = [f"(...{left_out} earlier steps omitted)"] if left_out > 0 else []
        lines += [self._line(step, shown) for step, shown in self._entries[-self._limit :]]
        return {"history": "\n".join(lines)}

    def _line(self, step: int, entry: str) -> str:
        return self._template.replace("{step}", str(step)).replace("{entry}", entry)
