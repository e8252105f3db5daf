"""What is wrong with edges as the loops lie: a verdict fed from inside a loop, an edge into another loop."""

from __future__ import annotations

from collections.abc import Iterator

from engine.graph.analysis import Analysis
from engine.graph.loops import Forest
from engine.graph.model import Edge, Node, Problem
from engine.graph.names import edge_name, node_name

VERDICTS = ("metrics", "success")


def loop_problems(analysis: Analysis) -> Iterator[Problem]:
    forest = analysis.forest
    if forest is None:
        return
    passing = {edge.source for edge in analysis.edges.values()}
    for edge in analysis.edges.values():
        target = analysis.nodes[edge.target]
        problem = (
            _verdict(forest, edge, target, passing)
            or _band(forest, edge)
            or _crossing(forest, edge)
            or _past_an_end(forest, edge)
        )
        if problem:
            yield problem
    yield from _standing_still(analysis, forest)


def _verdict(forest: Forest, edge: Edge, target: Node, passing: set[str]) -> Problem | None:
    """An output of the run that tells the verdict is given once, after the loop."""
    output = target.config.get("portName")
    is_output = target.type == "graphOut" and not target.path and target.id not in passing
    loop = next((root for root in forest.roots if forest.inside(edge.source, root)), None)
    if not is_output or output not in VERDICTS or loop is None:
        return None
    message = f"feeds the output {output!r} from {edge.source!r}, inside the loop of {loop!r}"
    return Problem("verdict-in-loop", edge_name(edge.id), message, _from_the_end(forest, loop))


def _band(forest: Forest, edge: Edge) -> Problem | None:
    """What comes after a root loop may not hear from inside it; the band may hear from inside no loop."""
    for after in forest.roots:
        if edge.target not in forest.after[after] or edge.source in forest.after[after]:
            continue
        loops = forest.roots if after == forest.roots[-1] else (after,)
        loop = next((loop for loop in loops if forest.inside(edge.source, loop)), None)
        if loop is not None:
            message = (
                f"feeds {edge.target!r}, which comes after the loop of {after!r}, from {edge.source!r} inside"
            )
            return Problem("into-after-loop", edge_name(edge.id), message, _from_the_end(forest, loop))
    return None


def _crossing(forest: Forest, edge: Edge) -> Problem | None:
    """One loop reaches another that is neither around nor inside it only from its end."""
    for entered in forest.bodies:
        if edge.target not in forest.bodies[entered] or edge.source in forest.bodies[entered]:
            continue
        for left in forest.bodies:
            apart = left not in forest.around[entered] and entered not in forest.around[left]
            if apart and forest.inside(edge.source, left):
                message = f"goes from inside the loop of {left!r} into the loop of {entered!r}"
                return Problem("crosses-loops", edge_name(edge.id), message, _from_the_end(forest, left))
    return None


def _past_an_end(forest: Forest, edge: Edge) -> Problem | None:
    """An edge that passes a loop's ends by runs as it is drawn, which is seldom what was meant: a warning."""
    left, entered = forest.innermost.get(edge.source), forest.innermost.get(edge.target)
    if entered is None or edge.target in forest.pairs:
        return None
    where = edge_name(edge.id)
    if edge.source not in forest.region[entered]:
        message = (
            f"goes into the loop of {entered!r} past its iterIn, so its value is there for one firing only"
        )
        remedy = "take it in by an init port that persists"
        return Problem("enters-loop", where, message, remedy, severity="warning")
    if left and left != entered and entered in forest.around[left] and forest.inside(edge.source, left):
        message = f"leaves the loop of {left!r} in each of its iterations, not at its end"
        return Problem("leaves-loop", where, message, _from_the_end(forest, left), severity="warning")
    return None


def _from_the_end(forest: Forest, loop: str) -> str:
    iter_out = forest.pairs[loop].iter_out
    return f"carry the value in a port of {iter_out!r}, and take it from its final_ side"


def _standing_still(analysis: Analysis, forest: Forest) -> Iterator[Problem]:
    for loop, pair in forest.pairs.items():
        if not analysis.wired[loop]:
            message = "no edge goes into it, so its loop never starts"
            yield Problem("loop-never-starts", node_name(loop), message, severity="warning")
        if not analysis.wired[pair.iter_out] - {"stop"}:
            message = "no edge goes into its ports, so its loop never takes a step"
            yield Problem("loop-never-steps", node_name(pair.iter_out), message, severity="warning")
        if pair.step_budget is not None and loop in forest.roots:
            message = (
                f"config.step_budget {pair.step_budget} is ignored: a root loop has the episode's budget"
            )
            yield Problem(
                "ignored-budget", node_name(loop), message, "set it on the graph", severity="warning"
            )
