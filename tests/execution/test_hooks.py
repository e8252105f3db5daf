"""Contract graph-json.md, "Hooks": real commands."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.execution import hooks as module
from engine.graph.model import Hook
from tests.execution.sketch import Builtin, Ran, Spec, emits, loop, out, run, step

PASS = {
    "a": emits(v=1),
    "b": step("x", "y", lambda inputs, ctx: inputs["x"] + 1),
    "c": step("x"),
    "o": out("score"),
}
EDGES = ["a.v -> b.x", "b.y -> c.x", "c.out -> o.value"]


def hook(event: str, command: str, match: str = "*", **more: Any) -> Hook:
    return Hook(event, command, match, **{"timeout_ms": 20_000, **more})


def saying(answer: Any) -> str:
    return f"echo '{json.dumps(answer)}'"


def blocking() -> str:
    return saying({"action": "block"})


def modifying(**data: Any) -> str:
    return saying({"action": "modify", "modified_data": data})


def keeping(path: Path) -> str:
    """Keep every event, one a line."""
    return f"cat >> {path}; echo >> {path}"


def kept(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def hooked(
    *hooks: Hook, nodes: dict[str, Spec] | None = None, edges: list[str] | None = None, **more: Any
) -> Ran:
    return await run(nodes or PASS, edges or EDGES, hooks=hooks, **more)


def notes(ran: Ran, node_id: str) -> list[str]:
    return [entry["value"] for entry in ran.of(node_id)[0].inner_log if entry["key"] == "hook"]


async def test_all_events_of_an_execution_in_order(tmp_path):
    events = tmp_path / "events"
    names = ("GraphStart", "PreNodeExecute", "PostNodeExecute", "GraphComplete", "GraphError")
    await hooked(*(hook(name, keeping(events)) for name in names))
    told = kept(events)
    assert [(event["event"], event.get("node_id")) for event in told] == [
        ("GraphStart", None),
        *((event, node) for node in "abco" for event in ("PreNodeExecute", "PostNodeExecute")),
        ("GraphComplete", None),
    ]
    assert told[0] == {
        "event": "GraphStart",
        "node_type": None,
        "execution_id": "run/ep0000",
        "graph_name": "sketch",
        "node_count": 4,
    }
    place = {"execution_id": "run/ep0000", "step": 0, "node_id": "b", "node_type": "test__b"}
    assert told[3] == {"event": "PreNodeExecute", **place, "inputs": {"x": 1}}
    assert told[4] == {"event": "PostNodeExecute", **place, "outputs": {"y": 2}, "error": None}
    assert told[-1]["outputs"] == {"score": 2}


async def test_blocked_is_not_fired_and_passes_nothing_on():
    ran = await hooked(hook("PreNodeExecute", blocking(), "test__b"))
    assert ran.order == ["a", "b"]
    assert ran.of("b")[0].outputs == {}
    assert "block" in notes(ran, "b")[0]
    assert ran.outcome.node_errors == []


async def test_inputs_are_modified():
    ran = await hooked(hook("PreNodeExecute", modifying(x=10, z="more"), "test__b"))
    assert ran.inputs("b") == [{"x": 10, "z": "more"}]
    assert ran.inputs("c") == [{"x": 11}]
    assert "modify" in notes(ran, "b")[0]


async def test_outputs_are_modified():
    ran = await hooked(hook("PostNodeExecute", modifying(y="other", more=1), "test__b"))
    assert ran.of("b")[0].outputs == {"y": "other", "more": 1}
    assert ran.inputs("c") == [{"x": "other"}]


async def test_the_first_that_blocks_is_the_last_that_is_asked_and_the_last_that_modifies_wins(tmp_path):
    ran = await hooked(
        hook("PreNodeExecute", modifying(x=10, z=1), "test__b"),
        hook("PreNodeExecute", modifying(x=20), "test__b"),
        hook("PreNodeExecute", blocking(), "test__c"),
        hook("PreNodeExecute", keeping(tmp_path / "never"), "test__c"),
    )
    assert ran.inputs("b") == [{"x": 20, "z": 1}]
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("match", "more", "asked"),
    [
        ("*", {}, "abco"),
        ("test__b", {}, "b"),
        ("test__*", {}, "abc"),
        ("test__", {}, ""),
        ("graph*", {}, "o"),
        ("*", {"match_node_id": "c"}, "c"),
        ("test__a", {"match_node_id": "c"}, "c"),
        ("*", {"enabled": False}, ""),
    ],
)
async def test_who_is_matched(tmp_path, match: str, more: dict[str, Any], asked: str):
    events = tmp_path / "events"
    events.touch()
    await hooked(hook("PreNodeExecute", keeping(events), match, **more))
    assert [event["node_id"] for event in kept(events)] == list(asked)


@pytest.mark.parametrize("match", ["test__*", "a"])
async def test_the_events_of_a_graph_match_no_node_type(tmp_path, match: str):
    events = tmp_path / "events"
    events.touch()
    more = {"match_node_id": "a"} if match == "a" else {}
    await hooked(hook("GraphStart", keeping(events), match, **more))
    assert kept(events) == []


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("exit 3", "failed with exit code 3"),
        ("kill -9 $$", "ended by signal 9"),
        ("no-such-command-here", "failed with exit code 127"),
        ("echo stop", "gave no answer"),
        ("echo '[]'", "gave no answer"),
        (saying({"action": "allow"}), "gave no answer"),
        (saying({"action": "modify", "modified_data": 3}), "gave no answer"),
        ("printf '\\377'", "gave no answer"),
        (f"{blocking()}; exit 1", "failed with exit code 1"),
    ],
)
async def test_anything_else_means_continue_and_is_logged(caplog, command: str, says: str):
    with caplog.at_level(logging.WARNING):
        ran = await hooked(hook("PreNodeExecute", command, "test__*"))
    assert ran.outcome.outputs == {"score": 2}
    assert all(says in notes(ran, node)[0] for node in "abc")
    assert sum(says in record.message for record in caplog.records) == 1


@pytest.mark.parametrize(
    ("event", "answer"), [("GraphStart", "block"), ("PostNodeExecute", "block"), ("GraphComplete", "modify")]
)
async def test_an_answer_without_an_effect_is_logged_too(caplog, event: str, answer: str):
    ran = await hooked(hook(event, saying({"action": answer})))
    assert ran.outcome.outputs == {"score": 2}
    assert f"answered {answer!r}, for which there is nothing there" in caplog.text


@pytest.mark.parametrize("command", ["true", "echo", saying({}), saying({"action": "continue", "more": 1})])
async def test_these_mean_continue(caplog, command: str):
    ran = await hooked(hook("PreNodeExecute", command))
    assert ran.outcome.outputs == {"score": 2}
    assert notes(ran, "b") == []
    assert caplog.text == ""


async def gone(pid: int) -> None:
    async with asyncio.timeout(20):
        while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "command",
    [
        "sleep 600 & echo $! > {pid}; wait",
        "sleep 600 & echo $! > {pid}",
        "setsid sleep 600 & echo $! > {pid}; wait",
        "setsid sh -c 'echo $$ > {pid}; sleep 600 > /dev/null' & wait",
    ],
)
async def test_a_hook_that_does_not_end_is_killed_with_all_that_it_started(tmp_path, command: str):
    pid = tmp_path / "pid"
    late = hook("PreNodeExecute", command.format(pid=pid), "test__b", timeout_ms=500)
    ran = await hooked(late)
    assert ran.outcome.outputs == {"score": 2}
    assert "did not answer within 500 ms" in notes(ran, "b")[0]
    await gone(int(pid.read_text()))


async def test_an_endless_answer_is_cut_off(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_ANSWER", 100_000)
    ran = await hooked(hook("PreNodeExecute", "yes", "test__b"))
    assert "more than 100000 bytes" in notes(ran, "b")[0]


async def test_it_is_killed_with_the_episode(tmp_path):
    pid = tmp_path / "pid"
    running = asyncio.create_task(
        hooked(hook("PreNodeExecute", f"echo $$ > {pid}; exec sleep 600", "test__b"))
    )
    async with asyncio.timeout(20):
        while not pid.exists() or not pid.read_text():
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(int(pid.read_text()))


async def test_it_has_a_session_of_its_own(tmp_path):
    await hooked(hook("GraphStart", f"ps -o sid= -p $$ > {tmp_path / 'sid'}"))
    assert int((tmp_path / "sid").read_text()) != os.getsid(0)


async def test_values_that_json_cannot_hold(tmp_path):
    events = tmp_path / "events"
    image = numpy.zeros((2, 3, 3), "uint8")
    values = {
        "v": {"image": image, "nan": float("nan"), "scalar": numpy.int64(3), "odd": object(), 4: "\ud800"}
    }
    nodes: dict[str, Spec] = {
        "a": emits(**values),
        "b": step("x", "y", lambda inputs, ctx: inputs["x"]["image"]),
    }
    ran = await hooked(hook("PreNodeExecute", keeping(events), "test__b"), nodes=nodes, edges=["a.v -> b.x"])
    told = kept(events)[0]["inputs"]["x"]
    assert told["odd"].startswith("<object")
    assert {key: told[key] for key in ("image", "nan", "scalar", "4")} == {
        "image": {"__type": "ndarray", "shape": [2, 3, 3], "dtype": "uint8"},
        "nan": None,
        "scalar": 3,
        "4": "\ufffd",
    }
    assert ran.of("b")[0].outputs["y"] is image


def counting(stop_at: int) -> tuple[dict[str, Spec], list[str]]:
    count = 0

    def tick(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        nonlocal count
        count += 1
        return {"count": count, "done": count >= stop_at}

    nodes: dict[str, Spec] = {
        "s": emits(go=1),
        **loop(init="go+", carry="count"),
        "tick": step("x", "count done", tick),
        "view": Builtin("textViewer"),
        "o": out("score"),
    }
    return nodes, [
        "s.go -> loop_in.init_go",
        "loop_in.init_go -> tick.x",
        "tick.count -> view.text",
        "tick.count -> loop_out.count",
        "tick.done -> loop_out.stop",
        "loop_out.final_count -> o.value",
    ]


async def test_the_ends_of_loops_and_viewers_have_events_too(tmp_path):
    nodes, edges = counting(2)
    await hooked(hook("PostNodeExecute", keeping(tmp_path / "e"), "*"), nodes=nodes, edges=edges, budget=9)
    told = [(event["step"], event["node_id"], event["outputs"]) for event in kept(tmp_path / "e")]
    assert [node for _, node, _ in told] == ["s", *["loop_in", "tick", "view", "loop_out"] * 2, "o"]
    assert [(step, outputs) for step, node, outputs in told if node == "loop_out"] == [
        (0, {"count": 1, "stop": False}),
        (1, {"count": 2, "stop": True}),
    ]


async def test_a_hook_may_keep_a_loop_going():
    nodes, edges = counting(1)
    ran = await hooked(
        hook("PreNodeExecute", modifying(stop=False), "iterOut"), nodes=nodes, edges=edges, budget=3
    )
    assert (ran.outcome.termination, ran.outcome.steps) == ("budget", 3)
    assert ran.outcome.outputs == {"score": 3}
    assert "modify" in notes(ran, "loop_out")[0]


async def test_a_blocked_output_is_none():
    ran = await hooked(hook("PreNodeExecute", blocking(), "graphOut"))
    assert ran.outcome.outputs == {}
    ran = await hooked(hook("PreNodeExecute", modifying(value=7), "graphOut"))
    assert ran.outcome.outputs == {"score": 7}


async def test_an_execution_with_errors_ends_in_graph_error(tmp_path):
    def fail(inputs: dict[str, Any], ctx: Any) -> None:
        raise RuntimeError("no")

    events = [
        hook(name, keeping(tmp_path / "e")) for name in ("GraphError", "GraphComplete", "PostNodeExecute")
    ]
    await hooked(
        *events, hook("PostNodeExecute", modifying(y=1), "test__b"), nodes={**PASS, "b": step("x", "y", fail)}
    )
    told = kept(tmp_path / "e")
    assert [event["event"] for event in told] == ["PostNodeExecute", "PostNodeExecute", "GraphError"]
    assert (told[1]["error"], told[1]["outputs"]) == ("RuntimeError: no", {})
    assert told[2]["error"] == "b: RuntimeError: no"


async def test_without_hooks_nothing_is_started(monkeypatch):
    monkeypatch.setattr(asyncio, "create_subprocess_exec", None)
    assert (await hooked()).outcome.outputs == {"score": 2}
