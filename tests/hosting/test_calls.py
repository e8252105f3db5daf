from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import numpy as np
import pytest

from engine.components.agentcanvas.json_values import serialize_value
from engine.components.errors import HostBadReply, NodeRaised
from tests.hosting.helpers import Host

Start = Callable[..., Awaitable[Host]]


async def sent_by(host: Host, expression: str) -> Any:
    reply = await host.do("value", value=expression)
    assert reply.error is None, reply.error
    assert reply.outputs is not None
    return reply.outputs["value"]


async def test_values_of_every_kind_come_through(start: Start) -> None:
    host = await start()
    assert math.isnan(await sent_by(host, "float('nan')"))
    assert await sent_by(host, "[np.inf, -np.inf]") == [math.inf, -math.inf]
    assert await sent_by(host, "'a' + chr(0xd800) + 'b'") == "a�b"
    assert await sent_by(host, "'a' + chr(0x2028) + 'b'") == "a\u2028b"
    assert await sent_by(host, "b'bytes'") == b"bytes"
    assert await sent_by(host, "({1}, (2, 3))") == [[1], [2, 3]]
    assert await sent_by(host, "'x' * 50_000_000") == "x" * 50_000_000
    frame = await sent_by(host, "np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)")
    np.testing.assert_array_equal(frame, np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3))


async def test_every_numpy_scalar_comes_as_python_s(start: Start) -> None:
    host = await start()
    numbers = (await host.do("numpy scalars")).outputs
    assert numbers is not None
    assert {"float16", "float32", "float64", "longdouble", "int8", "uint64"} <= set(numbers)
    assert {type(number) for number in numbers.values()} == {bool, int, float}
    assert set(numbers.values()) == {1}
    assert await sent_by(host, "np.datetime64('2026-01-02')") == "2026-01-02"
    assert await sent_by(host, "[np.str_('s'), np.bytes_(b'b')]") == ["s", b"b"]


NO_OUTPUTS = [
    (
        "{'rgb': np.array([None])}",
        "node 'n1' (zoo__do): outputs.rgb: an array of dtype object cannot be sent",
    ),
    (
        "{'a': [1, {'b': object()}]}",
        "node 'n1' (zoo__do): outputs.a[1].b: a value of type builtins.object",
    ),
    ("[1, 2]", "node 'n1' (zoo__do): forward must return a dict of outputs by port name, not list"),
    ("None", "forward must return a dict of outputs by port name, not NoneType"),
    ("{1: 2}", "node 'n1' (zoo__do): forward must name its outputs by text, not by 1"),
    ("{'a': nested(5000)}", "nested too deep"),
    ("FireList(3)", "node 'n1' (zoo__do): FireList.specs must be a list of FireSpec, not int"),
    ("FireList([3])", "FireList.specs[0] must be a FireSpec, not int"),
    ("FireList([FireSpec(None)])", "FireList.specs[0].node_type must be a str, not NoneType"),
    ("FireList([FireSpec('a', None)])", "FireList.specs[0].inputs must be a dict, not NoneType"),
    ("FireList([FireSpec('a', {1: 2})])", "a name in FireList.specs[0].inputs must be a str, not int"),
    ("FireList([FireSpec('a', config=[])])", "FireList.specs[0].config must be a dict, not list"),
    ("FireList([FireSpec('a', label=1)])", "FireList.specs[0].label must be a str, not int"),
    ("FireList([FireSpec('a', capture_outputs='y')])", "capture_outputs must be a list, not str"),
    ("FireList([FireSpec('a', capture_outputs=[1])])", "capture_outputs must be a str, not int"),
    ("FireList([], 3)", "FireList.spawner_outputs must be a dict, not int"),
    (
        "FireList([], {}, 'sum')",
        "the kind 'sum'; there are passthrough_last, passthrough_index, merge_all",
    ),
    ("FireList([], {}, ['merge_all'])", "FireList.aggregator must be a dict, not list"),
    ("FireList([], {}, {'kind': []})", "the kind []; there are passthrough_last"),
    ("FireList([], {}, {'kind': 'passthrough_index', 'index': 'a'})", "a whole number, not 'a'"),
    ("FireList([], {}, {'kind': 'rename', 'map': 3})", "map must be a dict of old names to new ones"),
    ("FireList([], {}, 'rename')", 'rename: it has no recipe as "inner"'),
]


async def test_what_is_no_output_is_an_error_that_names_the_node_and_the_place(start: Start) -> None:
    host = await start()
    for returned, message in NO_OUTPUTS:
        reply = await host.do("returns", value=returned)
        assert reply.error is not None, returned
        assert (reply.error.kind, message in reply.error.message) == ("bad_output", True), reply.error
    assert (await host.do("echo", value=1)).outputs == {"value": 1}


async def test_a_value_at_the_limit_of_what_can_be_nested_never_costs_the_host(start: Start) -> None:
    host = await start()
    for depth in range(900, 1050, 10):
        reply = await host.do("returns", value=f"{{'a': nested({depth})}}")
        assert reply.error is None or reply.error.kind == "bad_output"
    assert host.client.failure is None


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("says nothing", "(its text cannot be had: ValueError)"),
        ("emits", "a signal is named by text, not by [1]"),
    ],
)
async def test_what_cannot_even_be_told_is_the_node_s_error(start: Start, what: str, told: str) -> None:
    host = await start()
    reply = await host.do(what, value=[1])
    assert reply.error is not None
    assert (reply.error.kind, reply.error.message) == ("raised", told)


async def test_an_exception_comes_with_its_trace_and_its_inner_log(start: Start) -> None:
    host = await start()
    reply = await host.do("raises")
    assert reply.error is not None
    assert (reply.error.kind, reply.error.type, reply.error.message) == ("raised", "ValueError", "broken: �")
    assert "in raises" in reply.error.trace
    assert reply.inner_log == [{"key": "before", "value": 1}]


async def test_a_stop_comes_with_its_reason(start: Start) -> None:
    reply = await (await start()).do("stops")
    assert reply.error is not None
    assert (reply.error.kind, reply.error.message) == ("stop", "seen enough")


async def test_a_node_sees_its_firing(start: Start) -> None:
    host = await start()
    reply = await host.fire({"what": "about"}, {"b": 3}, step=5, key=11, episode={"seed": 9})
    about = reply.outputs
    assert about is not None
    assert about["node_id"] == "n1"
    assert about["config"] == {"a": 1, "b": 3}
    assert about["step"] == 5
    assert about["execution_id"] == "e1"
    assert about["episode"] == {"seed": 9}
    assert about["draw"] == np.random.Generator(np.random.PCG64(11)).integers(0, 1 << 30)
    assert reply.timing.compute_ms > 0


async def test_an_instance_lasts_for_one_node_in_one_episode(start: Start) -> None:
    host = await start()

    async def firings(execution_id: str, node_id: str) -> tuple[int, int]:
        reply = await host.fire({"what": "about"}, execution_id=execution_id, node_id=node_id)
        assert reply.outputs is not None
        return reply.outputs["initialized"], reply.outputs["firings"]

    assert await firings("e1", "n1") == (1, 1)
    assert await firings("e1", "n1") == (1, 2)
    assert await firings("e1", "n2") == (1, 1)
    assert await firings("e2", "n1") == (1, 1)
    await host.client.evict("e1")
    assert await firings("e1", "n1") == (1, 1)
    assert await firings("e2", "n1") == (1, 2)
    assert host.process.tail(2) == ["shut down n1", "shut down n2"]


async def test_an_instance_that_does_not_initialize_is_an_error_of_its_node(start: Start) -> None:
    reply = await (await start()).fire({"what": "nothing"}, {"fail": True})
    assert reply.error is not None
    assert reply.error.message == "this node does not initialize"


async def test_inner_log_and_trace_events_come_back_once(start: Start) -> None:
    host = await start()
    for value in (1, 2):
        reply = await host.do("logs", value=value)
        assert reply.inner_log == [{"key": "seen", "value": value}]
        assert reply.events == [{"kind": "note", "text": "a trace event"}]


async def test_the_nodeset_s_own_containers_live_in_its_process(start: Start) -> None:
    host = await start()
    assert (await host.do("owns containers", value="here")).outputs == {"value": "here"}


async def test_what_is_printed_goes_to_the_log_and_disturbs_nothing(start: Start) -> None:
    host = await start()
    assert (await host.do("shouts")).outputs == {}
    assert host.process.spec.log_path.stat().st_size > 2 << 20
    assert host.process.tail(3) == ["lone \\ud800 surrogate", "raw bytes �", "last words"]


async def test_the_panel(start: Start) -> None:
    client = (await start()).client
    assert await client.panel_field("split", "val", 10) == {"values": {"split": "val"}, "nodeset": "Zoo"}
    assert (await client.panel_state(10))["values"] == {"split": "val"}
    assert await client.panel_action("play", {"a": 1}, 10) == {
        "ok": True,
        "error": "only play",
        "params": {"a": 1},
    }
    assert await client.panel_options("split") == [{"value": "train", "label": "split"}]
    assert (await client.panel_info())["display_name"] == "Zoo"
    assert await client.metadata() == {"env_name": "zoo", "splits": ["train"]}
    with pytest.raises(NodeRaised, match="ValueError: no such split"):
        await client.panel_field("split", "bad", 10)
    assert (await client.panel_state(10))["values"] == {"split": "val"}


async def test_the_manifest_says_what_runs(start: Start) -> None:
    host = await start()
    manifest = await host.client.manifest()
    assert manifest["pid"] == host.process.pid
    assert manifest["versions"]["numpy"] == np.__version__
    function = next(found for found in manifest["functions"] if found["name"] == "zoo__do")
    assert function["output_ports"] == [
        {"name": "value", "wire_type": "ANY", "description": "", "optional": False}
    ]
    assert manifest["batching"] == {}


async def test_a_tool_that_the_nodeset_does_not_have(start: Start) -> None:
    host = await start()
    with pytest.raises(HostBadReply, match="zoo has no tool 'zoo__fly'"):
        await host.client.call("zoo__fly", {}, {}, {}, 10)


async def test_json_is_understood_and_answered_in_json(start: Start) -> None:
    host = await start()
    connector = aiohttp.UnixConnector(host.process.url.removeprefix("unix:"))
    async with aiohttp.ClientSession("http://host", connector=connector) as session:
        async with session.get("/health") as response:
            health = {"status": "ok", "name": "zoo", "version": "1.0", "run": "", "oldest_call_sec": 0.0}
            assert await response.json() == health
        body = {"inputs": {"what": "value", "value": "np.eye(2)"}}
        async with session.post("/call/zoo__do", json=body) as response:
            assert response.status == 200
            assert (await response.json())["outputs"] == {"value": serialize_value(np.eye(2), "ANY")}
        async with session.post("/call/zoo__do", json={"inputs": {"what": "raises"}}) as response:
            assert response.status == 500
            assert (await response.json())["error"]["type"] == "ValueError"


NO_SENSE = [
    ("/call/zoo__do", b"{", "the body is not application/json"),
    ("/call/zoo__do", b"[1]", "the body must be a dict, not list"),
    ("/call/zoo__do", b'{"inputs": [1]}', "'inputs' must be a dict, not list"),
    ("/call/zoo__do", b'{"config": "x"}', "'config' must be a dict, not str"),
    ("/call/zoo__do", b'{"_exec": 3}', "'_exec' must be a dict, not int"),
    ("/call/zoo__do", b'{"_exec": {"step": "1"}}', "'_exec' has a str as 'step', not a int"),
    ("/call/zoo__do", b'{"inputs": {"value": {"__ndarray__": "%%%", "dtype": "f4"}}}', "input 'value'"),
    ("/callers", b'{"id": "a"}', "the body has no 'live'"),
    ("/callers", b'{"id": ["a"], "live": true}', "'id' must be text, not list"),
    ("/containers/evict", b'{"key": {}}', "'key' must be text, not dict"),
    ("/runs/end", b'{"run": 1}', "'run' must be text, not int"),
    ("/load/zoo__do", b'{"config": []}', "'config' must be a dict, not list"),
    ("/env-panel/action/play", b'{"params": 1}', "'params' must be a dict, not int"),
]
WRONG = (None, True, -1, 1.5, "x", [], [[]], {}, {"a": [1]}, {"__ndarray__": 3}, {"type": 3, "states": 3})
POSTS = {
    "/call/zoo__do": ("inputs", "config", "_exec"),
    "/callers": ("id", "live"),
    "/containers/evict": ("key",),
    "/runs/end": ("run",),
    "/load/zoo__do": ("config",),
    "/env-panel/action/play": ("params",),
    "/env-panel/field/split": ("value",),
}
EXECUTION = (
    "execution_id",
    "node_id",
    "step",
    "key",
    "episode",
    "containers",
    "signals",
    "results",
    "grants",
)


async def test_a_request_that_makes_no_sense_is_told_so(start: Start) -> None:
    host = await start()
    connector = aiohttp.UnixConnector(host.process.url.removeprefix("unix:"))
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession("http://host", connector=connector, headers=headers) as session:
        for path, body, message in NO_SENSE:
            async with session.post(path, data=body, headers={"X-Evaltower-Caller": "run/0"}) as response:
                assert (response.status, message in await response.text()) == (400, True), body


async def test_no_body_whatever_is_answered_without_a_reason(start: Start) -> None:
    host = await start()
    connector = aiohttp.UnixConnector(host.process.url.removeprefix("unix:"))
    bodies = [(path, {field: wrong}) for path, fields in POSTS.items() for field in fields for wrong in WRONG]
    bodies += [("/call/zoo__do", {"_exec": {name: wrong}}) for name in EXECUTION for wrong in WRONG]
    bodies += [("/call/zoo__do", {"_exec": {"containers": {"c": wrong}}}) for wrong in WRONG]
    async with aiohttp.ClientSession("http://host", connector=connector) as session:
        for path, body in bodies:
            for headers in ({}, {"X-Evaltower-Caller": "run/0"}):
                async with session.post(path, json=body, headers=headers) as response:
                    told = await response.text()
                    assert response.status in (200, 400) or "error" in json.loads(told), (path, body, told)
    assert (await host.do("echo", value=1)).outputs == {"value": 1}
