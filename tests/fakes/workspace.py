"""A root with a nodeset and a graph in its workspace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NODESET = '''
from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef


class Reset(BaseCanvasNode):
    node_type = "env_toy__reset"
    output_ports = [PortDef("instruction", "TEXT")]

    async def forward(self, inputs, ctx):
        return {"instruction": "wait"}


class Evaluate(BaseCanvasNode):
    node_type = "env_toy__evaluate"
    input_ports = [PortDef("trigger", "ANY")]
    output_ports = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs, ctx):
        return {"metrics": {"success": 1.0}}


class Panel(BaseEnvPanel):
    name = "env_toy"

    async def on_load(self):
        return {}

    async def on_field_change(self, name, value):
        return {}

    async def on_action(self, name, params):
        return {"ok": True}


class Toy(BaseNodeSet):
    """Replicated, as it has a panel."""

    name = "env_toy"
    description = "a toy"
    env_panel = Panel

    def get_tools(self):
        return [Reset(), Evaluate()]
'''


def toy_graph(**replaced: Any) -> dict[str, Any]:
    """A graph without a loop that runs once."""
    graph: dict[str, Any] = {
        "name": "A toy",
        "nodes": [
            {"id": "reset", "type": "env_toy__reset"},
            {"id": "evaluate", "type": "env_toy__evaluate"},
            {"id": "out", "type": "graphOut", "config": {"portName": "metrics"}},
        ],
        "edges": [
            {"id": "e1", "source": "reset", "target": "evaluate",
             "sourceHandle": "instruction", "targetHandle": "trigger"},
            {"id": "e2", "source": "evaluate", "target": "out",
             "sourceHandle": "metrics", "targetHandle": "value"},
        ],
    }  # fmt: skip
    return graph | replaced


def make_root(path: Path, **graphs: dict[str, Any]) -> Path:
    """A root whose workspace holds ``env_toy`` and the graphs given by name; ``toy`` is always there."""
    nodesets = path / "workspace" / "nodesets"
    folder = path / "workspace" / "graphs"
    nodesets.mkdir(parents=True)
    folder.mkdir(parents=True)
    (nodesets / "env_toy.py").write_text(NODESET)
    for name, graph in {"toy": toy_graph(), **graphs}.items():
        (folder / f"{name}.json").write_text(json.dumps(graph))
    return path
