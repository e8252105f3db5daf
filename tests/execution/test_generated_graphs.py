"""What holds of every graph, however it was made up: see tests.execution.drawn."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.execution.record import Firing
from engine.graph.plan import firing_cap
from tests.execution.drawn import BUDGET, Drawn, graphs
from tests.execution.sketch import Box, Ran, executor, sketch


def play(box: Box, seed: int) -> Ran:
    plan = sketch(box.nodes, box.edges, containers=box.containers, grants=box.grants)
    made, log = executor(plan, box.nodes, budget=BUDGET, seed=seed)
    return Ran(plan, asyncio.run(made.run()), log)


@settings(deadline=None)  # the machine is shared
@given(graphs(), st.integers(0, 3))
def test_every_graph_ends_and_keeps_the_rules(drawn: Drawn, seed: int):
    ran = play(drawn.nested(), seed)
    firings = [firing for firing in ran.log.firings if not is_final_only(firing)]
    assert len(firings) <= firing_cap(ran.plan, BUDGET)
    never_without_required_inputs(ran)
    steps_are_those_of_the_root_loops(ran)
    final_sides_are_emitted_once(ran)
    budgets_hold(ran)
    nothing_in_a_loop_fires_after_its_end(ran)
    the_verdict_comes_after_the_loops(ran)
    memory_is_looked_at_after_each_root_step(ran)


@settings(deadline=None)  # the machine is shared
@given(graphs(), st.integers(0, 3))
def test_the_same_seed_gives_the_same_trace(drawn: Drawn, seed: int):
    one, two = play(drawn.nested(), seed), play(drawn.nested(), seed)
    assert trace(one) == trace(two)
    assert one.outcome.outputs == two.outcome.outputs
    assert one.outcome.node_errors == two.outcome.node_errors


@settings(deadline=None)  # the machine is shared
@given(graphs(), st.integers(0, 3))
def test_composites_change_nothing(drawn: Drawn, seed: int):
    nested, flat = play(drawn.nested(), seed), play(drawn.flat(), seed)
    nested.log.firings = [firing for firing in nested.log.firings if not is_gate(firing)]
    assert trace(nested) == trace(flat)
    assert nested.outcome.outputs == flat.outcome.outputs
    assert (nested.outcome.termination, nested.outcome.steps) == (
        flat.outcome.termination,
        flat.outcome.steps,
    )
    assert nested.log.checkpoints == flat.log.checkpoints


def trace(ran: Ran) -> list[tuple[Any, ...]]:
    return [(f.planned.node.id, f.step, dict(f.inputs), dict(f.outputs), f.error) for f in ran.log.firings]


def is_final_only(firing: Firing) -> bool:
    """The line of a loop that ended otherwise than at a boundary: its final side, and no iteration."""
    return "final_stop" in firing.outputs and not firing.inputs


def is_gate(firing: Firing) -> bool:
    """Of an output of a composite, which passes values on when its loop has ended."""
    return firing.planned.node.type == "graphOut" and bool(firing.planned.node.path)


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
        elif planned.loop is not None and "final_stop" not in firing.outputs and not is_gate(firing):
            assert planned.loop in open_loops, planned.node.id
        if "final_stop" in firing.outputs and planned.loop is not None:
            open_loops.discard(planned.loop)


def the_verdict_comes_after_the_loops(ran: Ran) -> None:
    if ran.plan.root_loops:
        in_loops = [at for at, f in enumerate(ran.log.firings) if f.planned.loop is not None]
        verdict = [at for at, node_id in enumerate(ran.order) if node_id in ran.plan.after_band]
        assert verdict == [] or max(in_loops) < min(verdict)


def memory_is_looked_at_after_each_root_step(ran: Ran) -> None:
    steps = ran.outcome.steps if ran.plan.root_loops else 0
    assert [step for step, _ in ran.log.checkpoints] == list(range(1, steps + 1))
    counts = [checkpoint["memory"]["values"] for _, checkpoint in ran.log.checkpoints]
    assert all(values["steps"] == 0 for values in counts)
    assert [values["all"] for values in counts] == sorted(values["all"] for values in counts)
