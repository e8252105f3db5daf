"""Everything that is wrong with a graph, found before anything starts (contract, "Refused at load")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.graph.analysis import Analysis, analyse
from engine.graph.check_edges import edge_problems, unwired_inputs
from engine.graph.check_loops import loop_problems
from engine.graph.model import Graph, PortResolver, Problem
from engine.graph.names import called, edge_name, misspelt, near, near_or_all, node_name

GRAPH_KEYS = (
    "name", "description", "nodes", "edges", "step_budget", "eval_graph", "eval_split", "containers",
    "access_grants", "hooks", "kind",
)  # fmt: skip
NODE_KEYS = ("id", "type", "label", "config", "subgraph")
EDGE_KEYS = ("id", "source", "target", "sourceHandle", "targetHandle")
CONTAINER_KEYS = ("id", "label", "states")
STATE_KEYS = ("type", "value_type", "config", "lifetime", "reset_on")
REDUCERS = ("accumulator", "lastWrite", "counter")
KINDS = ("graph", "node")
MOST_STEPS = 1_000_000_000
LIFETIMES = ("forever", "step", "episode", "run", "custom")


def check_graph(graph: Graph, resolve: PortResolver, known_types: Iterable[str]) -> list[Problem]:
    """Every error and warning at once; a graph without an error can be planned. Raises nothing.

    ``known_types`` are offered where a node's type is unknown. ``resolve`` is asked once for each node; it
    may raise ValueError to refuse the node's config.
    """
    return problems_of(analyse(graph, resolve, tuple(known_types)))


def problems_of(analysis: Analysis) -> list[Problem]:
    """Errors first, else in the order of the rules."""
    found = [
        *analysis.problems,
        *_head(analysis.graph),
        *_outputs(analysis),
        *_memory(analysis),
        *edge_problems(analysis),
        *unwired_inputs(analysis),
        *loop_problems(analysis),
        *_nothing_starts(analysis),
        *_misspelt_keys(analysis.graph),
    ]
    found.sort(key=lambda problem: problem.severity != "error")
    return [called(problem, analysis.names) for problem in found] if analysis.names else found


def _head(graph: Graph) -> Iterator[Problem]:
    if graph.kind not in KINDS:
        yield Problem(
            "bad-kind", "graph", f"kind is {graph.kind!r}", near_or_all(graph.kind, KINDS, "there are")
        )
    if graph.step_budget is not None and not 1 <= graph.step_budget <= MOST_STEPS:
        message = f"step_budget must be 1 to {MOST_STEPS} steps, or null to leave it open"
        yield Problem("bad-budget", "graph", message)


def _misspelt_keys(graph: Graph) -> Iterator[Problem]:
    """Unknown keys are kept, as they are the canvas's own; one that looks like ours is none of those."""
    yield from misspelt("graph", "", graph.extra, GRAPH_KEYS)
    for node in graph.nodes:
        yield from misspelt(node_name(node.id), "", node.extra, NODE_KEYS)
    for edge in graph.edges:
        yield from misspelt(edge_name(edge.id), "", edge.extra, EDGE_KEYS)
    for container in graph.containers:
        where = f"container {container.id!r}"
        yield from misspelt(where, "", container.extra, CONTAINER_KEYS)
        for name, state in container.states.items():
            yield from misspelt(where, f"state {name!r}: ", state.extra, STATE_KEYS)


def _outputs(analysis: Analysis) -> Iterator[Problem]:
    graph = analysis.graph
    outputs = [node for node in graph.nodes if node.type == "graphOut" and not node.path]
    if graph.eval_graph and graph.kind == "graph" and not outputs:
        message = "an evaluation graph needs a graphOut, or it ends without a verdict"
        yield Problem("no-output", "graph", message, "add one, or set eval_graph to false")
    named: dict[str, str] = {}
    for node in outputs:
        if not analysis.wired[node.id]:
            message = "has no edge, so it never gives an output"
            yield Problem("output-unwired", node_name(node.id), message, severity="warning")
        name = node.config.get("portName")
        if not isinstance(name, str) or not name:
            message = "has no config.portName, so its value is no output of the run"
            yield Problem("output-unnamed", node_name(node.id), message, severity="warning")
        elif name in named:
            message = f"gives the same output {name!r} as {named[name]!r}; the later value wins"
            yield Problem("output-twice", node_name(node.id), message, severity="warning")
        else:
            named[name] = node.id


def _memory(analysis: Analysis) -> Iterator[Problem]:
    graph = analysis.graph
    for container in graph.containers:
        for name, state in container.states.items():
            for what, value, options in (
                ("type", state.type, REDUCERS),
                ("lifetime", state.lifetime, LIFETIMES),
            ):
                if value not in options:
                    where = f"container {container.id!r}"
                    remedy = near_or_all(value, options, "there are")
                    yield Problem("bad-state", where, f"state {name!r} has the {what} {value!r}", remedy)
    known = {
        "node": list(analysis.nodes),
        "container": [container.id for container in graph.containers],
    }
    for grant in graph.grants:
        for what, target in (("node", grant.node_id), ("container", grant.container_id)):
            if target not in known[what]:
                message = f"names the {what} {target!r}, which is not in the graph"
                if what == "container":
                    message += " and must come from a nodeset"
                remedy = near(target, known[what])
                yield Problem("idle-grant", f"grant {grant.id!r}", message, remedy, severity="warning")


def _nothing_starts(analysis: Analysis) -> Iterator[Problem]:
    if analysis.edges and not analysis.entries():
        message = "no node starts: each has an incoming edge or a required input"
        yield Problem("nothing-starts", "graph", message, severity="warning")
