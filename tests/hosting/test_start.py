from __future__ import annotations

import asyncio
import gc
import os
import stat
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.components.errors import HostStartFailed
from engine.hosting.process import HostProcess, HostSpec, make_socket_dir
from tests.hosting.helpers import Host, eventually, is_gone, pids_in

Spec = Callable[..., HostSpec]
Start = Callable[..., Awaitable[Host]]


async def failure(spec: HostSpec, deadline: float = 60) -> HostStartFailed:
    with pytest.raises(HostStartFailed) as caught:
        await HostProcess.start(spec, deadline)
    return caught.value


async def test_a_host_has_a_group_of_its_own_no_stdin_and_the_environment_asked_for(
    start: Start, tmp_path: Path
) -> None:
    host = await start(env={"MUJOCO_GL": "egl"}, cwd=tmp_path)
    about = (await host.do("about")).outputs
    assert about is not None
    assert about["pid"] == about["group"] == about["session"] == host.process.pid
    assert about["stdin"] == ""
    assert about["environment"]["MUJOCO_GL"] == "egl"
    assert about["environment"]["MKL_CBWR"] == "AUTO,STRICT"
    assert about["cwd"] == str(tmp_path)


async def test_what_decides_bits_comes_from_the_nodeset_and_never_from_the_operator_s_shell(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MKL_CBWR", "AVX2")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    host = await start(env={"MKL_CBWR": "AVX2,STRICT"})
    about = (await host.do("about")).outputs
    assert about is not None
    assert about["environment"]["OMP_NUM_THREADS"] == "1"
    assert about["environment"]["MKL_CBWR"] == "AVX2,STRICT"


async def test_its_socket_is_private_and_goes_with_it(start: Start) -> None:
    host = await start()
    socket = Path(host.process.url.removeprefix("unix:"))
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    await host.process.kill()
    assert not socket.exists()


@pytest.mark.parametrize(
    ("fault", "message", "detail"),
    [
        ("constructor raises", "zoo did not start: RuntimeError: no display", "in __init__"),
        ("initialize raises", "zoo did not start: OSError: no such scene", "in initialize"),
        ("prints and initialize raises", "OSError: no such scene", "loading the scene"),
        ("says much", "zoo did not start: ImportError: no display …", "and no driver"),
        ("sys.exit at import", "zoo did not start: SystemExit: no licence", "zoo.py"),
        ("exit at import", "zoo did not start: exit code 3 before it was up", ""),
        ("segfault at import", "zoo did not start: signal SIGSEGV (11) before it was up", "in segfault"),
        ("close every descriptor", "zoo did not start: exit code 0 before it was up", ""),
    ],
)
async def test_a_failed_start_says_why(spec: Spec, fault: str, message: str, detail: str) -> None:
    error = await failure(spec(fault))
    assert message in str(error)
    assert detail in error.detail
    assert error.nodeset == "zoo"


async def test_a_start_that_hangs_ends_at_its_deadline_with_its_children(spec: Spec, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    error = await failure(spec("hang at import", env={"ZOO_MARK": str(mark)}), deadline=2)
    assert "it was not up within 2 s" in str(error)
    assert all(is_gone(pid) for pid in pids_in(mark))


async def test_a_cancelled_start_leaves_nothing(spec: Spec, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    wanted = spec("hang at import", env={"ZOO_MARK": str(mark)})
    starting = asyncio.create_task(HostProcess.start(wanted, 60))
    children = await eventually(lambda: pids_in(mark))
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert all(is_gone(pid) for pid in children)


async def test_an_interpreter_that_is_not_there(spec: Spec) -> None:
    error = await failure(spec(python="/nowhere/python"))
    assert "zoo did not start" in str(error)
    assert "/nowhere/python" in str(error)


async def test_an_interpreter_without_our_three_packages_is_told_which(spec: Spec, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    error = await failure(spec(python=str(bare)))
    assert "ModuleNotFoundError: No module named" in str(error)
    assert "pip install aiohttp msgspec numpy" in str(error)


async def test_a_nodeset_that_the_file_does_not_have(spec: Spec) -> None:
    error = await failure(spec(name="aquarium"))
    assert "aquarium" in str(error)
    assert "zoo" in str(error)


async def test_a_start_from_another_thread_is_refused(spec: Spec) -> None:
    def start() -> None:
        asyncio.run(HostProcess.start(spec(), 60))

    with pytest.raises(RuntimeError, match="main thread"):
        await asyncio.to_thread(start)


async def test_a_socket_path_that_the_kernel_would_cut_is_refused(spec: Spec, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="longer than 107 bytes"):
        await HostProcess.start(spec(socket_dir=tmp_path / ("x" * 100)), 60)


def test_a_socket_folder_is_short_wherever_temporary_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / ("x" * 100)
    far.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(far))
    folder = make_socket_dir()
    try:
        assert len(os.fsencode(folder)) < 90
        assert not list(far.iterdir())
    finally:
        folder.rmdir()


async def test_two_hosts_at_once_share_nothing(start: Start) -> None:
    one, two = await asyncio.gather(start(), start())
    assert one.process.url != two.process.url
    await one.process.kill()
    assert (await two.do("echo", value=1)).outputs == {"value": 1}


async def test_the_tail_is_of_this_start_alone(spec: Spec) -> None:
    await failure(spec("prints and initialize raises"))
    error = await failure(spec("exit at import"))
    assert error.detail == ""


async def test_a_stop_leaves_no_connection_to_be_complained_of(spec: Spec) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    host = await HostProcess.start(spec(), 60)
    told = asyncio.Event()

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The host's answer, in two parts."""
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.write(b"{}")
        await reader.read()
        writer.close()
        told.set()

    path = host.url.removeprefix("unix:")
    Path(path).unlink()
    async with await asyncio.start_unix_server(slowly, path):
        await host.stop(1)
        await told.wait()
    gc.collect()
    assert complaints == []


async def test_the_kernel_would_end_a_host_and_its_children_before_anybody_else(start: Start) -> None:
    def adjustment(pid: int) -> int:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    host = await start()
    reply = await host.do("starts a child")
    assert reply.outputs is not None
    expected = max(500, adjustment(os.getpid()))
    assert [adjustment(host.process.pid), adjustment(reply.outputs["value"])] == [expected, expected]
