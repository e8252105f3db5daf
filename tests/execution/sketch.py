"""Small graphs in a few lines, run with nodes of this process: what the executor's tests are written in.

A node is ``step(inputs, outputs, do)``: ports as words, ``x`` required, ``x?`` optional, ``x:LIST[TEXT]``
typed; ``do(inputs, ctx)`` gives the outputs, a value alone being that of the first output port. Edges are
``"a.out -> b.in"``. A composite is ``Box(nodes, edges)``, with the ports ``into`` and ``out``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.components.bases import BaseCanvasNode
from engine.components.builtin_ports import resolve_builtin
from engine.components.containers import ContainerStore
from engine.components.firelist import FireList
from engine.components.firing import NodeHandler
from engine.execution.executor import EpisodeContext, Executor, Outcome
from engine.execution.handlers import LocalHandler, builtin_handler
from engine.execution.hooks import Hooks
from engine.execution.record import Firing
from engine.graph.model import Container, Edge, Grant, Graph, Node, Port, Ports
from engine.graph.plan import Plan, plan_graph
from engine.graph.read import parse_graph
from engine.models.call import ChatCall, Reply

Do = Callable[[dict[str, Any], Any], Any]


@dataclass
class Step:
    """A node of a type that only the test knows."""

    inputs: str = ""
    outputs: str = "out"
    do: Do = lambda inputs, ctx: next(iter(inputs.values()), None)
    aggregate: Callable[[list[dict[str, Any]]], Any] = lambda results: {"out": results}


class Silent:
    """A chat client that nobody asks."""

    async def ask(self, profile: str, model: str, call: ChatCall) -> Reply:
        raise AssertionError(f"nothing asks {profile!r} here")


SILENT = Silent()


@dataclass
class Builtin:
    type: str
    config: dict[str, Any] = field(default_factory=dict)


@dataclass
class Box:
    """A composite."""

    nodes: Mapping[str, Spec]
    edges: Iterable[str] = ()
    containers: tuple[Container, ...] = ()
    grants: tuple[tuple[str, str], ...] = ()


Spec = Step | Builtin | Box


def step(inputs: str = "", outputs: str = "out", do: Do | None = None) -> Step:
    """Without ``do``, the first input goes to the first output."""
    return Step(inputs, outputs, do) if do else Step(inputs, outputs)


def emits(**values: Any) -> Step:
    """An entry node that emits these."""
    return Step("", " ".join(values), lambda inputs, ctx: dict(values))


def out(port_name: str, wire_type: str = "ANY") -> Builtin:
    return Builtin("graphOut", {"portName": port_name, "wireType": wire_type})


def into(port_name: str) -> Builtin:
    return Builtin("graphIn", {"portName": port_name})


def loop(
    name: str = "loop", *, init: str = "", carry: str = "", budget: int | None = None
) -> dict[str, Spec]:
    """The two ends ``<name>_in`` and ``<name>_out``. Ports as words: ``x`` required, ``x?`` not; ``x+`` and
    ``x-`` with ``persist`` true and false, else by default."""
    config: dict[str, Any] = {"pairedWith": f"{name}_out", "initPorts": _loop_ports(init)}
    if budget is not None:
        config["step_budget"] = budget
    ports = {"pairedWith": f"{name}_in", "ports": _loop_ports(carry)}
    return {f"{name}_in": Builtin("iterIn", config), f"{name}_out": Builtin("iterOut", ports)}


def _loop_ports(words: str) -> list[dict[str, Any]]:
    ports = []
    for word in words.split():
        name, _, wire_type = word.rstrip("?+-").partition(":")
        port: dict[str, Any] = {"name": name, "wire_type": wire_type or "ANY", "required": "?" not in word}
        if flag := {"+", "-"} & set(word):
            port["persist"] = flag == {"+"}
        ports.append(port)
    return ports


class Recording:
    """A sink that keeps everything, and a digest of nothing."""

    def __init__(self) -> None:
        self.firings: list[Firing] = []
        self.checkpoints: list[tuple[int, Mapping[str, Any]]] = []
        self.boundaries: list[int] = []

    def firing(self, firing: Firing) -> None:
        self.firings.append(firing)

    def checkpoint(self, step: int, containers: Mapping[str, Any]) -> None:
        self.checkpoints.append((step, containers))

    def boundary(self) -> None:
        self.boundaries.append(len(self.firings))


@dataclass
class Ran:
    """What a run came to."""

    plan: Plan
    outcome: Outcome
    log: Recording

    @property
    def order(self) -> list[str]:
        """The nodes that fired, in order."""
        return [firing.planned.node.id for firing in self.log.firings]

    def of(self, node_id: str) -> list[Firing]:
        return [firing for firing in self.log.firings if firing.planned.node.id == node_id]

    def of_type(self, node_type: str) -> list[Firing]:
        return [firing for firing in self.log.firings if firing.planned.node.type == node_type]

    def inputs(self, node_id: str) -> list[Mapping[str, Any]]:
        return [firing.inputs for firing in self.of(node_id)]

    def finals(self, iter_out: str = "loop_out") -> list[Mapping[str, Any]]:
        """What the final side of a loop emitted, once for each time."""
        return [firing.outputs for firing in self.of(iter_out) if "final_stop" in firing.outputs]


class _Function(BaseCanvasNode):
    node_type = "test__function"

    def __init__(self, spec: Step) -> None:
        super().__init__()
        self._spec = spec

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        result = self._spec.do(inputs, ctx)
        first = self._spec.outputs.split()[:1]
        return result if isinstance(result, dict | FireList) or not first else {_port(first[0]).name: result}

    def aggregate(self, results: list[dict[str, Any]]) -> Any:
        return self._spec.aggregate(results)


def sketch(
    nodes: Mapping[str, Spec],
    edges: Iterable[str],
    *,
    containers: tuple[Container, ...] = (),
    grants: tuple[tuple[str, str], ...] = (),
) -> Plan:
    """Plan a graph; GraphError where check refuses it."""
    steps = _steps(nodes)

    def resolve(node: Node) -> Ports | None:
        spec = steps.get(node.type)
        return resolve_builtin(node) if spec is None else _ports(spec)

    return plan_graph(_graph(Box(nodes, edges, containers, grants)), resolve)


def _graph(box: Box, path: tuple[str, ...] = ()) -> Graph:
    read = parse_graph({"edges": [_edge(index, text) for index, text in enumerate(box.edges)]})
    return Graph(
        name="sketch",
        nodes=tuple(_node(spec, (*path, name)) for name, spec in box.nodes.items()),
        edges=read.edges,
        eval_graph=False,
        containers=box.containers,
        grants=tuple(Grant(f"g{i}", *pair) for i, pair in enumerate(box.grants)),
    )


def _node(spec: Spec, path: tuple[str, ...]) -> Node:
    if isinstance(spec, Box):
        return Node(path[-1], "compositeNode", subgraph=_graph(spec, path))
    if isinstance(spec, Builtin):
        return Node(path[-1], spec.type, config=dict(spec.config))
    return Node(path[-1], _type(path))


def _type(path: tuple[str, ...]) -> str:
    return f"test__{'__'.join(path)}"


def _steps(nodes: Mapping[str, Spec], path: tuple[str, ...] = ()) -> dict[str, Step]:
    """By node type, those of composites too."""
    found: dict[str, Step] = {}
    for name, spec in nodes.items():
        if isinstance(spec, Box):
            found |= _steps(spec.nodes, (*path, name))
        elif isinstance(spec, Step):
            found[_type((*path, name))] = spec
    return found


def _ports(spec: Step) -> Ports:
    return Ports(tuple(map(_port, spec.inputs.split())), tuple(map(_port, spec.outputs.split())))


def executor(plan: Plan, nodes: Mapping[str, Spec], **options: Any) -> tuple[Executor, Recording]:
    """``options``: budget, seed, stop, progress, handlers (by node id), episode, log, chat, hooks, and
    ``children``: steps that nodes may have fired, of the types ``test__<name>``."""
    handlers: Mapping[str, NodeHandler] = options.get("handlers", {})
    children = _steps(options.get("children", {}))
    steps = _steps(nodes) | children

    def handler(node: Node) -> NodeHandler:
        if node.id in handlers:
            return handlers[node.id]
        if node.type in steps:
            return LocalHandler(_Function(steps[node.type]))
        found = builtin_handler(node, options.get("chat", SILENT))
        assert found is not None, f"the executor asked for a handler of {node.type}"
        return found

    log = options.get("log") or Recording()
    made = Executor(
        plan,
        handler,
        budget=options.get("budget", 5),
        episode=options.get("episode", EpisodeContext("run/ep0000", options.get("seed", 7))),
        log=log,
        containers=ContainerStore(plan.graph.containers),
        progress=options.get("progress", lambda step, node_id: None),
        stop=options.get("stop", lambda: None),
        hooks=Hooks(options.get("hooks", ())),
        resolve=lambda node: _ports(children[node.type]) if node.type in children else resolve_builtin(node),
    )
    return made, log


async def run(nodes: Mapping[str, Spec], edges: Iterable[str] = (), **options: Any) -> Ran:
    """Plan and run to the end."""
    wanted = {key: options.pop(key) for key in ("containers", "grants") if key in options}
    plan = sketch(nodes, edges, **wanted)
    made, log = executor(plan, nodes, **options)
    return Ran(plan, await made.run(), log)


def _port(word: str) -> Port:
    name, _, wire_type = word.rstrip("?").partition(":")
    return Port(name, wire_type or "ANY", optional=word.endswith("?"))


def _edge(index: int, text: str) -> dict[str, str]:
    source, target = text.split(" -> ")
    source_id, _, source_handle = source.partition(".")
    target_id, _, target_handle = target.partition(".")
    edge = {"id": f"e{index}", "source": source_id, "target": target_id}
    if source_handle:
        edge["sourceHandle"] = source_handle
    if target_handle:
        edge["targetHandle"] = target_handle
    return edge


__all__ = [
    "SILENT",
    "Box",
    "Builtin",
    "Edge",
    "Ran",
    "Recording",
    "Step",
    "emits",
    "executor",
    "into",
    "loop",
    "out",
    "run",
    "sketch",
    "step",
]
