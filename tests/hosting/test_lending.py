"""A host of ours, started by hand, to AgentCanvas's canvas: spoken to as its protocol has it."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.fakes import agentcanvas_workspace as workspace
from tests.fakes.canvas_server import MSGPACK, pack, to_json, unpack
from tests.fakes.lent_host import Lent, lent

ECHO = '''
from app.components import BaseCanvasNode, BaseNodeSet, DynamicFireListNode, FireList, FireSpec, PortDef
from app.graph_def import ContainerDef, StateDef


class Spawn(DynamicFireListNode):
    node_type = "echo__spawn"

    async def forward(self, inputs, ctx):
        children = [FireSpec("echo__echo", inputs={"key": "k"}, label="first", capture_outputs=["about"])]
        return FireList(children, spawner_outputs={"count": 1}, aggregator={"kind": "merge_all"})


class Echo(BaseCanvasNode):
    """Says what it got, how often it was called, and with what config; keeps words by key."""

    node_type = "echo__echo"
    description = "an echo"
    input_ports = [
        PortDef("rgb", "IMAGE"),
        PortDef("depth", "DEPTH", optional=True),
        PortDef("key", "TEXT", optional=True),
    ]
    output_ports = [PortDef("rgb", "IMAGE"), PortDef("depth", "DEPTH"), PortDef("about", "ANY")]

    async def forward(self, inputs, ctx):
        ctx.calls = (ctx.calls or 0) + 1
        memory = ctx.containers["memory"]
        if "key" in inputs:
            memory.write("words", "word", key=inputs["key"])
        if self.config.get("fail"):
            raise ValueError("no more words")
        about = {"calls": ctx.calls, "config": self.config, "key": ctx.key, "seen": str(inputs["rgb"].dtype)}
        about["words"] = memory.read("words", key=inputs.get("key"))
        about["by_number"] = {0: "int keys are allowed"}
        return {"rgb": inputs["rgb"], "depth": inputs.get("depth"), "about": about}


class EchoNodeSet(BaseNodeSet):
    name = "echo"
    description = "says what it hears"
    env = {"ECHO": "1"}

    def get_tools(self):
        return [Echo(), Spawn()]

    def get_containers(self):
        return [ContainerDef(id="memory", label="Memory", states={"words": StateDef(type="accumulator")})]
'''

SECOND = """

class SilentNodeSet(BaseNodeSet):
    name = "silent"

    def get_tools(self):
        return []
"""

FRAME = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
DEPTH = np.linspace(0, 5, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lent]:
    folder = workspace.write(tmp_path_factory.mktemp("lending"), {"nodesets/echo.py": ECHO})
    with lent(str(folder / "nodesets" / "echo.py")) as host:
        yield host


def ask(
    url: str, body: bytes | None = None, kind: str = "application/json", **headers: str
) -> tuple[int, bytes]:
    request = urllib.request.Request(url, body, {**({"Content-Type": kind} if body else {}), **headers})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def call(host: Lent, inputs: dict[str, Any], config: dict[str, Any] | None = None, **more: Any) -> Any:
    """As AgentCanvas's proxy does: MessagePack, and no word of who calls."""
    body = pack({"inputs": inputs, "config": config or {}, **more})
    status, data = ask(f"{host.url}/call/echo__echo", body, MSGPACK)
    assert status == 200, data
    return unpack(data)["outputs"]


def test_it_says_what_it_is_as_agentcanvas_asks(echo: Lent) -> None:
    status, data = ask(f"{echo.url}/health")
    assert (status, json.loads(data)["status"], json.loads(data)["name"]) == (200, "ok", "echo")
    manifest = json.loads(ask(f"{echo.url}/manifest")[1])
    assert (manifest["name"], manifest["version"], manifest["description"]) == (
        "echo",
        "1.0",
        "says what it hears",
    )
    function = manifest["functions"][0]
    assert (function["name"], function["description"]) == ("echo__echo", "an echo")
    assert [p["name"] for p in function["input_ports"] if p["optional"]] == ["depth", "key"]
    assert [p["wire_type"] for p in function["output_ports"]] == ["IMAGE", "DEPTH", "ANY"]
    assert function["ui_config"]["layout"] == "block"
    (container,) = manifest["containers"]
    assert (container["id"], container["states"]["words"]["type"]) == ("memory", "accumulator")


def test_arrays_travel_as_agentcanvas_s_blobs_both_ways(echo: Lent) -> None:
    outputs = call(echo, {"rgb": FRAME, "depth": DEPTH})
    np.testing.assert_array_equal(outputs["rgb"], FRAME)
    np.testing.assert_array_equal(outputs["depth"], DEPTH)
    assert outputs["depth"].dtype == np.float32
    assert outputs["about"]["by_number"] == {0: "int keys are allowed"}


def test_json_is_answered_in_json_by_the_ports_types(echo: Lent) -> None:
    stream = io.BytesIO()
    Image.fromarray(FRAME).save(stream, "PNG")
    inputs = {"rgb": base64.b64encode(stream.getvalue()).decode(), "depth": to_json(DEPTH)}
    status, data = ask(f"{echo.url}/call/echo__echo", json.dumps({"inputs": inputs, "config": {}}).encode())
    assert status == 200
    outputs = json.loads(data)["outputs"]
    picture = Image.open(io.BytesIO(base64.b64decode(outputs["rgb"])))
    np.testing.assert_array_equal(np.array(picture), FRAME)
    assert outputs["depth"] == to_json(DEPTH)
    assert outputs["about"]["seen"] == "uint8"
    for damaged in ({"rgb": "no picture"}, {"rgb": {"__ndarray__": "AA", "dtype": "float32", "shape": [7]}}):
        body = json.dumps({"inputs": damaged, "config": {}}).encode()
        status, data = ask(f"{echo.url}/call/echo__echo", body)
        assert (status, b"input 'rgb'" in data) == (400, True)


def test_a_canvas_s_calls_go_to_one_node_each_with_its_own_config_and_key(echo: Lent) -> None:
    first = call(echo, {"rgb": FRAME}, {"mood": "good"})["about"]
    second = call(echo, {"rgb": FRAME}, {"mood": "bad"})["about"]
    assert second["calls"] == first["calls"] + 1
    assert (first["config"], second["config"]) == ({"mood": "good"}, {"mood": "bad"})
    assert first["key"] != second["key"]


def test_a_partition_of_the_nodeset_s_container_is_evicted(echo: Lent) -> None:
    assert call(echo, {"rgb": FRAME, "key": "ep1"})["about"]["words"] == ["word"]
    assert call(echo, {"rgb": FRAME, "key": "ep1"})["about"]["words"] == ["word", "word"]
    status, data = ask(f"{echo.url}/containers/evict", json.dumps({"key": "ep1"}).encode())
    assert (status, json.loads(data)["key"], json.loads(data)["evicted"]) == (200, "ep1", 1)
    assert call(echo, {"rgb": FRAME, "key": "ep1"})["about"]["words"] == ["word"]
    assert ask(f"{echo.url}/containers/evict", b"{}")[0] == 400


@pytest.mark.parametrize("kind", [MSGPACK, "application/json"])
def test_dynamic_children_are_handed_over_as_agentcanvas_has_them(echo: Lent, kind: str) -> None:
    body = pack({"inputs": {}}) if kind == MSGPACK else b'{"inputs": {}}'
    status, data = ask(f"{echo.url}/call/echo__spawn", body, kind)
    reply = unpack(data) if kind == MSGPACK else json.loads(data)
    child = {"node_type": "echo__echo", "inputs": {"key": "k"}, "config": {}, "label": "first"}
    assert (status, reply["__firelist__"]) == (
        200,
        {
            "specs": [{**child, "capture_outputs": ["about"]}],
            "spawner_outputs": {"count": 1},
            "aggregator": {"kind": "merge_all"},
        },
    )


def test_what_goes_wrong_is_told_by_its_status(echo: Lent) -> None:
    def status_of(path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        return ask(f"{echo.url}{path}", pack(body), MSGPACK)

    assert status_of("/call/echo__sing", {"inputs": {}})[0] == 404
    status, data = status_of("/call/echo__echo", {"inputs": {"rgb": FRAME}, "config": {"fail": True}})
    assert (status, b"no more words" in data) == (500, True)
    granted = {"inputs": {"rgb": FRAME}, "_exec": {"execution_id": "e1", "grants": ["graph_state"]}}
    status, data = status_of("/call/echo__echo", granted)
    assert (status, b"graph_state" in data) == (400, True)
    assert ask(f"{echo.url}/shutdown", b"{}")[0] == 404


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
def test_a_page_in_a_browser_is_refused(echo: Lent, headers: dict[str, str]) -> None:
    status, data = ask(f"{echo.url}/health", **headers)
    assert (status, b"only for programs on this machine" in data) == (403, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_environment_s_panel_is_lent_too_until_it_is_stopped(
    tmp_path: Path, number: signal.Signals
) -> None:
    folder = workspace.make_workspace(tmp_path)
    with lent(str(folder / "nodesets" / "env" / "env_walk"), "--name", "env_walk") as host:
        assert json.loads(ask(f"{host.url}/env-panel/info")[1])["display_name"] == "Walk"
        for name, value in (("seed", 4), ("episode_index", 2)):
            body = json.dumps({"value": value}).encode()
            assert ask(f"{host.url}/env-panel/field/{name}", body)[0] == 200
        assert json.loads(ask(f"{host.url}/env-panel/action/play", b'{"params": {}}')[1])["ok"] is True
        assert json.loads(ask(f"{host.url}/env-panel/state")[1])["current_episode"]["instr_id"] == "i2"
        assert json.loads(ask(f"{host.url}/env-panel/options/split")[1]) == []
        assert host.end(number) == 0


def test_it_runs_as_in_a_run(echo: Lent) -> None:
    environ = Path(f"/proc/{echo.pid}/environ").read_bytes().split(b"\0")
    assert {b"MKL_NUM_THREADS=1", b"ECHO=1"} <= set(environ)


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("1 / 0  # BaseNodeSet", [], "ZeroDivisionError"),
        (ECHO, ["--name", "other"], "its nodesets: echo"),
        (ECHO + SECOND, [], "choose one with --name"),
        (ECHO.replace('    env = {"ECHO": "1"}', "    server_python = '/no/python'"), [], "/no/python"),
    ],
)
def test_what_cannot_be_lent_is_said_in_one_line(
    tmp_path: Path, text: str, words: list[str], message: str
) -> None:
    path = workspace.write(tmp_path, {"echo.py": text}) / "echo.py"
    command = [sys.executable, "-m", "engine.hosting.lend", str(path), *words]
    ended = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert message in ended.stderr
