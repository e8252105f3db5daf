"""Real runs of a graph with a composite, dynamic children, hooks and a nodeset's own memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.store.jsonl import read_lines
from engine.store.rundir import RunDir
from tests.fakes.real_runs import finished

WORLD = """
from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef


class Node(BaseCanvasNode):
    async def forward(self, inputs, ctx):
        return self.fire(inputs, ctx)


class Reset(Node):
    node_type = "env_sum__reset"
    output_ports = [PortDef("go", "ANY")]

    def fire(self, inputs, ctx):
        return {"go": ctx.episode["episode_index"]}


class Add(Node):
    node_type = "env_sum__add"
    input_ports = [PortDef("a", "ANY"), PortDef("b", "ANY", optional=True)]
    output_ports = [PortDef("sum", "ANY"), PortDef("done", "BOOL")]

    def fire(self, inputs, ctx):
        total = inputs["a"] + inputs.get("b", self.config.get("b", 1))
        return {"sum": total, "done": total >= self.config.get("enough", 3)}


class Evaluate(Node):
    node_type = "env_sum__evaluate"
    input_ports = [PortDef("sum", "ANY")]
    output_ports = [PortDef("metrics", "METRICS")]

    def fire(self, inputs, ctx):
        return {"metrics": {"success": 1.0, "sum": inputs["sum"]}}


class Panel(BaseEnvPanel):
    name = "env_sum"

    async def on_load(self):
        return {}

    async def on_field_change(self, name, value):
        return {}


class Sum(BaseNodeSet):
    name = "env_sum"
    parallelism = "replicated"
    env_panel = Panel

    def get_tools(self):
        return [Reset(), Add(), Evaluate()]
"""

PLANNER = """
from engine.components import BaseNodeSet, ContainerDef, PortDef, StateDef
from engine.components import DynamicFireListNode, FireList, FireSpec


class Plan(DynamicFireListNode):
    node_type = "planner__plan"
    input_ports = [PortDef("x", "ANY")]
    output_ports = [PortDef("total", "ANY"), PortDef("asked", "ANY")]

    async def forward(self, inputs, ctx):
        memory = ctx.containers["memory"]
        memory.write("asked", 1, key=ctx.execution_id)
        children = [FireSpec("env_sum__add", {"a": inputs["x"]}, {"b": n}, f"add {n}") for n in (10, 20)]
        if self.config.get("other"):
            children.append(FireSpec(self.config["other"]))
        return FireList(children, {"asked": memory.read("asked", key=ctx.execution_id)})

    def aggregate(self, results):
        return {"total": sum(result["sum"] for result in results)}


class Planner(BaseNodeSet):
    name = "planner"
    parallelism = "shared"

    def get_tools(self):
        return [Plan()]

    def get_containers(self):
        return [ContainerDef("memory", states={"asked": StateDef("counter")})]
"""


def edge(index: int, text: str) -> dict[str, str]:
    (source, out), (target, into) = (end.split(".") for end in text.split(" > "))
    return {"id": f"e{index}", "source": source, "target": target, "sourceHandle": out, "targetHandle": into}


def graph(nodes: dict[str, tuple[str, dict[str, Any]]], *edges: str, **more: Any) -> dict[str, Any]:
    made = [{"id": name, "type": kind, "config": config} for name, (kind, config) in nodes.items()]
    return {"name": "features", "nodes": made, "edges": [edge(*e) for e in enumerate(edges)], **more}


def climbing(**plan: Any) -> dict[str, Any]:
    """reset → composite (a loop that adds up to 3) → plan (two children) → evaluate."""
    inner = graph(
        {
            "start": ("graphIn", {"portName": "start"}),
            "up_in": ("iterIn", {"pairedWith": "up_out", "initPorts": [{"name": "a", "required": True}]}),
            "add": ("env_sum__add", {}),
            "up_out": ("iterOut", {"pairedWith": "up_in", "ports": [{"name": "a", "required": True}]}),
            "top": ("graphOut", {"portName": "top"}),
        },
        "start.value > up_in.init_a",
        "up_in.init_a > add.a",
        "up_in.iterout_a > add.a",
        "add.sum > up_out.a",
        "add.done > up_out.stop",
        "add.sum > top.value",
    )
    made = graph(
        {
            "reset": ("env_sum__reset", {}),
            "climb": ("compositeNode", {}),
            "plan": ("planner__plan", plan),
            "evaluate": ("env_sum__evaluate", {}),
            "metrics": ("graphOut", {"portName": "metrics"}),
        },
        "reset.go > climb.start",
        "climb.top > plan.x",
        "plan.total > evaluate.sum",
        "evaluate.metrics > metrics.value",
        step_budget=9,
    )
    made["nodes"][1]["subgraph"] = inner
    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    nodesets = tmp_path / "workspace" / "nodesets"
    nodesets.mkdir(parents=True)
    (nodesets / "env_sum.py").write_text(WORLD)
    (nodesets / "planner.py").write_text(PLANNER)
    return tmp_path


def log_lines(run: RunDir, episode: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_lines(run.episodes / f"ep{episode:04d}" / "log.jsonl")]


def test_composites_and_children_across_processes(root: Path) -> None:
    runs = [finished(root, climbing(), episode_count=4, worker_count=workers) for workers in (1, 3)]
    one, three = (run.read_summary() for run in runs)
    assert [(row.status, row.error) for row in one.episodes] == [("completed", None)] * 4
    assert [row.metrics["sum"] for row in one.episodes] == [36, 36, 36, 38]
    assert [row.step_count for row in one.episodes] == [3, 2, 1, 1]
    assert one.result_digest == three.result_digest
    lines = log_lines(runs[0], 1)
    assert [(line["node_id"], line["parent_node_id"], line["dynamic_index"]) for line in lines][-5:] == [
        ("plan::dyn0", "plan", 0),
        ("plan::dyn1", "plan", 1),
        ("plan", None, None),
        ("evaluate", None, None),
        ("metrics", None, None),
    ]
    add = next(line for line in lines if line["node_id"] == "climb__add")
    assert add["node_label"] == "climb > add"
    child = next(line for line in lines if line["node_id"] == "plan::dyn1")
    assert (child["node_label"], child["inputs"], child["outputs"]["sum"]) == ("add 20", {"a": 3}, 23)
    assert child["port_wire_types"] == {"a": "ANY", "b": "ANY", "sum": "ANY", "done": "BOOL"}
    for run in runs:
        asked = [
            line["outputs"]["asked"]
            for n in range(4)
            for line in log_lines(run, n)
            if line["node_id"] == "plan"
        ]
        assert asked == [1] * 4, "an episode saw what another left in the nodeset's memory"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "says"),
    [
        ("env_sum__divide", "its child 2 is of type 'env_sum__divide', which nothing here fires"),
        ("env_gymnasium__reset", "env_gymnasium does not run here: no node of the graph is of it"),
    ],
)
def test_a_child_that_nothing_fires_is_the_nodes_error(root: Path, other: str, says: str) -> None:
    run = finished(root, climbing(other=other), episode_count=1)
    (row,) = run.read_summary().episodes
    assert (row.status, row.termination, row.error_class) == ("error", "node_error", "graph")
    assert says in str(row.error)
    assert row.failure is None


def test_hooks_of_the_workspace_the_graph_and_a_node_in_that_order(root: Path) -> None:
    def told(who: str) -> str:
        return f"echo {who} >> {root / 'told'}; cat >> {root / 'events'}; echo >> {root / 'events'}"

    everywhere = {
        "event": "PostNodeExecute",
        "command": told("workspace"),
        "match_node_type": "env_sum__evaluate",
    }
    more = {"action": "modify", "modified_data": {"metrics": {"success": 0.5, "sum": 1}}}
    own = {**everywhere, "command": f"{told('graph')}; echo '{json.dumps(more)}'"}
    (root / "workspace" / "hooks.json").write_text(json.dumps([everywhere]))
    hooked = climbing() | {"hooks": [own]}
    hooked["nodes"][3]["config"] = {"hooks": [{"event": "PostNodeExecute", "command": told("node")}]}
    run = finished(root, hooked, episode_count=1)
    (row,) = run.read_summary().episodes
    assert (row.status, row.metrics) == ("completed", {"success": 0.5, "sum": 1.0})
    assert (root / "told").read_text().split() == ["workspace", "graph", "node"]
    events = [json.loads(line) for line in (root / "events").read_text().splitlines()]
    assert [event["node_id"] for event in events] == ["evaluate"] * 3
    line = next(line for line in log_lines(run, 0) if line["node_id"] == "evaluate")
    assert [entry["key"] for entry in line["inner_log"]] == ["hook"]
    assert line["outputs"]["metrics"]["sum"] == 1
