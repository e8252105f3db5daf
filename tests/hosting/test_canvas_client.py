"""A client of AgentCanvas's servers, against a server that answers as they do, and as they should not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from engine.components.errors import HostBadReply, HostCrashed, HostStartFailed, NodeRaised
from engine.components.firelist import FireList, FireSpec
from engine.hosting.borrowed import BorrowedServer
from engine.hosting.canvas_client import CanvasClient
from tests.fakes.canvas_server import CanvasServer, Dropped, pack, port, running

FRAME = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
REPLIES: dict[str, tuple[int, bytes]] = {
    "not msgpack": (200, b"\xc1"),
    "json": (200, b'{"outputs": {}}'),
    "no outputs": (200, pack({"values": {}})),
    "a list": (200, pack([1])),
    "outputs of another kind": (200, pack({"outputs": [1]})),
    "a fire list of something else": (200, pack({"__firelist__": {"specs": [3]}})),
    "a torn blob": (200, pack({"outputs": {"rgb": FRAME}})[:-1]),
    "not found": (404, b'{"detail": "Unknown function: m__x"}'),
    "no handler": (501, b'{"detail": "No handler"}'),
    "invalid": (422, b'{"detail": []}'),
}


def model(inputs: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    if config.get("dark"):
        raise ValueError("it is dark 😀")
    if config.get("drop"):
        raise Dropped
    return {"rgb": 255 - inputs["rgb"], "about": {0: "first", "list": [1.5, None]}}


class OddServer(CanvasServer):
    """Answers ``/call/odd`` with ``reply``."""

    reply = (200, b"")

    def application(self) -> web.Application:
        app = super().application()
        app.middlewares.append(self._odd)
        return app

    @web.middleware
    async def _odd(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path == "/call/odd":
            return web.Response(status=self.reply[0], body=self.reply[1])
        answer: web.StreamResponse = await handler(request)
        return answer


@pytest.fixture(scope="module")
def server() -> Iterator[OddServer]:
    functions = {"m__look": ([port("rgb", "IMAGE")], [port("rgb", "IMAGE"), port("about", "ANY")], model)}
    with running(OddServer("m", functions)) as started:  # type: ignore[arg-type]
        yield started  # type: ignore[misc]


@pytest.fixture
async def client(server: OddServer) -> AsyncIterator[CanvasClient]:
    made = CanvasClient(server.url, "run/0", "m")
    yield made
    await made.close()


async def test_arrays_travel_as_its_blobs(client: CanvasClient) -> None:
    reply = await client.call("m__look", {"rgb": FRAME}, {}, {"containers": {}}, 20)
    assert reply.outputs is not None
    np.testing.assert_array_equal(reply.outputs["rgb"], 255 - FRAME)
    assert reply.outputs["about"] == {0: "first", "list": [1.5, None]}
    assert reply.transfer_bytes > 2 * FRAME.nbytes


async def test_what_the_node_raises_arrives_as_an_error_and_the_client_lives(client: CanvasClient) -> None:
    raised = (await client.call("m__look", {"rgb": FRAME}, {"dark": True}, {}, 20)).error
    assert raised is not None
    assert raised.message == "it is dark 😀"
    assert (await client.call("m__look", {"rgb": FRAME}, {}, {}, 20)).error is None


@pytest.mark.parametrize("what", REPLIES)
async def test_an_answer_that_the_protocol_does_not_allow_is_the_server_s_failure(
    client: CanvasClient, server: OddServer, what: str
) -> None:
    server.reply = REPLIES[what]
    with pytest.raises(HostBadReply, match="m, odd: "):
        await client.call("odd", {}, {}, {}, 20)
    with pytest.raises(HostCrashed, match="failed before"):
        await client.call("m__look", {"rgb": FRAME}, {}, {}, 20)


async def test_a_connection_that_breaks_is_a_crash(client: CanvasClient) -> None:
    with pytest.raises(HostCrashed, match="the connection broke"):
        await client.call("m__look", {"rgb": FRAME}, {"drop": True}, {}, 20)


async def test_containers_of_the_graph_are_out_of_its_reach(client: CanvasClient, server: OddServer) -> None:
    calls = len(server.calls)
    error = (await client.call("m__look", {"rgb": FRAME}, {}, {"containers": {"notes": {}}}, 20)).error
    assert error is not None
    assert "granted the containers ['notes']" in error.message
    assert len(server.calls) == calls


async def test_a_fire_list_is_understood(client: CanvasClient, server: OddServer) -> None:
    spec = {
        "node_type": "m__look",
        "inputs": {"rgb": FRAME},
        "config": {},
        "label": "",
        "capture_outputs": None,
    }
    listed = {"specs": [spec], "spawner_outputs": {"a": 1}, "aggregator": {"kind": "merge_all"}}
    server.reply = (200, pack({"__firelist__": listed}))
    children = (await client.call("odd", {}, {}, {}, 20)).children
    assert children is not None
    found = children.as_list()
    np.testing.assert_array_equal(found.specs[0].inputs.pop("rgb"), FRAME)
    assert found == FireList([FireSpec("m__look")], {"a": 1}, {"kind": "merge_all"})


async def test_it_cannot_be_asked_to_aggregate(client: CanvasClient) -> None:
    error = (await client.call("odd", {}, {}, {"results": []}, 20)).error
    assert error is not None
    assert "no aggregator" in error.message


async def test_an_episode_is_evicted_in_its_json(client: CanvasClient, server: OddServer) -> None:
    await client.evict("run/ep0000", "ep7")
    assert server.evicted == ["run/ep0000", "ep7"]
    assert await client.metadata() == {}
    await client.set_live(True)


async def test_a_panel_is_asked_in_its_json() -> None:
    def panel(what: str, name: str, body: Any) -> Any:
        if name == "bad":
            raise web.HTTPInternalServerError(text='{"detail": "no such field"}')
        return {"what": what, "name": name, "body": body}

    with running(CanvasServer("p", {}, panel)) as server:
        client = CanvasClient(server.url, "", "p")
        answer = await client.panel_field("split", np.int64(3), 20)
        assert answer == {"what": "field", "name": "split", "body": {"value": 3}}
        with pytest.raises(NodeRaised, match="no such field"):
            await client.panel_field("bad", 1, 20)
        await client.close()


async def test_a_server_is_known_by_what_it_says_of_itself(server: OddServer) -> None:
    reached = await BorrowedServer.reach("m", server.url)
    connection = reached.connect("run/0")
    assert type(connection) is CanvasClient
    await connection.close()
    manifest = await reached.manifest(None)
    assert (manifest.parallelism, manifest.determinism, manifest.panel) == ("shared", "none", None)
    assert [p.wire_type for p in manifest.tools["m__look"].outputs] == ["IMAGE", "ANY"]
    with pytest.raises(HostStartFailed, match="serves 'm', not 'other'"):
        await BorrowedServer.reach("other", server.url)


async def test_nothing_of_a_borrowed_server_is_ended(server: OddServer) -> None:
    reached = await BorrowedServer.reach("m", server.url)
    await reached.stop(0.0)
    await reached.kill("its run had no more use for it")
    assert (reached.returncode, reached.tail(5), reached.tree_memory_mb()) == (None, [], 0.0)
    assert reached.exit_cause() == f"borrowed from {server.url}"
    assert not await reached.ended_within(0.0)
    assert (await BorrowedServer.reach("m", server.url)).url == server.url
