"""Contract graph-json.md, "Firing": one test a rule."""

from __future__ import annotations

import pytest

from engine.components.builtin_ports import SINKS
from tests.execution.sketch import Builtin, Step, emits, out, run, step


def both(inputs, ctx):
    return (inputs.get("x"), inputs.get("y"))


async def test_a_node_fires_when_all_its_required_inputs_have_arrived():
    ran = await run(
        {"a": emits(v=1), "slow": step("v", "v"), "b": step("x y", "out", both)},
        ["a.v -> b.x", "a.v -> slow.v", "slow.v -> b.y"],
    )
    assert ran.order == ["a", "slow", "b"]
    assert ran.inputs("b") == [{"x": 1, "y": 1}]


async def test_it_does_not_fire_while_one_is_missing():
    ran = await run(
        {"a": emits(v=1), "silent": step("v", "v", lambda i, c: {}), "b": step("x y", "out", both)},
        ["a.v -> b.x", "a.v -> silent.v", "silent.v -> b.y"],
    )
    assert ran.order == ["a", "silent"]


async def test_an_optional_input_that_comes_too_late_is_not_waited_for():
    ran = await run(
        {"a": emits(v=1), "slow": step("v", "v"), "b": step("x y?", "out", both)},
        ["a.v -> b.x", "a.v -> slow.v", "slow.v -> b.y"],
    )
    assert ran.inputs("b") == [{"x": 1}]


async def test_a_node_with_optional_inputs_only_fires_when_any_arrives():
    ran = await run(
        {"a": emits(v=1), "slow": step("v", "v"), "b": step("x? y?", "out", both)},
        ["a.v -> b.x", "a.v -> slow.v", "slow.v -> b.y"],
    )
    assert ran.inputs("b") == [{"x": 1}, {"y": 1}]


async def test_entry_nodes_have_no_incoming_edge_and_no_required_input():
    ran = await run(
        {"wired": step("x?"), "free": step("x?"), "a": emits(v=1)},
        ["a.v -> wired.x"],
    )
    assert ran.order == ["free", "a", "wired"]


async def test_ready_nodes_fire_in_order_of_arrival_not_of_the_file():
    ran = await run(
        {"late": step("x"), "early": step("x"), "a": emits(v=1)},
        ["a.v -> early.x", "a.v -> late.x"],
    )
    assert ran.order == ["a", "early", "late"]


async def test_what_a_node_fired_on_is_consumed():
    ran = await run(
        {"a": emits(v=1), "again": step("v", "v"), "b": step("x y?", "out", both)},
        ["a.v -> b.y", "a.v -> b.x", "a.v -> again.v", "again.v -> b.x"],
    )
    assert ran.inputs("b") == [{"y": 1, "x": 1}, {"x": 1}]


async def test_a_later_write_overwrites_an_input_that_is_no_list():
    ran = await run({"a": emits(v="a"), "b": emits(v="b"), "c": step("x")}, ["b.v -> c.x", "a.v -> c.x"])
    assert ran.inputs("c") == [{"x": "b"}], "b fired after a, whatever the order of the edges"


async def test_one_source_writes_in_the_order_of_the_edges():
    ran = await run({"a": emits(first=1, second=2), "b": step("x")}, ["a.second -> b.x", "a.first -> b.x"])
    assert ran.inputs("b") == [{"x": 1}]


async def test_a_list_input_gathers_its_fan_in_in_edge_order():
    ran = await run(
        {
            "a": emits(v="a"),
            "b": emits(v=["b1", "b2"]),
            "c": emits(v=("c1",)),
            "all": step("x:LIST[ANY]"),
        },
        ["c.v -> all.x", "b.v -> all.x", "a.v -> all.x"],
    )
    assert ran.inputs("all") == [{"x": ["c1", "b1", "b2", "a"]}]


async def test_a_single_value_is_wrapped_for_a_list_input():
    ran = await run({"a": step("", "v:TEXT", lambda i, c: "one"), "b": step("x:LIST[TEXT]")}, ["a.v -> b.x"])
    assert ran.inputs("b") == [{"x": ["one"]}]


async def test_an_edge_without_handle_carries_the_whole_output():
    ran = await run({"a": emits(v=1, w=2), "b": step("default")}, ["a -> b"])
    assert ran.inputs("b") == [{"default": {"v": 1, "w": 2}}]


async def test_null_is_a_value():
    ran = await run({"a": emits(v=None), "b": step("x")}, ["a.v -> b.x"])
    assert ran.inputs("b") == [{"x": None}]


async def test_config_and_instance_state_last_for_the_episode_and_no_longer():
    def graph():
        entries: list[str] = []
        nodes = {
            "a": emits(v="one"),
            "again": step("v", "v"),
            "log": Builtin("historyLog", {"template": "{entry}"}),
            "see": step("x", "out", lambda i, c: entries.append(i["x"])),
        }
        edges = ["a.v -> log.entry", "a.v -> again.v", "again.v -> log.entry", "log.history -> see.x"]
        return nodes, edges, entries

    for _ in range(2):
        nodes, edges, entries = graph()
        await run(nodes, edges)
        assert entries == ["one", "one\none"]


async def test_a_graph_without_a_loop_runs_once():
    ran = await run({"a": emits(v=1), "o": out("score")}, ["a.v -> o.value"])
    assert (ran.outcome.termination, ran.outcome.steps) == ("stopped", 1)
    assert ran.outcome.outputs == {"score": 1}


async def test_the_last_value_of_a_graph_out_is_the_output():
    ran = await run(
        {"a": emits(v=1), "b": step("v", "v", lambda i, c: 2), "o": out("score")},
        ["a.v -> o.value", "a.v -> b.v", "b.v -> o.value"],
    )
    assert ran.outcome.outputs == {"score": 2}


async def test_firings_are_capped_where_edges_go_in_a_circle():
    ran = await run({"a": emits(v=1), "b": step("v", "v"), "c": step("v", "v")}, [
        "a.v -> b.v", "b.v -> c.v", "c.v -> b.v",
    ])  # fmt: skip
    assert len(ran.order) == 3 * 3
    assert ran.outcome.termination == "budget"


async def test_drawing_aids_never_fire():
    ran = await run(
        {
            "note": Builtin("note", {"markdown": "hello"}),
            "box": Builtin("stateContainer"),
            "frame": Builtin("compositeNode"),
            "a": emits(v=1),
        }
    )
    assert ran.order == ["a"]


@pytest.mark.parametrize("sink", sorted(SINKS))
@pytest.mark.parametrize("port", ["text", "rgb", "metrics", "action", "depth", "unheard_of"])
async def test_a_sink_logs_what_it_receives_and_puts_out_nothing(sink: str, port: str):
    ran = await run({"a": emits(v="hi"), "view": Builtin(sink)}, [f"a.v -> view.{port}"])
    (firing,) = ran.of("view")
    assert (firing.inputs, firing.outputs) == ({port: "hi"}, {})


async def test_progress_names_the_node_about_to_fire():
    told: list[tuple[int, str]] = []
    await run(
        {"a": emits(v=1), "b": step("x")},
        ["a.v -> b.x"],
        progress=lambda at, node: told.append((at, node)),
    )
    assert told == [(0, "a"), (0, "b")]


async def test_no_two_firings_share_a_random_stream_and_a_seed_repeats_them():
    def graph():
        drawn: list[float] = []
        draw = Step("x?", "v", lambda i, c: drawn.append(float(c.rng.random())) or {"v": 1})
        return {"a": draw, "b": draw, "again": draw}, drawn

    seen = []
    for seed in (7, 7, 8):
        nodes, drawn = graph()
        await run(nodes, ["a.v -> again.x", "b.v -> again.x"], seed=seed)
        seen.append(drawn)
    assert seen[0] == seen[1]
    assert len({*seen[0], *seen[2]}) == len(seen[0]) + len(seen[2])
