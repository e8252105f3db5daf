"""The life of a backend: where it listens, how it ends, who goes on."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.api.embedded import EmbeddedService
from engine.api.service import Service
from engine.api.serving import acquire
from engine.api.sockets import Sockets
from engine.control.backend import Backend
from engine.control.local import LocalControl
from engine.control.reports import ControlError, StartRequest
from engine.store.backend_lock import BackendLock
from engine.store.process_identity import ProcessIdentity, is_alive
from engine.store.settings import read_settings
from tests.api.client import EVAL, Client, find_backend
from tests.api.conftest import Serve, new_root

DEADLINE_SEC = 60.0


def wait_for(condition: Callable[[], object], what: str) -> None:
    ends = time.monotonic() + DEADLINE_SEC
    while not condition():
        assert time.monotonic() < ends, f"waited in vain for {what}"
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def compose(root: Path, lock: BackendLock) -> tuple[Backend, LocalControl]:
    backend = Backend(root, lock, read_settings(root))
    return backend, LocalControl(root, backend)


def local(root: Path) -> Client:
    return Client(socket=find_backend(root)["socket"])


@pytest.fixture
def cached(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))


@pytest.fixture
def successors(root: Path) -> Iterator[None]:
    """Ends the backend of ``root`` that is alive after the test, with its runs."""
    yield
    record = find_backend(root)
    process = ProcessIdentity(**record["process"])
    if process.pid != os.getpid() and is_alive(process):
        local(root).post("/api/system/backend/stop", cancel=True)
        wait_for(lambda: not is_alive(process), "the end of the successor")


def serve_by_hand(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "engine.main", "--root", str(root), "--serve", *options]
    return subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_SEC, check=False)


def test_a_taken_port(serve: Serve, root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        said = serve_by_hand(root, "--no-token", "--port", str(port))
    assert said.returncode == 1
    assert f"port {port} of 127.0.0.1 is taken" in said.stderr
    assert said.stdout == ""
    chosen = free_port()
    assert serve("--no-token", "--port", str(chosen)).url == f"http://127.0.0.1:{chosen}"


def test_the_next_port_that_is_free(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        monkeypatch.setattr("engine.api.sockets.PORT", stranger.getsockname()[1])
        sockets = Sockets.open(root, "127.0.0.1", None)
        try:
            assert sockets.tcp.getsockname()[1] != stranger.getsockname()[1]
            path = Path(sockets.path)
            assert path.exists()
        finally:
            sockets.close(remove=True)
    assert not path.exists()
    with pytest.raises(ControlError, match="no such host"):
        Sockets.open(root, "no such host", 0)


def test_one_backend_a_root(serve: Serve, root: Path) -> None:
    server = serve("--no-token", "--port", "0")
    said = serve_by_hand(root, "--port", "0")
    assert said.returncode == 1
    assert f"has a backend already: process {server.process.pid}" in said.stderr
    assert server.url in said.stderr
    assert server.client().get("/api/health")["pid"] == server.process.pid


def test_a_root_with_a_long_path(serve: Serve, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 50)
    deep.mkdir(parents=True)
    root = new_root(deep)
    server = serve("--port", "0", root=root)
    assert len(find_backend(root)["socket"]) < 100
    assert server.local_client().queue()["queued"] == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it(serve: Serve, root: Path, number: signal.Signals, code: int) -> None:
    server = serve("--no-token", "--port", "0")
    socket_path = Path(find_backend(root)["socket"])
    assert server.end(number) == code
    record = find_backend(root)
    assert record["ended_at"] is not None
    assert record["successor"] is None
    assert not socket_path.exists()
    with pytest.raises(httpx.ConnectError):
        server.client().queue()


@pytest.mark.slow
def test_the_loss_of_its_terminal_does_not_end_it(root: Path, cache_home: Path) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.environ["XDG_CACHE_HOME"] = str(cache_home)
        os.execv(
            sys.executable,
            [
                sys.executable,
                "-m",
                "engine.main",
                "--root",
                str(root),
                "--serve",
                "--no-token",
                "--port",
                "0",
            ],
        )
    try:
        record = root / "outputs/backend.json"
        wait_for(lambda: record.exists() and find_backend(root)["url"], "the server")
        client = Client(find_backend(root)["url"])
        os.close(terminal)
        client.wait_until(client.start("toy", episode_count=1))
        assert {os.readlink(f"/proc/{child}/fd/{number}") for number in (0, 1, 2)} == {os.devnull}
    finally:
        os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.slow
def test_it_ends_when_it_is_told_and_cancels(serve: Serve, root: Path) -> None:
    server = serve("--no-token", "--port", "0")
    client = server.client()
    run_id = client.start("gridhouse_random", episode_count=500)
    client.wait_until(run_id, episodes=1)
    assert client.post("/api/system/backend/stop", cancel=True) == {"status": "ending"}
    answer = client.http.post(f"{EVAL}/start", json={"graph_name": "toy"})
    assert answer.status_code == 503
    assert "ending" in answer.json()["detail"]
    assert server.process.wait(DEADLINE_SEC) == 0
    summary = (root / "outputs/eval_runs" / run_id / "summary.json").read_text()
    assert '"status": "cancelled"' in summary


@pytest.mark.slow
def test_sigterm_and_a_restart_within_the_grace_change_no_result(serve: Serve, root: Path) -> None:
    asked = {"episode_count": 48, "worker_count": 2, "seed": 3}  # it still runs when the next backend is up
    server = serve("--no-token", "--port", "0")
    client = server.client()
    expected = client.wait_until(client.start("gridhouse_random", **asked))
    assert expected["status"] == "completed"
    running = client.start("gridhouse_random", **asked)
    client.wait_until(running, episodes=1)
    client.post(f"{EVAL}/queue/pause")
    queued = client.start("gridhouse_random", **asked)
    assert server.end(signal.SIGTERM) == 0
    again = serve("--no-token", "--port", "0").client()
    assert [run["run_id"] for run in again.queue()["running"]] == [running]
    assert [run["run_id"] for run in again.queue()["queued"]] == [queued]
    again.post(f"{EVAL}/queue/resume")
    for run_id in (running, queued):
        found = again.wait_until(run_id)
        assert found["status"] == "completed"
        assert _essence(found) == _essence(expected)
        assert found["result_digest"] == expected["result_digest"]
    again.wait_until_idle()


def _essence(run: Any) -> list[tuple[object, ...]]:
    told = ("episode_index", "status", "step_count", "metrics", "trajectory_digest", "error")
    return [tuple(row[name] for name in told) for row in run["episodes"]]


class Load(threading.Thread):
    """Asks without end; ``new``: each time over a connection of its own."""

    def __init__(self, make: Callable[[], Client], starts: bool, new: bool) -> None:
        super().__init__()
        self._make, self._starts, self._new = make, starts, new
        self.ended = threading.Event()
        self.accepted: list[str] = []
        self.asked = 0
        self.failures: list[str] = []

    def run(self) -> None:
        client = self._make()
        while not self.ended.is_set():
            try:
                try:
                    self._ask(client)
                except httpx.TransportError:  # closed before its request was read: asked again
                    client.http.close()
                    client = self._make()
                    self._ask(client)
            except Exception as error:
                self.failures.append(repr(error))
            self.asked += 1
            if self._new:
                client.http.close()
                client = self._make()
        client.http.close()

    def _ask(self, client: Client) -> None:
        if self._starts:
            self.accepted.append(client.start("toy", episode_count=1))
        else:
            client.queue()


@pytest.mark.slow
@pytest.mark.usefixtures("cached", "successors")
def test_a_hand_over_under_load_refuses_nobody_and_loses_nothing(root: Path) -> None:
    service = EmbeddedService(root, compose)
    control = service.start()
    try:
        control.pause()
        first = control.start(StartRequest(graph_name="toy", episode_count=1))
        record = find_backend(root)
        token = (root / "outputs/token").read_text().strip()

        def over_port() -> Client:
            return Client(record["url"], token)

        def over_socket() -> Client:
            return Client(socket=record["socket"])

        kinds = [(over_port, False), (over_socket, False), (over_port, True), (over_socket, True)]
        loads = [Load(make, starts, new) for make, starts in kinds for new in (False, True)]
        for load in loads:
            load.start()
        wait_for(lambda: all(load.asked > 3 for load in loads), "some load")
    finally:
        service.close()
    handed = [load.asked for load in loads]
    wait_for(lambda: all(load.asked > 3 + n for load, n in zip(loads, handed, strict=True)), "more load")
    for load in loads:
        load.ended.set()
    for load in loads:
        load.join()
    assert [load.failures for load in loads if load.failures] == []
    after = find_backend(root)
    assert after["process"]["pid"] != os.getpid()
    assert (after["url"], after["socket"]) == (record["url"], record["socket"])
    accepted = {first, *(run for load in loads for run in load.accepted)}
    queued = [run["run_id"] for run in local(root).queue()["queued"]]
    assert len(queued) == len(set(queued))
    assert set(queued) == accepted


@pytest.mark.usefixtures("cached", "successors")
def test_an_embedded_backend_ends_with_its_work(root: Path) -> None:
    service = EmbeddedService(root, compose)
    control = service.start()
    run_id = control.start(StartRequest(graph_name="toy", episode_count=1))
    with pytest.raises(ControlError, match=r"has a backend already"):
        EmbeddedService(root, compose).start()
    wait_for(lambda: control.show(run_id).is_over, "the run")
    service.close()
    assert control.show(run_id).status == "completed"
    record = find_backend(root)
    assert record["process"]["pid"] == os.getpid()
    assert record["ended_at"] is not None
    assert not Path(record["socket"]).exists()


@pytest.mark.slow
@pytest.mark.usefixtures("cached", "successors")
def test_what_still_runs_goes_on_under_a_successor(root: Path) -> None:
    service = EmbeddedService(root, compose)
    control = service.start()
    run_id = control.start(StartRequest(graph_name="gridhouse_random", episode_count=10))
    wait_for(lambda: control.show(run_id).summary.completed_count, "an episode")
    service.close()
    client = local(root)
    assert client.wait_until(run_id)["status"] == "completed"
    assert client.get("/api/health")["pid"] != os.getpid()


@pytest.mark.usefixtures("cached")
async def test_one_that_was_handed_over_ends_when_nobody_needs_it(root: Path) -> None:
    lock = acquire(root)
    sockets = Sockets.open(root, "127.0.0.1", 0)
    backend, control = compose(root, lock)
    never = asyncio.Event()
    async with Service(backend, control, sockets, None, idle_sec=1.0) as service:
        control.pause()
        run_id = await asyncio.to_thread(control.start, StartRequest(graph_name="toy", episode_count=1))
        over = asyncio.create_task(service.wait_until_over(never))
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(over), 2.0)
        assert not over.done()  # somebody's work is queued
        await asyncio.to_thread(control.cancel, run_id)
        await asyncio.wait_for(over, DEADLINE_SEC)
    sockets.close(remove=True)
    lock.close()
    assert find_backend(root)["ended_at"] is not None
