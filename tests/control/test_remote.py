"""The verbs over REST say and raise what they do in the backend's own process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.api.auth import read_or_make_token
from engine.api.service import Service
from engine.api.sockets import Sockets
from engine.control.calling import Caller
from engine.control.protocol import Control
from engine.control.remote import RemoteControl, open_remote
from engine.control.reports import (
    AlreadyOverError,
    ConflictError,
    ControlError,
    NoBackendError,
    NotFoundError,
    RefusedError,
    StartRequest,
    StillAliveError,
    UntrustedHooksError,
)
from engine.store.backend_lock import read_backend, write_backend
from tests.control.test_backend import request
from tests.control.waiting import wait_for, wait_until_over, wait_until_running
from tests.fakes.live_backend import LiveControl
from tests.fakes.workspace import toy_graph


@contextmanager
def served(control: LiveControl) -> Iterator[RemoteControl]:
    """What another process of this user would use."""
    sockets = Sockets.open(control.root, "127.0.0.1", 0)
    listening, ended = threading.Event(), threading.Event()

    async def serve() -> None:
        service = Service(control.live, control, sockets, read_or_make_token(control.root))
        async with service:
            listening.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert listening.wait(20)
        with open_remote(control.root) as remote:
            yield remote
    finally:
        ended.set()
        thread.join()
        sockets.close(remove=True)


@pytest.fixture
def remote(control: LiveControl) -> Iterator[RemoteControl]:
    with served(control) as remote:
        yield remote


def test_a_run_from_start_to_end(remote: RemoteControl, control: LiveControl) -> None:
    run = remote.start(request("hang", label="mine"))
    wait_until_running(remote, run)
    wait_for(lambda: remote.queue().running[0].pid is not None, "its shim")
    assert remote.queue() == control.queue()
    assert remote.queue().running[0].admit_basis["ram"] == "assumed"
    with pytest.raises(StillAliveError, match="queued or runs"):
        remote.delete("mine")
    assert remote.cancel("mine", 5.0).status == "cancelling"
    assert wait_until_over(remote, run).status == "cancelled"
    wait_for(lambda: control.live.is_idle, "its end")
    with pytest.raises(AlreadyOverError, match="cancelled"):
        remote.cancel(run)
    remote.pause()
    assert control.queue().paused
    remote.resume(run)
    remote.hold(run)
    assert remote.queue().queued[0].held
    remote.release(run)
    assert remote.move(run, 9) == 1
    assert remote.prioritize(run, "high") == 1
    assert remote.cancel(run).status == "cancelled"
    remote.unpause()
    remote.delete(run)
    with pytest.raises(NotFoundError):
        remote.show(run)


def test_a_file_is_the_caller_s_and_not_the_backend_s(
    remote: RemoteControl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("walk.json").write_text(json.dumps(toy_graph(name="")))
    report = wait_until_over(remote, remote.start(StartRequest(graph_name="walk.json", episode_count=2)))
    assert (report.status, report.summary.config.graph_name) == ("completed", "walk")
    assert remote.estimate("walk.json", 2).graph_name == "walk"
    Path("torn.json").write_text("{")
    with pytest.raises(RefusedError, match=r"torn\.json"):
        remote.start(StartRequest(graph_name="torn.json"))


def test_every_kind_of_refusal_arrives(remote: RemoteControl, control: LiveControl) -> None:
    def problems(of: Control, asked: StartRequest) -> list[tuple[str, str]]:
        with pytest.raises(RefusedError) as refused:
            of.start(asked)
        return [(problem.code, problem.where) for problem in refused.value.problems]

    wrong = request(worker_count=0, depends_on=["nobody"])
    assert problems(remote, wrong) == problems(control, wrong) != []
    hooked = toy_graph(hooks=[{"event": "GraphStart", "command": "true"}])
    with pytest.raises(UntrustedHooksError, match="true"):
        remote.start(StartRequest(graph_name="mine", graph=hooked))
    with pytest.raises(NotFoundError, match="no nodeset is called 'nope'"):
        remote.load_server("nope")
    with pytest.raises(ConflictError, match="not shared"):
        remote.load_server("env_toy")
    with pytest.raises(ConflictError, match="not loaded"):
        remote.unload_server("env_toy")
    with pytest.raises(NotFoundError):
        remote.estimate("nope", 1)


def test_the_machine_and_the_backend(remote: RemoteControl, control: LiveControl) -> None:
    assert {server.name for server in remote.servers()} >= {"env_toy", "env_gridhouse"}
    wait_for(lambda: not remote.resources().problems, "the first sample")
    assert remote.resources().simulated
    backend = remote.backend()
    assert (backend.pid, backend.url) == (control.backend().pid, control.backend().url)
    assert "episode" not in json.dumps(remote.graph("toy"))
    assert "toy" in [entry.name for entry in remote.graphs()]
    assert remote.validate(toy_graph()).ok
    assert remote.introspect("toy").env_nodeset == "env_toy"
    remote.stop_backend()
    assert remote.backend().state == "ending"


def test_without_the_socket_it_calls_the_port_with_the_token(
    remote: RemoteControl, control: LiveControl
) -> None:
    record = read_backend(control.root)
    assert record is not None
    record.socket = ""
    write_backend(control.root, record)
    assert remote.queue().paused is False
    (control.root / "outputs" / "token").write_text("wrong")
    with open_remote(control.root) as stranger, pytest.raises(ControlError, match="token"):
        stranger.queue()


def test_nobody_is_there(root: Path) -> None:
    with open_remote(root) as remote:
        verbs: list[Any] = [remote.queue, remote.pause, remote.servers, remote.backend]
        for verb in verbs:
            with pytest.raises(NoBackendError, match="no backend answers"):
                verb()
        assert remote.runs() == []
        assert remote.check("toy").ok


def test_one_that_was_there_is_not_called_any_more(control: LiveControl) -> None:
    with served(control):
        pass
    with Caller(control.root) as caller, pytest.raises(NoBackendError):
        caller.call("GET", "/api/eval/v2/queue")


def test_verify_over_rest(remote: RemoteControl) -> None:
    asked = StartRequest(graph_name="toy", episode_count=2, marginal_vram_mb=0)
    report = remote.verify(asked, [1, 2], lambda run: wait_until_over(remote, run) and None)
    assert (report.verdict, report.compared) == ("same", 2)
