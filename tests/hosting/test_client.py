"""What the client makes of a server that does not keep to the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from engine.components.errors import HostBadReply, HostCrashed, HostFailure, HostTimeout
from engine.hosting import codec
from engine.hosting.client import HostClient
from engine.hosting.process import make_socket_dir

Serve = Callable[[bytes], Awaitable[HostClient]]


def http(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """A client to a server that answers every request with these bytes and hangs up."""
    folder = make_socket_dir()
    clients: list[HostClient] = []
    servers: list[asyncio.Server] = []

    async def begin(answer: bytes) -> HostClient:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

        path = folder / f"{len(servers)}.sock"
        servers.append(await asyncio.start_unix_server(handle, path))
        clients.append(HostClient(f"unix:{path}", "run/0", "liar"))
        return clients[-1]

    yield begin
    for client in clients:
        await client.close()
    for server in servers:
        server.close()
        await server.wait_closed()
    for socket in folder.iterdir():
        socket.unlink()
    folder.rmdir()


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (b"", HostCrashed, "the connection broke"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", HostCrashed, "the connection broke"),
        (b"what?\r\n\r\n", HostBadReply, "the answer is no HTTP"),
        (http(b"\xc1"), HostBadReply, "the answer cannot be understood"),
        (http(b""), HostBadReply, "the answer cannot be understood"),
        (http(codec.encode([1])), HostBadReply, "Expected `object`, got `array`"),
        (
            http(codec.encode({"outputs": [1]})),
            HostBadReply,
            r"Expected `object \| null`, got `array` - at `\$.outputs`",
        ),
        (http(codec.encode({})), HostBadReply, "neither outputs nor an error"),
        (http(codec.encode({"outputs": {}, "error": {"type": "E", "message": ""}})), HostBadReply, "or both"),
        (http(codec.encode({"outputs": {}, "writes": [1]})), HostBadReply, r"at `\$.writes\[0\]`"),
        (http(b"gone", "502 Bad Gateway"), HostBadReply, "status 502: gone"),
    ],
)
async def test_nonsense_is_a_failure_of_its_kind(
    serve: Serve, answer: bytes, kind: type[HostFailure], message: str
) -> None:
    client = await serve(answer)
    with pytest.raises(kind, match=message) as caught:
        await client.call("liar__act", {}, {}, {}, 10)
    assert (caught.value.nodeset, caught.value.call) == ("liar", "liar__act")
    assert client.failure is caught.value
    with pytest.raises(HostCrashed, match="liar failed before"):
        await client.panel_state(10)


async def test_nonsense_from_a_panel(serve: Serve) -> None:
    client = await serve(http(codec.encode({"error": 1}), "500 Oh"))
    with pytest.raises(HostBadReply, match=r"liar, /env-panel/state: the answer cannot be understood"):
        await client.panel_state(10)


async def test_nobody_there(tmp_path: Path) -> None:
    client = HostClient("unix:/nowhere/host.sock", "run/0")
    with pytest.raises(HostCrashed, match=r"/nowhere/host\.sock"):
        await client.call("x__y", {}, {}, {}, 10)
    await client.close()


async def test_silence_over_tcp() -> None:
    done = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = HostClient(f"http://127.0.0.1:{port}", "run/0")
    with pytest.raises(HostTimeout, match=r"no answer within 0\.2 s"):
        await client.call("x__y", {}, {}, {}, 0.2)
    done.set()
    await client.close()
    server.close()
    await server.wait_closed()


async def test_an_input_that_cannot_be_sent_is_no_fault_of_the_host(serve: Serve) -> None:
    client = await serve(http(codec.encode({"outputs": {}})))
    with pytest.raises(TypeError, match=r"^inputs\.a\[0\]: .*builtins\.object cannot be sent"):
        await client.call("liar__act", {"a": [object()]}, {}, {}, 10)
    assert client.failure is None
    assert (await client.call("liar__act", {}, {}, {}, 10)).outputs == {}
