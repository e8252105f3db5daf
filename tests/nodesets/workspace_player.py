"""Plays env_workspace in this process, the way its host does."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import engine
from engine.components import BaseNodeSet, NodeContext
from engine.components.loading import load_classes
from engine.scoring.context import Executed

NODESET = Path(engine.__file__).parent.parent / "nodesets" / "env_workspace"
RUN_ID = "20260518_143052/ep0003"


@cache
def nodeset_class() -> type[BaseNodeSet]:
    (found,) = load_classes(NODESET)
    return found


def write_cases(folder: Path, *cases: Mapping[str, Any]) -> Path:
    """A file of cases, each with an id and an instruction where it has none."""
    file = folder / "cases.json"
    whole = [{"id": f"case_{n}", "instruction": "do it", **case} for n, case in enumerate(cases)]
    file.write_text(json.dumps(whole), "utf-8")
    return file


class Desk:
    """A process of env_workspace: its panel and its tools. ``events``: those of the last firing."""

    def __init__(self) -> None:
        self.nodeset: Any = nodeset_class()()
        self.panel = self.nodeset.env_panel()
        self.panel._context = {"nodeset": self.nodeset}
        self.tools = {tool.node_type.split("__")[1]: tool for tool in self.nodeset.get_tools()}
        self.events: list[dict[str, Any]] = []

    @property
    def folder(self) -> Path:
        return self.nodeset.stage.workspace.folder

    async def choose(self, cases: Path | str, index: int = 0, **selectors: Any) -> dict[str, Any]:
        """Select, and press play; what the panel answers."""
        for name, value in {"cases": str(cases), **selectors, "seed": 1, "episode_index": index}.items():
            await self.panel.on_field_change(name, value)
        return await self.act("play")

    async def play(self, folder: Path, *cases: Mapping[str, Any], index: int = 0, **selectors: Any) -> None:
        """Play one of these cases."""
        answer = await self.choose(write_cases(folder, *cases), index, **selectors)
        assert answer["ok"], answer

    async def act(self, action: str, **params: Any) -> dict[str, Any]:
        answer: dict[str, Any] = await self.panel.on_action(action, params)
        return answer

    def node(self, tool: str, **config: Any) -> Any:
        node = copy.copy(self.tools[tool])
        node.node_id = tool
        node.config = {**node.default_config, **config}
        return node

    async def fire(self, tool: str, config: Mapping[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
        context = NodeContext({}, 0, RUN_ID, 0)
        try:
            outputs: dict[str, Any] = await self.node(tool, **(config or {})).forward(inputs, context)
            return outputs
        finally:
            self.events = context.events

    async def harness(self, command: str, task: str = "do it", **config: Any) -> dict[str, Any]:
        return await self.fire("run_harness", {"command": command, **config}, task=task)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Of the last firing's events those of a kind, without their time."""
        return [
            {name: value for name, value in event.items() if name not in ("kind", "timestamp")}
            for event in self.events
            if event["kind"] == kind
        ]


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    """One whose folder is gone afterwards."""
    opened = Desk()
    try:
        yield opened
    finally:
        await opened.nodeset.shutdown()


class DeskCompute:
    """:class:`engine.scoring.context.Compute` over a desk's panel."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def exec(
        self, command: str, *, cwd: str = "", timeout_sec: float, env: Mapping[str, str] | None = None
    ) -> Executed:
        answer = await self._asked("exec", command=command, cwd=cwd, timeout_sec=timeout_sec, env=env)
        return Executed(**{name: value for name, value in answer.items() if name != "ok"})

    async def read_file(self, path: str) -> bytes:
        data: bytes = (await self._asked("read_file", path=path))["data"]
        return data

    async def write_file(self, path: str, data: bytes) -> None:
        await self._asked("write_file", path=path, data=data)

    async def snapshot(self) -> dict[str, Any]:
        snapshot: dict[str, Any] = (await self._asked("snapshot"))["snapshot"]
        return snapshot

    async def _asked(self, action: str, **params: Any) -> dict[str, Any]:
        answer = await self._desk.act(action, **params)
        assert answer["ok"], answer
        return answer
