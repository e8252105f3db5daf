from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from engine.components.errors import HostCrashed, HostTimeout
from tests.hosting.helpers import Host, eventually, is_gone, pids_in

Start = Callable[..., Awaitable[Host]]


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("exits", "ended with exit code 1"),
        ("segfaults", "ended by signal SIGSEGV (11)"),
        ("is killed", "ended by signal SIGKILL (9)"),
    ],
)
async def test_a_host_that_ends_in_a_call_has_crashed_and_its_cause_is_known(
    start: Start, fault: str, cause: str
) -> None:
    host = await start()
    with pytest.raises(HostCrashed, match=re.escape(f"zoo {cause} during zoo__do")) as caught:
        await host.do(fault)
    assert caught.value.call == "zoo__do"
    await host.process.kill()
    assert cause.endswith(host.process.exit_cause())
    with pytest.raises(HostCrashed, match="zoo failed before"):
        await host.do("echo", value=1)


async def test_the_trace_of_a_segfault_is_in_the_tail(start: Start) -> None:
    host = await start()
    with pytest.raises(HostCrashed):
        await host.do("segfaults")
    await host.process.kill()
    assert any("in segfaults" in line for line in host.process.tail(40))


async def test_a_host_killed_from_outside_mid_call(start: Start, tmp_path: Path) -> None:
    host = await start()
    call = asyncio.create_task(host.do("hangs", value=str(tmp_path / "pids")))
    children = await eventually(lambda: pids_in(tmp_path / "pids"))
    os.kill(host.process.pid, signal.SIGKILL)
    with pytest.raises(HostCrashed):
        await call
    await eventually(lambda: all(is_gone(pid) for pid in children))
    assert host.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("fault", ["hangs", "spins", "holds the gil"])
async def test_a_call_that_outlives_its_limit_and_the_kill_that_follows(
    start: Start, tmp_path: Path, fault: str
) -> None:
    host = await start()
    with pytest.raises(HostTimeout, match=r"zoo, zoo__do: no answer within 1 s"):
        await host.do(fault, value=str(tmp_path / "pids"), timeout=1.0)
    with pytest.raises(HostCrashed, match="zoo failed before"):
        await host.do("echo", value=1)
    await host.process.kill("zoo__do outlived its limit")
    assert host.process.exit_cause() == "killed: zoo__do outlived its limit"
    assert all(is_gone(pid) for pid in [host.process.pid, *pids_in(tmp_path / "pids")])


async def test_what_a_host_leaves_behind_ends_with_it(start: Start, tmp_path: Path) -> None:
    """A child in its group, one in a session of its own, and a daemon that holds the connection open."""
    host = await start()
    with pytest.raises(HostCrashed):
        await host.do("exits leaving a daemon", value=str(tmp_path / "pids"), timeout=20)
    left = pids_in(tmp_path / "pids")
    assert len(left) == 3
    await host.process.kill()
    assert all(is_gone(pid) for pid in left)
    assert host.process.exit_cause() == "exit code 1"


async def test_a_stop_runs_the_nodeset_s_shutdown(start: Start) -> None:
    host = await start()
    await host.do("nothing")
    await host.process.stop(20)
    assert host.process.exit_cause() == "exit code 0"
    assert host.process.tail(2) == ["shut down n1", "the zoo is closed"]


async def test_a_stop_takes_children_along(start: Start) -> None:
    host = await start()
    reply = await host.do("starts a child")
    assert reply.outputs is not None
    await host.process.stop(20)
    assert is_gone(reply.outputs["value"])


@pytest.mark.parametrize("begin", ["hang at shutdown", ""])
async def test_a_host_that_does_not_end_when_asked_is_killed(
    start: Start, tmp_path: Path, begin: str
) -> None:
    host = await start(begin)
    call = asyncio.create_task(host.do("spins", value=str(tmp_path / "pids"))) if not begin else None
    if call is not None:
        await eventually(lambda: pids_in(tmp_path / "pids"))
    await host.process.stop(1)
    assert host.process.exit_cause() == "killed: it was still running 1 s after it was asked to shut down"
    assert all(is_gone(pid) for pid in [host.process.pid, *pids_in(tmp_path / "pids")])
    if call is not None:
        with pytest.raises(HostCrashed):
            await call


async def test_trapping_sigterm_saves_nobody(start: Start) -> None:
    host = await start()
    await host.do("traps sigterm")
    os.kill(host.process.pid, signal.SIGTERM)
    await eventually(lambda: host.process.tail(1) == ["not yet"])
    assert (await host.do("echo", value=1)).outputs == {"value": 1}
    await host.process.kill()
    assert is_gone(host.process.pid)


async def test_a_host_that_ends_between_calls(start: Start) -> None:
    host = await start()
    await host.do("nothing")
    os.kill(host.process.pid, signal.SIGKILL)
    await eventually(lambda: is_gone(host.process.pid))
    with pytest.raises(HostCrashed):
        await host.do("nothing")


async def test_stop_and_kill_may_be_repeated(start: Start) -> None:
    host = await start()
    await host.process.stop(20)
    await host.process.stop(20)
    await host.process.kill()
    assert host.process.exit_cause() == "exit code 0"


async def test_memory_is_that_of_the_whole_tree(start: Start) -> None:
    host = await start()
    alone = host.process.tree_memory_mb()
    assert 5 < alone < 500
    await host.do("takes memory")
    assert host.process.tree_memory_mb() > alone + 40
    reply = await host.do("starts a child")
    assert reply.outputs is not None
    own = psutil.Process(host.process.pid).memory_full_info().pss
    child = psutil.Process(reply.outputs["value"]).memory_full_info().pss
    assert host.process.tree_memory_mb() == pytest.approx((own + child) / (1 << 20), rel=0.1)
    await host.process.kill()
    assert host.process.tree_memory_mb() == 0


async def test_no_descriptor_is_left_of_a_host(start: Start) -> None:
    own = psutil.Process()
    await (await start()).process.stop(20)
    before = own.num_fds()
    host = await start()
    await host.client.close()
    await host.process.stop(20)
    assert own.num_fds() == before
