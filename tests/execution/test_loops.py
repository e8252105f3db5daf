"""Contract graph-json.md, "Loops": one loop, and several beside each other."""

from __future__ import annotations

import pytest

from engine.graph.model import Container, State
from engine.graph.plan import firing_cap
from tests.execution.sketch import Builtin, Step, emits, loop, out, run, step


def ticking(stop_at: int | None = None):
    """A body: counts its firings, and says ``done`` at the given one."""
    count = 0

    def do(inputs, ctx):
        nonlocal count
        count += 1
        return {"value": count, "done": stop_at is not None and count >= stop_at}

    return step("go x?", "value done", do)


def simple(stop_at: int | None = None, **more):
    """reset → (loop: body) → verdict → output."""
    nodes = {
        "reset": emits(go="go"),
        **loop(init="go+", carry="value"),
        "body": ticking(stop_at),
        "verdict": step("trigger value", "score", lambda i, c: i["value"]),
        "o": out("score"),
        **more,
    }
    edges = [
        "reset.go -> loop_in.init_go",
        "loop_in.init_go -> body.go",
        "body.value -> loop_out.value",
        "body.done -> loop_out.stop",
        "loop_out.final_stop -> verdict.trigger",
        "loop_out.final_value -> verdict.value",
        "verdict.score -> o.value",
    ]
    return nodes, edges


async def test_stop_ends_the_loop_with_the_values_of_its_last_iteration():
    ran = await run(*simple(stop_at=3), budget=9)
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 3)
    assert ran.finals() == [{"final_value": 3, "final_stop": True}]
    assert ran.outcome.outputs == {"score": 3}
    assert ran.order.count("body") == 3


async def test_the_budget_ends_it():
    ran = await run(*simple(), budget=4)
    assert (ran.outcome.termination, ran.outcome.steps) == ("budget", 4)
    assert ran.outcome.outputs == {"score": 4}


async def test_stop_in_the_last_step_of_the_budget_counts_as_stopped():
    ran = await run(*simple(stop_at=4), budget=4)
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 4)


async def test_a_queue_that_runs_dry_leaves_the_last_hand_overs_values():
    nodes, edges = simple()
    nodes["gate"] = step("value", "value", lambda i, c: i if i["value"] < 3 else {})
    edges[2:3] = ["body.value -> gate.value", "gate.value -> loop_out.value"]
    ran = await run(nodes, edges, budget=9)
    assert (ran.outcome.termination, ran.outcome.steps) == ("drained", 2)
    assert ran.finals() == [{"final_value": 2, "final_stop": True}]
    assert ran.outcome.outputs == {"score": 2}


async def test_a_loop_that_never_opens_still_lets_the_verdict_be_reached():
    nodes, edges = simple()
    nodes["reset"] = step("", "go", lambda i, c: {})
    ran = await run(nodes, edges)
    assert (ran.outcome.termination, ran.outcome.steps) == ("drained", 0)
    assert ran.finals() == [{"final_value": None, "final_stop": True}]
    assert ran.outcome.outputs == {"score": None}


async def test_the_cap_ends_it_and_leaves_room_for_the_verdict():
    nodes, edges = simple()
    nodes["spin"] = step("x", "x")
    edges += ["body.value -> spin.x", "spin.x -> spin.x"]
    ran = await run(nodes, edges, budget=2)
    assert ran.outcome.termination == "budget"
    assert len(ran.finals()) == 1
    assert ran.order[-2:] == ["verdict", "o"]


async def test_a_stop_request_ends_it_with_the_last_hand_overs_values():
    fired: list[str] = []
    nodes, edges = simple()
    ran = await run(
        nodes,
        edges,
        budget=9,
        progress=lambda at, node: fired.append(node),
        stop=lambda: "cancelled" if fired.count("body") == 3 else None,
    )
    assert ran.outcome.stop_reason == "cancelled"
    assert ran.outcome.steps == 2
    assert ran.finals() == [{"final_value": 2, "final_stop": True}]
    assert ran.outcome.outputs == {"score": 2}


async def test_stop_alone_is_no_iteration():
    nodes, edges = simple()
    nodes["early"] = step("go", "stop", lambda i, c: True)
    edges += ["loop_in.init_go -> early.go", "early.stop -> loop_out.stop"]
    edges.remove("body.done -> loop_out.stop")
    ran = await run(nodes, edges, budget=9)
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 1)
    assert ran.inputs("loop_out") == [{"stop": True, "value": 1}]


@pytest.mark.parametrize("falsy", [False, 0, None, "", []])
async def test_a_stop_that_is_not_truthy_goes_on(falsy):
    nodes, edges = simple()
    nodes["body"] = step("go", "value done", lambda i, c: {"value": 1, "done": falsy})
    assert (await run(nodes, edges, budget=3)).outcome.termination == "budget"


async def test_stop_is_not_carried():
    nodes, edges = simple()
    ran = await run(nodes, edges, budget=2)
    assert [set(firing.outputs) for firing in ran.of("loop_in")] == [
        {"step", "init_go"},
        {"step", "init_go", "iterout_value"},
    ]


async def test_the_step_is_an_output_of_iter_in():
    ran = await run(*simple(), budget=3)
    assert [firing.outputs["step"] for firing in ran.of("loop_in")] == [0, 1, 2]
    assert [firing.step for firing in ran.of("body")] == [0, 1, 2]
    assert ran.of("verdict")[0].step == 3


SLOTS = {  # config of x, wired from reset?, carried? → what a consumer in the loop gets in three iterations
    "an init value is there once": ("x", "", True, [0]),
    "one that persists is there each time": ("x+", "", True, [0, 0, 0]),
    "a carried value is there from the second iteration": ("", "x", False, [1, 2]),
    "a carried one that does not persist, too": ("", "x-", False, [1, 2]),
    "init, then carried": ("x", "x", True, [0, 1, 2]),
}


@pytest.mark.parametrize(("init", "carry", "wired", "expected"), SLOTS.values(), ids=SLOTS)
async def test_slots(init, carry, wired, expected):
    nodes = {
        "reset": emits(go="go", x=0),
        **loop(init=f"go+ {init}", carry=f"value {carry}"),
        "body": ticking(stop_at=3),
        "see": step("x"),
    }
    edges = [
        "reset.go -> loop_in.init_go",
        "loop_in.init_go -> body.go",
        "body.value -> loop_out.value",
        "body.done -> loop_out.stop",
    ]
    if wired:
        edges += ["reset.x -> loop_in.init_x", "loop_in.init_x -> see.x"]
    if carry:
        edges += ["body.value -> loop_out.x", "loop_in.iterout_x -> see.x"]
    ran = await run(nodes, edges, budget=9)
    assert [inputs["x"] for inputs in ran.inputs("see")] == expected


async def test_of_two_persistent_slots_for_one_input_the_later_edge_wins():
    nodes, edges = simple(stop_at=3)
    nodes["see"] = step("x")
    late = ["loop_in.init_go -> see.x", "loop_in.iterout_value -> see.x"]
    refreshed = await run(nodes, [*edges, *late])
    nodes["body"] = ticking(3)
    frozen = await run(nodes, [*edges, *reversed(late)])
    assert [i["x"] for i in refreshed.inputs("see")] == ["go", 1, 2]
    assert [i["x"] for i in frozen.inputs("see")] == ["go", "go", "go"]


async def test_a_carried_port_without_persist_is_empty_after_an_iteration_that_did_not_fill_it():
    nodes, edges = simple(stop_at=4)
    nodes |= loop(init="go+", carry="value odd?-")
    nodes["odd"] = step("x", "odd", lambda i, c: {"odd": i["x"]} if i["x"] % 2 else {})
    nodes["see"] = step("x")
    edges += ["body.value -> odd.x", "odd.odd -> loop_out.odd", "loop_in.iterout_odd -> see.x"]
    ran = await run(nodes, edges, budget=9)
    assert [i["x"] for i in ran.inputs("see")] == [1, 3]
    assert ran.finals()[0]["final_odd"] == 3, "the last value that the loop carried"


async def test_a_loop_opens_once_with_every_init_value_that_can_arrive():
    nodes, edges = simple(stop_at=1)
    nodes["observe"] = step("go", "obs")
    nodes["describe"] = step("obs", "text")
    nodes["view"] = Builtin("textViewer")
    nodes |= loop(init="go+ obs? text?", carry="value")
    edges += [
        "reset.go -> observe.go",
        "observe.obs -> loop_in.init_obs",
        "observe.obs -> describe.obs",
        "describe.text -> loop_in.init_text",
        "reset.go -> loop_in.iterout_value",
        "reset.go -> view.text",
    ]
    ran = await run(nodes, edges)
    assert [set(i) for i in ran.inputs("loop_in")] == [{"init_go", "init_obs", "init_text", "iterout_value"}]


async def test_a_required_init_value_that_never_arrives_keeps_the_loop_shut():
    nodes, edges = simple()
    nodes["mute"] = step("go", "obs", lambda i, c: {})
    nodes |= loop(init="go+ obs", carry="value")
    edges += ["reset.go -> mute.go", "mute.obs -> loop_in.init_obs"]
    ran = await run(nodes, edges)
    assert "loop_in" not in ran.order
    assert ran.outcome.termination == "drained"


async def test_a_list_slot_is_overwritten_and_wraps_a_single_value():
    nodes, edges = simple(stop_at=3)
    nodes["reset"] = Step("", "go text:TEXT", lambda i, c: {"go": "go", "text": "t"})
    nodes |= loop(init="go+ texts:LIST[TEXT]+", carry="value")
    nodes["see"] = step("x")
    edges += ["reset.text -> loop_in.init_texts", "loop_in.init_texts -> see.x"]
    ran = await run(nodes, edges, budget=9)
    assert [i["x"] for i in ran.inputs("see")] == [["t"], ["t"], ["t"]]


async def test_settle_fires_what_is_queued_in_the_loop_before_the_decision():
    """``late`` and ``later`` are ready or become so only after iterOut's required input has arrived."""
    nodes, edges = simple()
    nodes |= loop(init="go+", carry="value extra?")
    nodes["late"] = step("x", "x")
    nodes["later"] = step("x", "extra stop", lambda i, c: {"extra": "late", "stop": True})
    edges += [
        "body.value -> late.x",
        "late.x -> later.x",
        "later.extra -> loop_out.extra",
        "later.stop -> loop_out.stop",
    ]
    edges.remove("body.done -> loop_out.stop")
    ran = await run(nodes, edges, budget=9)
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 1)
    assert ran.finals()[0]["final_extra"] == "late"
    assert ran.order == ["reset", "loop_in", "body", "late", "later", "loop_out", "verdict", "o"]


async def test_a_viewer_outside_the_loop_gets_the_last_iteration_too():
    nodes, edges = simple(stop_at=3)
    nodes["view"] = Builtin("textViewer")
    nodes["format"] = step("x", "text")
    edges += ["body.value -> format.x", "format.text -> view.text"]
    ran = await run(nodes, edges, budget=9)
    assert [i["text"] for i in ran.inputs("view")] == [1, 2, 3]
    assert ran.order.index("verdict") > max(i for i, node in enumerate(ran.order) if node == "view")


async def test_settling_ends_after_64_firings_and_the_rest_of_the_body_is_dropped():
    nodes, edges = simple(stop_at=1)
    nodes |= loop(init="go+", carry="value x?")
    nodes["spin"] = step("x", "x")
    edges += ["body.value -> spin.x", "spin.x -> spin.x", "spin.x -> loop_out.x"]
    ran = await run(nodes, edges, budget=50)
    assert ran.order == ["reset", "loop_in", "body", *["spin"] * 64, "loop_out", "verdict", "o"]
    assert ran.outcome.termination == "stopped"


async def test_a_body_node_holds_what_comes_from_before_the_loop_until_it_opens():
    nodes, edges = simple(stop_at=2)
    nodes |= loop(init="go+", carry="value x?")
    nodes["mute"] = step("x", "y", lambda i, c: {})
    nodes["early"] = step("x y?", "x")
    edges += ["reset.go -> early.x", "body.value -> mute.x", "mute.y -> early.y", "early.x -> loop_out.x"]
    ran = await run(nodes, edges)
    assert ran.order[:3] == ["reset", "loop_in", "early"]
    assert ran.inputs("early") == [{"x": "go"}]


async def test_the_band_holds_what_comes_from_before_the_loop_until_its_end():
    nodes, edges = simple(stop_at=2)
    nodes["verdict"] = step("trigger? value? ref?", "score")
    edges += ["reset.go -> verdict.ref"]
    ran = await run(nodes, edges)
    assert ran.inputs("verdict") == [{"ref": "go", "trigger": True, "value": 2}]


async def test_what_the_band_held_counts_as_arrived_when_the_loop_ends():
    nodes, edges = simple(stop_at=1)
    nodes["mute"] = step("x", "y", lambda i, c: {})
    nodes["last"] = step("x? y?")
    edges += ["loop_out.final_value -> mute.x", "mute.y -> last.y", "reset.go -> last.x"]
    ran = await run(nodes, edges)
    assert ran.inputs("last") == [{"x": "go"}]


async def test_a_band_that_goes_in_a_circle_ends_at_the_cap():
    nodes, edges = simple(stop_at=1)
    nodes["spin"] = step("x", "x")
    edges += ["loop_out.final_value -> spin.x", "spin.x -> spin.x"]
    ran = await run(nodes, edges, budget=1)
    assert ran.outcome.outputs == {"score": 1}
    assert ran.outcome.termination == "stopped"
    assert len(ran.order) == firing_cap(ran.plan, 1)


async def test_step_signals_and_checkpoints():
    """A ``step`` state is cleared at each boundary, before the checkpoint; an ``episode`` state stays."""
    nodes, edges = simple(stop_at=2)

    def write(inputs, ctx):
        ctx.containers["memory"].write("now", ctx.step)
        ctx.containers["memory"].write("seen", ctx.step)
        return {"value": 1, "done": ctx.step == 1}

    nodes["body"] = step("go", "value done", write)
    memory = Container(
        "memory",
        states={"now": State(lifetime="step"), "seen": State(type="accumulator", lifetime="episode")},
    )
    ran = await run(nodes, edges, containers=(memory,), grants=(("body", "memory"),))
    assert ran.outcome.node_errors == []
    assert [(at, c["memory"]["values"]) for at, c in ran.log.checkpoints] == [
        (1, {"now": None, "seen": [0]}),
        (2, {"now": None, "seen": [0, 1]}),
    ]


async def test_the_log_is_flushed_at_each_boundary():
    ran = await run(*simple(stop_at=2))
    upto = [ran.order[:count] for count in ran.log.boundaries]
    assert [nodes[-1] for nodes in upto] == ["loop_out", "loop_out", "o"]


@pytest.mark.parametrize("where", ["before", "behind"])
async def test_a_circle_outside_the_loop_holds_up_neither_it_nor_the_verdict(where):
    """``p`` and ``q`` set each other off for ever."""
    nodes, edges = simple(stop_at=2, p=step("x? y?", "v"), q=step("x?", "v"))
    source = "reset.go" if where == "before" else "loop_out.final_value"
    edges += [f"{source} -> p.x", "p.v -> q.x", "q.v -> p.y"]
    ran = await run(nodes, edges, budget=500)
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 2)
    assert ran.outcome.outputs == {"score": 2}
    assert ran.order.count("p") < 100  # the firing cap would allow thousands
