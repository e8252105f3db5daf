"""What is told of a graph and of a node, as lines. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from engine.control.outline import Outline, OutlineNode, OutlineWire
from engine.control.reports import problem_text
from engine.figures import count
from engine.graph.model import Problem
from tui.episode.inks import InkedLine, inked

Problems = Mapping[str, Sequence[Problem]]
"""By node."""


def problems_of(nodes: Sequence[OutlineNode], problems: Sequence[Problem]) -> Problems:
    """A problem is a node's where it names it: ``node 'x'``, or an edge of it by what it joins."""
    found: dict[str, list[Problem]] = {}
    for node in nodes:
        names = {f"node {node.id!r}", f"node {node.shown!r}", node.id}
        for problem in problems:
            if problem.where in names:
                found.setdefault(node.id, []).append(problem)
    return found


def indented(node: OutlineNode) -> str:
    """Deeper by two cells for each loop around it, between whose ends it stands."""
    return "  " * (len(node.loops) - (node.type in ("iterIn", "iterOut"))) + node.shown


def nodes_lines(graph: Outline) -> list[InkedLine]:
    """Every node with its type, as values flow."""
    width = max((len(indented(node)) for node in graph.nodes), default=0)
    return [((f"  {indented(node):<{width}}  ", "plain"), (node.type, "dim")) for node in graph.nodes]


def node_lines(node: OutlineNode, graph: Outline, problems: Sequence[Problem]) -> list[InkedLine]:
    """The node under the cursor: what is wrong with it, its wires, its config."""
    shown = {one.id: one.shown for one in graph.nodes}
    lines: list[InkedLine] = [((node.type, "key"), (f"  {node.label}" if node.label else "", "dim"))]
    lines += [problem_line(problem) for problem in problems]
    if node.id in graph.loops:
        lines.append(inked(f"begins a loop that {shown.get(graph.loops[node.id])} ends", "warn"))
    if node.loops:
        lines.append(
            inked(f"in the loop of {' > '.join(shown.get(loop, loop) for loop in node.loops)}", "dim")
        )
    lines += _wires(
        "takes", [(wire, wire.input, f"{shown.get(wire.source)}.{wire.output}") for wire in node.takes], "←"
    )
    lines += _wires(
        "gives", [(wire, wire.output, f"{shown.get(wire.target)}.{wire.input}") for wire in node.gives], "→"
    )
    if node.config:
        lines.append(inked("config", "strong"))
        text = msgspec.json.format(msgspec.json.encode(node.config, enc_hook=str), indent=2).decode()
        lines += [inked(f"  {line}") for line in text.split("\n")[1:-1]]
    return lines


def overview_lines(graph: Outline | None, problems: Sequence[Problem]) -> list[InkedLine]:
    """The graph as a whole: its problems, what it is for, its loops."""
    lines: list[InkedLine] = [inked(count(len(problems), "problem") if problems else "no problems", "strong")]
    lines += [problem_line(problem) for problem in problems]
    if graph is None:
        return lines
    if graph.unordered:
        lines.append(inked("its loops overlap: the nodes are in the file's order", "warn"))
    lines += about_lines(graph)
    lines += [inked(f"note: {note}", "dim") for note in graph.notes]
    return lines


def about_lines(graph: Outline) -> list[InkedLine]:
    """Its name, what it is for, and how long an episode of it may be."""
    limit = (
        count(graph.step_budget, "step")
        if graph.step_budget is not None
        else "the environment's limit of steps"
    )
    described = [inked(graph.description, "dim")] if graph.description else []
    return [inked(graph.name, "strong"), *described, inked(f"at most {limit}", "dim")]


def about_run(command: str, graph: Outline | None) -> list[list[InkedLine]]:
    """What would run, in parts: the command that does the same, and the graph; either may be missing."""
    parts: list[list[InkedLine]] = []
    if command:
        parts.append([inked("the same from a shell", "strong"), inked(f"  {command}")])
    if graph is not None:
        parts.append([*about_lines(graph), *nodes_lines(graph)])
    return parts


def problem_line(problem: Problem) -> InkedLine:
    return inked(problem_text(problem), "bad" if problem.severity == "error" else "warn")


def _wires(title: str, ends: Sequence[tuple[OutlineWire, str, str]], arrow: str) -> list[InkedLine]:
    """Aligned: port, arrow, the other end, type."""
    if not ends:
        return []
    width = max(len(port) for _, port, _ in ends)
    lines: list[InkedLine] = [inked(title, "strong")]
    for wire, port, other in ends:
        lines.append(
            ((f"  {port:<{width}} {arrow} ", "plain"), (other, "key"), (f"  {wire.wire_type}", "dim"))
        )
    return lines
