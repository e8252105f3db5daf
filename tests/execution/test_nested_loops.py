"""Contract graph-json.md, "Loops": loops inside loops."""

from __future__ import annotations

import pytest

from tests.execution.sketch import Builtin, emits, loop, out, run, step
from tests.execution.test_loops import ticking


def nested(inner_stop: int = 2, outer_stop: int = 3, inner_budget: int | None = None):
    """outer: plan → (inner: tick) → digest → outer's end → output."""
    ticks = 0

    def tick(inputs, ctx):
        nonlocal ticks
        ticks = ticks + 1 if inputs.get("mark") != "fresh" else 1
        return {"tick": ticks, "done": ticks >= inner_stop}

    outer_count = 0

    def digest(inputs, ctx):
        nonlocal outer_count
        outer_count += 1
        return {"result": inputs["x"], "done": outer_count >= outer_stop}

    nodes = {
        "reset": emits(go="go"),
        **loop("outer", init="go+", carry="result"),
        "plan": step("go", "task", lambda i, c: "fresh"),
        **loop("inner", init="task", carry="tick", budget=inner_budget),
        "tick": step("mark", "tick done", tick),
        "digest": step("x", "result done", digest),
        "o": out("result"),
    }
    edges = [
        "reset.go -> outer_in.init_go",
        "outer_in.init_go -> plan.go",
        "plan.task -> inner_in.init_task",
        "inner_in.init_task -> tick.mark",
        "inner_in.iterout_tick -> tick.mark",
        "tick.tick -> inner_out.tick",
        "tick.done -> inner_out.stop",
        "inner_out.final_tick -> digest.x",
        "digest.result -> outer_out.result",
        "digest.done -> outer_out.stop",
        "outer_out.final_result -> o.value",
    ]
    return nodes, edges


async def test_an_inner_loop_runs_to_its_end_in_each_outer_iteration():
    ran = await run(*nested(inner_stop=2, outer_stop=3), budget=9)
    once = ["outer_in", "plan", *["inner_in", "tick", "inner_out"] * 2, "digest", "outer_out"]
    assert ran.order == ["reset", *once * 3, "o"]
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 3)
    assert len(ran.finals("inner_out")) == 3
    assert len(ran.finals("outer_out")) == 1
    assert ran.outcome.outputs == {"result": 2}


async def test_it_re_opens_with_its_counter_at_zero():
    ran = await run(*nested(inner_stop=2, outer_stop=3), budget=9)
    assert [firing.outputs["step"] for firing in ran.of("inner_in")] == [0, 1] * 3


async def test_and_without_what_it_carried_before():
    ran = await run(*nested(inner_stop=2, outer_stop=2), budget=9)
    assert [set(inputs) for inputs in ran.inputs("inner_in")] == [
        {"init_task"},
        {"iterout_tick"},
    ] * 2


async def test_steps_in_the_log_are_those_of_the_root_loop():
    ran = await run(*nested(inner_stop=3, outer_stop=2), budget=9)
    assert [firing.step for firing in ran.of("tick")] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("own", "expected"), [(4, 4), (None, 6)])
async def test_its_budget_is_its_own_else_its_parents(own, expected):
    ran = await run(*nested(inner_stop=99, outer_stop=1, inner_budget=own), budget=6)
    assert ran.order.count("tick") == expected
    assert ran.outcome.termination == "stopped", "the inner loop's end is not the run's"


async def test_an_inner_loop_that_runs_dry_ends_and_the_outer_one_goes_on():
    nodes, edges = nested(inner_stop=99, outer_stop=2)
    nodes["tick"] = step("mark", "tick done", lambda i, c: {"tick": 1} if i["mark"] == "fresh" else {})
    ran = await run(nodes, edges, budget=9)
    assert [firing["final_tick"] for firing in ran.finals("inner_out")] == [1, 1]
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 2)


async def test_one_that_runs_dry_is_not_opened_again_by_its_own_values():
    nodes, edges = nested(outer_stop=2)
    nodes |= loop("inner", init="task+", carry="tick")
    fresh = {"tick": 1, "hint": 1}
    nodes["tick"] = step(
        "mark", "tick done hint", lambda i, c: fresh if i["mark"] == "fresh" else {"hint": 2}
    )
    edges.append("tick.hint -> inner_in.hint")
    ran = await run(nodes, edges, budget=9)
    assert ran.order.count("inner_in") == 4
    assert len(ran.finals("inner_out")) == 2


async def test_a_graph_out_inside_holds_its_last_value_and_passes_it_on_once():
    nodes, edges = nested(inner_stop=3, outer_stop=2)
    nodes["gate"] = out("tick")
    edges[edges.index("inner_out.final_tick -> digest.x")] = "gate.value -> digest.x"
    edges.append("tick.tick -> gate.value")
    ran = await run(nodes, edges, budget=9)
    assert ran.order.count("gate") == 6
    assert ran.inputs("digest") == [{"x": 3}, {"x": 3}]
    assert ran.outcome.outputs == {"result": 3}


async def test_the_outer_boundary_waits_for_the_inner_loop():
    """The outer iterOut has all it requires before the inner loop has begun."""
    nodes, edges = nested(inner_stop=3, outer_stop=1)
    nodes |= loop("outer", init="go+", carry="quick result?")
    edges.append("plan.task -> outer_out.quick")
    ran = await run(nodes, edges, budget=3)
    assert ran.order[-3:] == ["digest", "outer_out", "o"]
    assert ran.finals("outer_out") == [{"final_quick": "fresh", "final_result": 3, "final_stop": True}]


async def test_and_goes_on_although_nothing_of_the_inner_loop_reaches_it():
    nodes, edges = nested(inner_stop=3)
    nodes |= loop("outer", init="go+", carry="quick result?")
    nodes["digest"] = step("x", "result done", lambda i, c: {})
    edges.append("plan.task -> outer_out.quick")
    ran = await run(nodes, edges, budget=2)
    assert (ran.outcome.termination, ran.outcome.steps) == ("budget", 2)


async def test_a_passage_begins_with_nothing_left_over_from_the_last():
    """``pair`` gets one of its two inputs in each passage; the inner loop of the second carries nothing."""
    nodes, edges = nested(outer_stop=2)
    passages = 0

    def tick(inputs, ctx):
        nonlocal passages
        passages += 1
        return {"tick": 7, "left": 1, "done": True} if passages == 1 else {"right": 2}

    nodes |= loop("inner", init="task", carry="tick pair?")
    nodes["tick"] = step("mark", "tick done left right", tick)
    nodes["pair"] = step("left right", "pair")
    edges += ["tick.left -> pair.left", "tick.right -> pair.right", "pair.pair -> inner_out.pair"]
    ran = await run(nodes, edges)
    assert "pair" not in ran.order
    assert [final["final_tick"] for final in ran.finals("inner_out")] == [7, None]


async def test_an_edge_from_inside_fills_a_slot_and_opens_nothing():
    nodes, edges = nested(inner_stop=2, outer_stop=2)
    nodes["see"] = step("x")
    edges += ["tick.tick -> inner_in.hint", "inner_in.hint -> see.x"]
    ran = await run(nodes, edges, budget=9)
    assert [inputs["x"] for inputs in ran.inputs("see")] == [1, 1]
    assert ran.order.count("inner_in") == 4


async def test_an_inner_loop_that_was_about_to_open_when_its_outer_one_ended_does_not_open_later():
    """``late`` arms the innermost loop only after the iterOut of the middle one has fired."""
    nodes = {
        "reset": emits(go="go"),
        **loop("top", init="go+", carry="v"),
        **loop("mid", init="go+", carry="v x?"),
        "body": ticking(),
        "late": step("x", "y", lambda i, c: i["x"] if i["x"] == 1 else {}),
        **loop("low", init="x", carry="v"),
        "deep": step("x"),
    }
    edges = [
        "reset.go -> top_in.init_go",
        "top_in.init_go -> mid_in.init_go",
        "mid_in.init_go -> body.go",
        "body.value -> mid_out.v",
        "body.value -> late.x",
        "late.y -> low_in.init_x",
        "low_in.init_x -> deep.x",
        "deep.out -> low_out.v",
        "low_out.final_v -> mid_out.x",
        "mid_out.final_v -> top_out.v",
    ]
    nodes |= {"mid_in": Builtin("iterIn", {**nodes["mid_in"].config, "step_budget": 1})}
    ran = await run(nodes, edges, budget=2)
    assert ran.order.count("late") == 2
    assert "low_in" not in ran.order


async def test_init_values_that_persist_stay_for_the_next_opening():
    nodes, edges = nested(inner_stop=1, outer_stop=3)
    nodes |= loop("inner", init="task tool?+", carry="tick")
    nodes["see"] = step("x")
    edges += ["reset.go -> inner_in.init_tool", "inner_in.init_tool -> see.x"]
    ran = await run(nodes, edges, budget=9)
    assert ran.inputs("see") == [{"x": "go"}] * 3


async def test_a_stop_request_inside_ends_both_loops_and_each_final_side_is_emitted_once():
    nodes, edges = nested(inner_stop=9, outer_stop=9)
    fired: list[str] = []
    ran = await run(
        nodes,
        edges,
        budget=9,
        progress=lambda at, node: fired.append(node),
        stop=lambda: "cancelled" if fired.count("tick") == 3 else None,
    )
    assert len(ran.finals("inner_out")) == len(ran.finals("outer_out")) == 1
    assert ran.finals("inner_out")[0]["final_tick"] == 2
    assert ran.outcome.outputs == {"result": None}


async def test_three_levels():
    nodes = {"reset": emits(go="go")}
    edges = ["reset.go -> a_in.init_go"]
    for outer, inner in [("a", "b"), ("b", "c")]:
        nodes |= loop(outer, init="go+", carry="v")
        edges += [f"{outer}_in.init_go -> {inner}_in.init_go", f"{inner}_out.final_v -> {outer}_out.v"]
    nodes |= {**loop("c", init="go+", carry="v"), "body": ticking()}
    edges += ["c_in.init_go -> body.go", "body.value -> c_out.v"]
    ran = await run(nodes, edges, budget=3)
    assert ran.order.count("body") == 27
    assert [len(ran.finals(f"{name}_out")) for name in "abc"] == [1, 3, 9]
    assert ran.outcome.steps == 3


async def test_iteration_0_waits_for_a_loop_that_stands_still_before_it_ends():
    """The second loop has all that it requires from the start; one more value comes from the first one."""
    nodes = {
        "s": emits(go="go"),
        **loop("outer", init="go+", carry="y", budget=1),
        **loop("first", init="go", carry="x", budget=5),
        "a": step("x", "y", lambda i, c: {"y": 1} if i["x"] == "go" else {}),
        **loop("second", init="early late?", carry="x", budget=1),
        "b": step("x"),
    }
    edges = [
        "s.go -> outer_in.init_go",
        "outer_in.init_go -> first_in.init_go",
        "outer_in.init_go -> second_in.init_early",
        "first_in.init_go -> a.x",
        "first_in.iterout_x -> a.x",
        "a.y -> first_out.x",
        "first_out.final_x -> second_in.init_late",
        "second_in.init_early -> b.x",
        "b.out -> second_out.x",
        "second_out.final_x -> outer_out.y",
    ]
    ran = await run(nodes, edges, budget=1)
    assert ran.plan.loops["second_in"].init_handles == {"init_early", "init_late"}
    assert ran.inputs("second_in") == [{"init_early": "go", "init_late": 1}]
