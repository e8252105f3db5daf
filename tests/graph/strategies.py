"""Random graphs: any at all, and nests of loops whose layout is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from engine.graph.model import Container, Edge, Grant, Graph, Hook, Node, State
from tests.graph.drawing import TYPES

T = TypeVar("T")

TEXT = st.text(max_size=5)
NAMES = st.text(min_size=1, max_size=3)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=2)
UNKNOWN_KEYS = st.dictionaries(TEXT.map("x-".__add__), JSON, max_size=1)

KEYS = [
    "name",
    "nodes",
    "edges",
    "containers",
    "hooks",
    "step_budget",
    "id",
    "type",
    "source",
    "target",
    "config",
    "states",
]
FILES = st.dictionaries(
    st.sampled_from(KEYS),
    JSON | st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4), max_size=2),
    max_size=5,
)
"""JSON data with the keys of a graph in places that may be right."""


def writable_graphs() -> st.SearchStrategy[Graph]:
    """Graphs with every field set, and unknown keys at every level; composites in composites."""
    return st.recursive(
        _writable_graphs(st.none()), lambda inner: _writable_graphs(st.none() | inner), max_leaves=3
    )


def _writable_graphs(subgraphs: st.SearchStrategy[Graph | None]) -> st.SearchStrategy[Graph]:
    states = st.builds(State, NAMES, NAMES, OBJECTS, NAMES, _tuples(NAMES), UNKNOWN_KEYS)
    nodes = st.builds(Node, NAMES, NAMES, TEXT, OBJECTS, subgraphs, UNKNOWN_KEYS)
    containers = st.builds(Container, NAMES, TEXT, st.dictionaries(TEXT, states, max_size=2), UNKNOWN_KEYS)
    hooks = st.builds(
        Hook, NAMES, NAMES, NAMES, st.none() | NAMES, st.integers(), st.booleans(), UNKNOWN_KEYS
    )
    return st.builds(
        Graph,
        name=TEXT,
        description=TEXT,
        nodes=_tuples(nodes),
        edges=_tuples(st.builds(Edge, NAMES, NAMES, NAMES, NAMES, NAMES, UNKNOWN_KEYS)),
        step_budget=st.none() | st.integers(),
        eval_graph=st.booleans(),
        containers=_tuples(containers),
        grants=_tuples(st.builds(Grant, NAMES, NAMES, NAMES, UNKNOWN_KEYS)),
        hooks=_tuples(hooks),
        kind=NAMES,
        extra=UNKNOWN_KEYS,
    )


def _tuples(items: st.SearchStrategy[T], max_size: int = 2) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(items, max_size=max_size).map(tuple)


IDS = st.sampled_from("abcdef")
HANDLES = st.sampled_from(
    ["x", "y", "value", "obs", "init_x", "iterout_x", "final_x", "stop", "step", "default"]
)
LOOP_PORTS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["x", "y"])},
        optional={"wire_type": st.sampled_from(["ANY", "TEXT", "LIST[TEXT]"]), "required": st.booleans()},
    )
    | JSON,
    max_size=2,
)
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "pairedWith": IDS | JSON,
        "ports": LOOP_PORTS | JSON,
        "initPorts": LOOP_PORTS | JSON,
        "portName": st.sampled_from(["metrics", "success", "more"]) | JSON,
        "step_budget": st.integers(-1, 9) | JSON,
        "init_ports": JSON,
    },
)
NODE_TYPES = st.sampled_from(
    [*["iterIn", "iterOut", "graphIn"] * 3, "note", "termination", "robot__move", *TYPES]
)


def graphs() -> st.SearchStrategy[Graph]:
    """Graphs of which nothing but the types of the fields is right; composites in composites."""
    return st.recursive(_graphs(st.none()), lambda inner: _graphs(st.none() | inner), max_leaves=3)


def _graphs(subgraphs: st.SearchStrategy[Graph | None]) -> st.SearchStrategy[Graph]:
    nodes = st.builds(Node, IDS, NODE_TYPES, config=CONFIGS, subgraph=subgraphs)
    return st.builds(
        Graph,
        name=TEXT,
        nodes=_tuples(nodes, max_size=6),
        edges=_tuples(st.builds(Edge, TEXT, IDS, IDS, HANDLES, HANDLES), max_size=9),
        step_budget=st.none() | st.integers(),
        eval_graph=st.booleans(),
        containers=_tuples(st.builds(Container, IDS)),
        grants=_tuples(st.builds(Grant, IDS, IDS, IDS)),
    )


@st.composite
def knots(draw: st.DrawFn) -> Graph:
    """Two or three sound pairs, three nodes, and edges that join all these anyhow."""
    pairs = draw(st.integers(2, 3))
    nodes = [Node(name, "tool__any") for name in ("p", "q", "r")]
    for loop in range(pairs):
        nodes.append(Node(f"in{loop}", "iterIn", config={"pairedWith": f"out{loop}"}))
        nodes.append(
            Node(f"out{loop}", "iterOut", config={"pairedWith": f"in{loop}", "ports": [{"name": "x"}]})
        )
    names = st.sampled_from([node.id for node in nodes])
    ends = draw(st.lists(st.tuples(names, names), max_size=16))
    edges = []
    for index, (source, target) in enumerate(ends):
        source_handle = {"i": "step", "o": "final_x"}.get(source[0], "v")
        target_handle = "x" if target.startswith("out") else "v"
        edges.append(Edge(f"e{index}", source, target, source_handle, target_handle))
    return Graph("knot", tuple(nodes), tuple(edges), eval_graph=False)


@dataclass
class Nest:
    """A graph in the making: what is drawn so far, and what its plan should say."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    loop_of: dict[str, str | None] = field(default_factory=dict)
    parent: dict[str, str | None] = field(default_factory=dict)
    budgets: dict[str, int | None] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    band: set[str] = field(default_factory=set)

    def add(self, loop: str | None, node: Node) -> str:
        self.nodes.append(node)
        self.loop_of[node.id] = loop
        return node.id

    def tool(self, loop: str | None, source: tuple[str, str]) -> str:
        """A node that takes ``source``; outside all loops it comes after those drawn so far."""
        node = self.add(loop, Node(f"n{len(self.nodes)}", "tool__any"))
        self.join(source, node, "v")
        return node

    def join(self, source: tuple[str, str], target: str, handle: str) -> None:
        self.edges.append(Edge(f"e{len(self.edges)}", source[0], target, source[1], handle))

    def graph(self) -> Graph:
        return Graph("nest", tuple(self.nodes), tuple(self.edges), eval_graph=False)


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    """A chain of nodes and loops, and in each loop such a chain again; viewers hang on anywhere."""
    nest = Nest()
    start = nest.add(None, Node("start", "env__reset"))
    _chain(draw, nest, (start, "obs"), None, depth=0)
    nest.nodes = draw(st.permutations(nest.nodes))
    return nest


def _chain(
    draw: st.DrawFn, nest: Nest, source: tuple[str, str], loop: str | None, depth: int
) -> tuple[str, str]:
    """Draw a chain that goes on from the output ``source``; its last output."""
    for is_loop in draw(st.lists(st.booleans(), max_size=4 - depth)):
        if is_loop and depth < 3:
            source = _loop(draw, nest, source, loop, depth)
            continue
        made = [nest.tool(loop, source)]
        source = (made[0], "v")
        if draw(st.booleans()):
            made.append(nest.tool(None, source))
        if loop is None and nest.roots:
            nest.band.update(made)
    return source


def _loop(
    draw: st.DrawFn, nest: Nest, source: tuple[str, str], parent: str | None, depth: int
) -> tuple[str, str]:
    number = len(nest.parent)
    iter_in, iter_out = f"in{number}", f"out{number}"
    budget = draw(st.none() | st.integers(1, 5))
    init = {"pairedWith": iter_out, "initPorts": [{"name": "x"}], "step_budget": budget}
    nest.add(iter_in, Node(iter_in, "iterIn", config=init))
    nest.add(iter_in, Node(iter_out, "iterOut", config={"pairedWith": iter_in, "ports": [{"name": "x"}]}))
    nest.parent[iter_in] = parent
    nest.budgets[iter_in] = budget
    nest.join(source, iter_in, "init_x")
    nest.join(_chain(draw, nest, (iter_in, "init_x"), iter_in, depth + 1), iter_out, "x")
    if parent is None:
        nest.roots.append(iter_in)
        nest.band.clear()
    return (iter_out, "final_x")
