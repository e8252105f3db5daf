"""Graphs made up by hypothesis: loops in loops, fan-in, values that fail to come, nodes that raise."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.components.errors import HostCrashed, StopExecution
from engine.execution.record import Firing
from engine.graph.plan import firing_cap
from tests.execution.sketch import Ran, Spec, emits, executor, loop, out, sketch, step

BUDGET = 3
MOODS = ("steady", "steady", "steady", "mute", "moody", "raises", "halts", "crashes")


@dataclass
class Drawn:
    """``depth`` of the graph's loops, and how each of its nodes behaves."""

    moods: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    loops: dict[str, tuple[str, ...]] = field(default_factory=dict)
    edges: list[str] = field(default_factory=list)
    budgets: dict[str, int | None] = field(default_factory=dict)
    carried: dict[str, str] = field(default_factory=dict)


@st.composite
def graphs(draw: Callable[..., Any]) -> Drawn:
    """A chain of blocks from ``reset`` to ``verdict``: plain nodes with fan-in, and loops of more blocks."""
    drawn = Drawn()

    def block(source: str, depth: int, around: tuple[str, ...]) -> str:
        """Add nodes fed by ``source`` (a handle); the handle that the next block may take."""
        if depth < 3 and draw(st.booleans()):
            name = f"l{len(drawn.loops)}"
            drawn.loops[name] = around
            drawn.budgets[name] = draw(st.none() | st.integers(1, 2))
            drawn.carried[name] = draw(st.sampled_from(["v", "v-", "v?"]))
            drawn.edges.append(f"{source} -> {name}_in.init_go")
            inside = f"{name}_in.{draw(st.sampled_from(['init_go', 'init_go', 'step']))}"
            for _ in range(draw(st.integers(1, 2))):
                inside = block(inside, depth + 1, (*around, name))
            drawn.edges.append(f"{inside} -> {name}_out.v")
            if draw(st.booleans()):
                drawn.edges.append(f"{inside.split('.')[0]}.stop -> {name}_out.stop")
            return f"{name}_out.final_v"
        made = []
        for _ in range(draw(st.integers(1, 3))):
            name = f"n{len(drawn.moods)}"
            drawn.moods[name] = draw(st.sampled_from(MOODS))
            drawn.inputs[name] = draw(st.sampled_from(["x y?", "x? y?", "x y:LIST[ANY]?", "x:LIST[ANY]"]))
            drawn.edges.append(f"{source} -> {name}.x")
            if made and "y" in drawn.inputs[name]:
                drawn.edges.append(f"{draw(st.sampled_from(made))}.v -> {name}.y")
            made.append(name)
        last = made[-1]
        drawn.edges += [f"{name}.v -> {last}.x" for name in made[:-1] if draw(st.booleans())]
        return f"{last}.v"

    handle = "reset.v"
    for _ in range(draw(st.integers(1, 3))):
        handle = block(handle, 0, ())
    drawn.edges += [f"{handle} -> verdict.x", "reset.v -> verdict.y", "verdict.v -> o.value"]
    # A stop edge may only come from a node; a loop that ends in a loop has none.
    drawn.edges = [edge for edge in drawn.edges if not edge.split(".stop ->")[0].endswith("_out")]
    return drawn


def node(mood: str, inputs: str) -> Spec:
    fired = 0

    def do(given: dict[str, Any], ctx: Any) -> dict[str, Any]:
        nonlocal fired
        fired += 1
        if mood == "raises" and fired % 2 == 0:
            raise RuntimeError("now and then")
        if mood == "halts" and fired == 3:
            raise StopExecution("third time")
        if mood == "crashes" and fired == 4:
            raise HostCrashed("fourth time")
        if mood == "mute" or (mood == "moody" and ctx.rng.random() < 0.3):
            return {}
        return {"v": fired, "stop": bool(ctx.rng.random() < 0.2)}

    return step(inputs, "v stop", do)


def play(drawn: Drawn, seed: int) -> Ran:
    nodes: dict[str, Spec] = {"reset": emits(v=1), "verdict": step("x? y?", "v"), "o": out("score")}
    for name in drawn.loops:
        nodes |= loop(name, init="go+", carry=drawn.carried[name], budget=drawn.budgets[name])
    nodes |= {name: node(mood, drawn.inputs[name]) for name, mood in drawn.moods.items()}
    plan = sketch(nodes, drawn.edges)
    made, log = executor(plan, nodes, budget=BUDGET, seed=seed)
    return Ran(plan, asyncio.run(made.run()), log)


@settings(deadline=None)  # the machine is shared
@given(graphs(), st.integers(0, 3))
def test_every_graph_ends_and_keeps_the_rules(drawn: Drawn, seed: int):
    ran = play(drawn, seed)
    firings = [firing for firing in ran.log.firings if not is_final_only(firing)]
    assert len(firings) <= firing_cap(ran.plan, BUDGET)
    never_without_required_inputs(ran)
    steps_are_those_of_the_root_loops(ran)
    final_sides_are_emitted_once(ran)
    budgets_hold(ran)
    nothing_in_a_loop_fires_after_its_end(ran)
    the_verdict_comes_after_the_loops(ran)


@settings(deadline=None)  # the machine is shared
@given(graphs(), st.integers(0, 3))
def test_the_same_seed_gives_the_same_trace(drawn: Drawn, seed: int):
    one, two = play(drawn, seed), play(drawn, seed)
    assert trace(one) == trace(two)
    assert one.outcome.outputs == two.outcome.outputs
    assert one.outcome.node_errors == two.outcome.node_errors


def trace(ran: Ran) -> list[tuple[Any, ...]]:
    return [(f.planned.node.id, f.step, dict(f.inputs), dict(f.outputs), f.error) for f in ran.log.firings]


def is_final_only(firing: Firing) -> bool:
    """The line of a loop that ended otherwise than at a boundary: its final side, and no iteration."""
    return "final_stop" in firing.outputs and not firing.inputs


def never_without_required_inputs(ran: Ran) -> None:
    for firing in ran.log.firings:
        assert firing.planned.required <= set(firing.inputs) or is_final_only(firing)


def steps_are_those_of_the_root_loops(ran: Ran) -> None:
    ends = [ran.plan.loops[root].iter_out for root in ran.plan.root_loops]
    steps = sum(not is_final_only(firing) for end in ends for firing in ran.of(end))
    assert ran.outcome.steps == (steps if ends else 1)


def final_sides_are_emitted_once(ran: Ran) -> None:
    openings = Counter(
        firing.planned.node.id for firing in ran.of_type("iterIn") if firing.outputs["step"] == 0
    )
    for loop_id, planned in ran.plan.loops.items():
        emitted = len(ran.finals(planned.iter_out))
        assert emitted == (1 if planned.parent is None else openings[loop_id])
        assert all(set(final) == {"final_v", "final_stop"} for final in ran.finals(planned.iter_out))


def budgets_hold(ran: Ran) -> None:
    for loop_id, planned in ran.plan.loops.items():
        passage = 0
        for firing in ran.of(planned.iter_out):
            passage += not is_final_only(firing)
            assert passage <= ran.plan.budget(loop_id, BUDGET)
            if "final_stop" in firing.outputs:
                passage = 0


def nothing_in_a_loop_fires_after_its_end(ran: Ran) -> None:
    open_loops: set[str] = set()
    for firing in ran.log.firings:
        planned = firing.planned
        if planned.node.type == "iterIn":
            open_loops.add(planned.node.id)
        elif planned.loop is not None and "final_stop" not in firing.outputs:
            assert planned.loop in open_loops, planned.node.id
        if "final_stop" in firing.outputs and planned.loop is not None:
            open_loops.discard(planned.loop)


def the_verdict_comes_after_the_loops(ran: Ran) -> None:
    if ran.plan.root_loops:
        in_loops = [at for at, f in enumerate(ran.log.firings) if f.planned.loop is not None]
        verdict = [at for at, node_id in enumerate(ran.order) if node_id in ran.plan.after_band]
        assert verdict == [] or max(in_loops) < min(verdict)
