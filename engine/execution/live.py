"""A plan while it runs: what has arrived at each node, and where each loop stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.components.firing import NodeHandler
from engine.graph.plan import Loop, Plan, PlannedNode, Target


class LiveNode:
    """A node in one episode.

    ``open``: it may fire now; nodes of a loop that is not open, and the after-loop band before its time, only
    hold what arrives. ``missing``: required inputs that have not arrived. ``routes``: (source handle, target,
    receiver) of its outgoing edges, in edge order. ``loop``: the innermost loop that it belongs to. ``gate``:
    a ``graphOut`` that passes nothing on until that loop has ended, but takes values at any time.
    """

    __slots__ = (
        "firings",
        "gate",
        "handler",
        "id",
        "list_inputs",
        "loop",
        "missing",
        "open",
        "pending",
        "planned",
        "queued",
        "required",
        "routes",
        "type",
    )

    def __init__(self, planned: PlannedNode) -> None:
        self.planned = planned
        self.id = planned.node.id
        self.type = planned.node.type
        self.required = planned.required
        self.list_inputs = planned.list_inputs
        self.routes: tuple[tuple[str, Target, LiveNode], ...] = ()
        self.loop: LiveLoop | None = None
        self.handler: NodeHandler | None = None
        self.open = True
        self.gate = False
        self.queued = False
        self.firings = 0
        self.forget()

    @property
    def ready(self) -> bool:
        """It may fire, and what it waits for is there; ``stop`` alone is no iteration."""
        if not self.open or self.missing or not self.pending:
            return False
        return self.type != "iterOut" or len(self.pending) > 1 or "stop" not in self.pending

    def put(self, target: Target, value: Any) -> None:
        """Take an arrival. A later one overwrites; a ``LIST[T]`` input keeps them all."""
        handle = target.handle
        if handle not in self.pending and handle in self.required:
            self.missing -= 1
        if handle in self.list_inputs:
            self.pending.setdefault(handle, []).append((target.edge_order, value))
        else:
            self.pending[handle] = value

    def take(self) -> dict[str, Any]:
        """Consume what has arrived, each ``LIST[T]`` input gathered in edge order."""
        inputs = self.pending
        self.forget()
        for handle in self.list_inputs:
            if handle in inputs:
                inputs[handle] = _gathered(inputs[handle])
        return inputs

    def forget(self) -> None:
        """Drop what has arrived."""
        self.pending: dict[str, Any] = {}
        self.missing = len(self.required)


class LiveLoop:
    """A loop in one episode.

    ``armed``: its init edges have delivered what it requires, and it waits to be opened. ``ended``: in this
    iteration of the loop around it. ``held``: what its ``gates`` will pass on when it ends. ``carried``: the
    last values of its carried ports. ``band``: of a root loop, what is held until it ends.
    """

    def __init__(self, loop: Loop, iter_in: LiveNode, iter_out: LiveNode, budget: int) -> None:
        self.loop = loop
        self.iter_in = iter_in
        self.iter_out = iter_out
        self.budget = budget
        self.parent: LiveLoop | None = None
        self.children: list[LiveLoop] = []
        self.body: list[LiveNode] = []
        self.gates: list[LiveNode] = []
        self.band: list[LiveNode] = []
        self.is_open = False
        self.ended = False
        self.armed = False
        self.count = 0
        self.slots: dict[str, Any] = {}
        self.carried: dict[str, Any] = {}
        self.held: dict[LiveNode, Mapping[str, Any]] = {}

    @property
    def busy(self) -> bool:
        """An inner loop is under way, or about to be."""
        return any(child.is_open or child.armed for child in self.children)

    def receive(self, target: Target, value: Any) -> None:
        """Fill a slot by an edge; it arms the loop, unless that is open."""
        if target.wrap and not isinstance(value, list | tuple):
            value = [value]
        self.slots[target.handle] = value
        if not self.is_open:
            self.armed = all(handle in self.slots for handle in self.iter_in.required)

    def empty(self) -> None:
        """Its ``iterIn`` has fired: empty the slots that do not persist."""
        self.slots = {name: value for name, value in self.slots.items() if self.loop.slots[name].persist}

    def hand_over(self, values: Mapping[str, Any]) -> None:
        """Put an iteration's values where the next one finds them."""
        self.slots.update((f"iterout_{name}", value) for name, value in values.items())

    def final(self) -> dict[str, Any]:
        """The final side: every carried port's last value, None where it never had one."""
        names = (port.name for port in self.loop.loop_ports)
        return {**{f"final_{name}": self.carried.get(name) for name in names}, "final_stop": True}

    def renew(self) -> None:
        """The loop around it has taken a step, or has ended."""
        self.ended = False
        self.held = {}

    def reset(self) -> None:
        """Forget one passage through the loop; only its init slots stay filled."""
        self.count = 0
        self.carried = {}
        self.held = {}
        init_slots = {f"init_{port.name}" for port in self.loop.init_ports}
        self.slots = {name: value for name, value in self.slots.items() if name in init_slots}


class LiveGraph:
    """The nodes and loops of one episode, in dataflow order, with nothing arrived yet.

    ``inner``: the loops inside others, outer before inner. ``verdict``: the last root loop's band.
    """

    def __init__(self, plan: Plan, budget: int) -> None:
        self.plan = plan
        self.nodes = {node_id: LiveNode(plan.nodes[node_id]) for node_id in plan.order}
        self.loops = {
            loop.iter_in: LiveLoop(
                loop, self.nodes[loop.iter_in], self.nodes[loop.iter_out], plan.budget(loop.iter_in, budget)
            )
            for loop in plan.loops.values()
        }
        self.roots = [self.loops[loop_id] for loop_id in plan.root_loops]
        self.inner = [
            self.loops[node] for node in plan.order if node in self.loops and plan.loops[node].parent
        ]
        self.entries = [self.nodes[node_id] for node_id in plan.entries]
        for live in self.loops.values():
            self._nest(live)
        for node in self.nodes.values():
            self._connect(node)
        self._hold(plan.order)
        self.verdict = self.roots[-1].band if self.roots else []

    def _nest(self, live: LiveLoop) -> None:
        if live.loop.parent is not None:
            live.parent = self.loops[live.loop.parent]
        live.children = [self.loops[child] for child in live.loop.children]

    def _connect(self, node: LiveNode) -> None:
        routes = [
            (handle, target, self.nodes[target.node_id])
            for handle, targets in node.planned.out.items()
            for target in targets
        ]
        node.routes = tuple(sorted(routes, key=lambda route: route[1].edge_order))
        if node.planned.loop is not None:
            node.loop = self.loops[node.planned.loop]
            node.gate = node.id in node.loop.loop.held
            node.open = node.gate  # else when the loop opens
            if node.gate:
                node.loop.gates.append(node)
            elif node.type != "iterIn":  # fires only when its loop says so
                node.loop.body.append(node)

    def _hold(self, order: Iterable[str]) -> None:
        """Give each node that comes after root loops to the band of the last of them."""
        free = [node_id for node_id in order if self.nodes[node_id].loop is None]
        for root in reversed(self.roots):
            root.band = [self.nodes[node_id] for node_id in free if node_id in root.loop.after]
            free = [node_id for node_id in free if node_id not in root.loop.after]
            for node in root.band:
                node.open = False


def _gathered(arrivals: list[tuple[int, Any]]) -> list[Any]:
    """Fan-in in edge order: scalars append, lists extend."""
    gathered: list[Any] = []
    for _, value in sorted(arrivals, key=lambda arrival: arrival[0]):
        if isinstance(value, list | tuple):
            gathered.extend(value)
        else:
            gathered.append(value)
    return gathered
