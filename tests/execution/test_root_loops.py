"""Contract graph-json.md, "Loops": several loops, one after the other."""

from __future__ import annotations

from tests.execution.sketch import emits, loop, out, run, step
from tests.execution.test_loops import simple, ticking


async def test_several_root_loops_run_one_after_the_other_and_the_verdict_is_the_lasts():
    nodes = {
        "reset": emits(go="go"),
        **loop("one", init="go+", carry="value"),
        "first": ticking(stop_at=2),
        "between": step("x", "go"),
        **loop("two", init="go+ also+", carry="value"),
        "second": ticking(),
        "verdict": step("trigger? ref?", "score", lambda i, c: i["ref"]),
        "o": out("score"),
    }
    edges = [
        "reset.go -> two_in.init_also",
        "reset.go -> verdict.ref",
        "reset.go -> one_in.init_go",
        "one_in.init_go -> first.go",
        "first.value -> one_out.value",
        "first.done -> one_out.stop",
        "one_out.final_value -> between.x",
        "between.go -> two_in.init_go",
        "two_in.init_go -> second.go",
        "second.value -> two_out.value",
        "two_out.final_stop -> verdict.trigger",
        "verdict.score -> o.value",
    ]
    ran = await run(nodes, edges, budget=3)
    assert (ran.outcome.termination, ran.outcome.steps) == ("budget", 2 + 3)
    assert [i["init_go"] for i in ran.inputs("two_in")] == [2, 2, 2]
    assert len(ran.finals("one_out")) == len(ran.finals("two_out")) == 1
    assert ran.order[-2:] == ["verdict", "o"]
    assert [firing.step for firing in ran.of("second")] == [2, 3, 4]


async def test_what_follows_a_root_loop_is_held_until_it_ends_though_another_comes_after():
    nodes, edges = simple(stop_at=2)
    nodes["between"] = step("x? y?", "go")
    nodes |= {**loop("more", init="go+", carry="value"), "second": ticking(stop_at=1)}
    edges += [
        "reset.go -> between.y",
        "loop_out.final_value -> between.x",
        "between.go -> more_in.init_go",
        "more_in.init_go -> second.go",
        "second.value -> more_out.value",
        "second.done -> more_out.stop",
    ]
    ran = await run(nodes, edges)
    assert ran.inputs("between") == [{"y": "go", "x": 2}]


async def test_a_stop_request_in_the_first_root_loop_goes_straight_to_the_verdict():
    nodes, edges = simple()
    nodes["between"] = step("x", "go")
    nodes |= {**loop("more", init="go+", carry="value"), "second": ticking()}
    nodes["late"] = step("x")
    edges += [
        "loop_out.final_value -> between.x",
        "between.go -> more_in.init_go",
        "more_in.init_go -> second.go",
        "second.value -> more_out.value",
        "more_out.final_stop -> late.x",
    ]
    fired: list[str] = []
    ran = await run(
        nodes,
        edges,
        progress=lambda at, node: fired.append(node),
        stop=lambda: "cancelled" if "body" in fired else None,
    )
    assert ran.order == ["reset", "loop_in", "body", "loop_out", "more_out", "late"]


async def test_a_second_root_loop_waits_although_it_could_open_first():
    nodes = {
        "reset": emits(go="go"),
        **loop("two", init="go+ x?", carry="value"),
        "second": ticking(stop_at=1),
        **loop("one", init="go+", carry="value"),
        "first": ticking(stop_at=2),
    }
    edges = [
        "reset.go -> two_in.init_go",
        "reset.go -> one_in.init_go",
        "one_in.init_go -> first.go",
        "first.value -> one_out.value",
        "first.done -> one_out.stop",
        "one_out.final_value -> two_in.init_x",
        "two_in.init_go -> second.go",
        "second.value -> two_out.value",
        "second.done -> two_out.stop",
    ]
    ran = await run(nodes, edges)
    assert ran.inputs("two_in") == [{"init_go": "go", "init_x": 2}]
