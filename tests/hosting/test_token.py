"""A host that other machines reach: over TCP, and only for those who were given its token."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.components.errors import HostStartFailed, HostUnreached
from engine.hosting.client import HostClient
from engine.hosting.host_token import is_bearer
from engine.hosting.process import HostProcess, HostSpec
from tests.hosting.helpers import Host, is_gone

TOKEN = "correct-horse"
Start = Callable[..., Awaitable[Host]]


def over_tcp(**changes: object) -> dict[str, object]:
    return {"socket_dir": None, "address": "127.0.0.1", "token": TOKEN, **changes}


def status_of(url: str, path: str, body: bytes | None = None, **headers: str) -> int:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url + path, body, headers), timeout=30
        ) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


async def test_it_answers_its_own_over_tcp_as_over_a_socket(start: Start) -> None:
    host, local = await start(**over_tcp()), await start()
    assert host.process.url.startswith("http://127.0.0.1:")
    assert local.process.url.startswith("unix:")
    assert (await host.do("echo", value=[1, "two"])).outputs == (
        await local.do("echo", value=[1, "two"])
    ).outputs
    pid = host.process.pid
    await host.process.stop(20)
    assert host.process.returncode == 0
    assert is_gone(pid)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/health", None),
        ("/manifest", None),
        ("/call/zoo__do", b'{"inputs": {"what": "echo"}}'),
        ("/shutdown", b""),
        ("/nowhere", None),
    ],
)
async def test_without_its_token_it_answers_nothing(start: Start, path: str, body: bytes | None) -> None:
    url = (await start(**over_tcp())).process.url
    for said in (
        {},
        {"Authorization": "Bearer "},
        {"Authorization": TOKEN},
        {"Authorization": f"Bearer {TOKEN}x"},
    ):
        assert status_of(url, path, body, **said) == 401
    assert status_of(url, "/health", Authorization=f"Bearer {TOKEN}") == 200


async def test_a_host_that_does_not_take_the_token_was_not_sent_anything(start: Start) -> None:
    url = (await start(**over_tcp())).process.url
    for wrong in ("wrong", "Ünïcode"):
        client = HostClient(url, "run/0", "zoo", token=wrong)
        try:
            with pytest.raises(HostUnreached, match="does not take the token"):
                await client.health()
        finally:
            await client.close()


async def test_the_token_is_in_no_command_line_log_or_child(start: Start, tmp_path: Path) -> None:
    host = await start(**over_tcp())
    assert TOKEN not in repr(host.process.spec)
    assert all(TOKEN not in word for word in psutil.Process(host.process.pid).cmdline())
    seen = (await host.do("about")).outputs
    assert seen is not None
    assert seen["environment"]
    assert TOKEN not in str(seen)
    client = HostClient(host.process.url, "run/0", "zoo", token="wrong")
    with pytest.raises(HostUnreached):
        await client.manifest()
    await client.close()
    assert TOKEN not in (tmp_path / "logs" / "zoo.log").read_text()


async def test_open_to_others_it_does_not_start_without_a_token(spec: Callable[..., HostSpec]) -> None:
    open_to_all = replace(spec(), socket_dir=None, address="127.0.0.1")
    with pytest.raises(HostStartFailed) as caught:
        await HostProcess.start(open_to_all, 60)
    assert "EVALTOWER_HOST_TOKEN" in caught.value.detail


def test_what_is_nearly_the_token_is_not_it() -> None:
    assert is_bearer(f"Bearer {TOKEN}", TOKEN)
    for said in ("", "Bearer", f"bearer {TOKEN}", f"Basic {TOKEN}", f"Bearer {TOKEN} ", "Bearer \udcff"):
        assert not is_bearer(said, TOKEN)
