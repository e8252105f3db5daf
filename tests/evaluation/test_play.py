"""One episode by hand, over the control socket of a real run process."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.evaluation.play import PlayGate
from engine.store.play import PlayAddress, PlayRequest, PlayState
from engine.store.records import WorkerProgress
from engine.store.rundir import RunDir, read_json
from tests.evaluation.run_checks import assert_all_gone, until
from tests.fakes.graphs import env_graph
from tests.fakes.real_runs import RUN_DEADLINE_SEC, ask_to_end, attempt, finished, make_root, write_run

GRAPH = env_graph("env_faulty")
STEPS = 4


class Player:
    """A client written from the words of engine.store.play alone."""

    def __init__(self, run: RunDir) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        self._socket.connect(read_json(run.control, PlayAddress).socket)
        self._file = self._socket.makefile("rwb")

    def say(self, line: bytes) -> dict[str, Any]:
        self._file.write(line + b"\n")
        self._file.flush()
        answer: dict[str, Any] = json.loads(self._file.readline())
        return answer

    def do(self, what: str, **more: Any) -> dict[str, Any]:
        return self.say(json.dumps({"do": what, **more}).encode())

    def waits_before(self, step: int) -> bool:
        state = self.do("state")
        return bool(state["waiting"]) and state["step"] == step

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@contextmanager
def played(root: Path, graph: dict[str, Any] = GRAPH, **request: Any) -> Iterator[tuple[RunDir, Any, Player]]:
    run = write_run(make_root(root), graph, "play", episode_count=1, **request)
    with attempt(run) as process:
        until(run.control.exists, process)
        player = Player(run)
        yield run, process, player
        player.close()
    assert_all_gone(run)


def states(run: RunDir) -> list[str]:
    progress = run.read_progress()
    return [worker.state for worker in progress.workers] if progress else []


def assert_over(run: RunDir, process: subprocess.Popen[bytes], status: str) -> None:
    assert process.wait(RUN_DEADLINE_SEC) == (0 if status == "completed" else 1)
    assert run.read_summary().status == status
    assert run.is_done()
    assert not run.control.exists()


def test_step_by_step_then_to_the_end(tmp_path: Path) -> None:
    with played(tmp_path / "hand", timeout_sec=RUN_DEADLINE_SEC) as (run, process, player):
        address = Path(read_json(run.control, PlayAddress).socket)
        assert stat.S_IMODE(address.stat().st_mode) == 0o600
        assert stat.S_IMODE(address.parent.stat().st_mode) == 0o700
        assert len(os.fsencode(address)) < 108
        until(lambda: player.waits_before(0), process)
        state = player.do("state")
        assert (state["budget"], state["node"], state["error"]) == (10, "loop_in", "")
        until(lambda: states(run) == ["waiting"], process)
        assert player.do("step")["error"] == ""
        until(lambda: player.waits_before(1), process)
        lines = (run.episodes / "ep0000" / "log.jsonl").read_bytes().splitlines()
        assert [json.loads(line)["node_id"] for line in lines].count("step") == 1
        assert player.do("step", n=2)["error"] == ""
        until(lambda: player.waits_before(3), process)
        assert player.do("run")["waiting"] is False
        assert_over(run, process, "completed")
        (row,) = run.read_summary().episodes
        assert (row.status, row.step_count) == ("completed", STEPS)
    (alone,) = finished(make_root(tmp_path / "alone"), GRAPH, episode_count=1).read_summary().episodes
    assert row.trajectory_digest == alone.trajectory_digest


@pytest.mark.slow
def test_waiting_is_on_no_clock(tmp_path: Path) -> None:
    """The limit is enough for a start on a busy machine."""
    with played(tmp_path, per_step_budget_sec=1.0, step_budget=1, timeout_sec=15.0) as (run, process, player):
        until(lambda: player.waits_before(0), process)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(16.0)  # beyond the run's limit, and its episode's: 3 s of reset and 1 s of a step
        assert player.waits_before(0)
        player.do("run")
        assert_over(run, process, "completed")
        (row,) = run.read_summary().episodes
        assert (row.status, row.termination) == ("completed", "budget")


@pytest.mark.slow
def test_it_is_stopped_by_its_socket_and_by_a_cancel_while_it_waits(tmp_path: Path) -> None:
    with played(tmp_path / "a") as (run, process, player):
        until(lambda: player.waits_before(0), process)
        assert player.do("stop")["error"] == ""
        assert_over(run, process, "cancelled")
        assert [row.status for row in run.read_summary().episodes] == ["cancelled"]
    with played(tmp_path / "b") as (run, process, player):
        until(lambda: player.waits_before(0), process)
        ask_to_end(run)
        process.send_signal(signal.SIGTERM)
        assert_over(run, process, "cancelled")


def test_what_makes_no_sense_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    with played(tmp_path) as (run, process, player):
        until(lambda: player.waits_before(0), process)
        nonsense = (b"", b"{", b"[]", b'{"do": "jump"}', b'{"do": "step", "n": 0}', b"\xff\xfe", b'{"n": 1}')
        for line in nonsense:
            answer = player.say(line)
            assert '"do": "step"' in answer["error"]
            assert answer["waiting"]
        endless = socket.socket(socket.AF_UNIX)
        endless.connect(read_json(run.control, PlayAddress).socket)
        endless.sendall(b"x" * 70_000)
        endless.settimeout(30)
        assert endless.recv(1) == b""  # it hung up
        endless.close()
        second = Player(run)
        assert second.waits_before(0)
        second.do("run")
        second.close()
        assert_over(run, process, "completed")


async def test_steps_are_asked_for_only_while_it_waits() -> None:
    stopped: list[int] = []
    gate = PlayGate(
        lambda: WorkerProgress(worker_id=0, step=3, budget=9, node="loop"), lambda: stopped.append(1)
    )
    assert gate.take(PlayRequest(do="step")).error.startswith("it is not waiting")
    assert gate.take(PlayRequest(do="state")) == PlayState(waiting=False, step=3, budget=9, node="loop")
    gate.take(PlayRequest(do="stop"))
    assert stopped == [1]
    gate.take(PlayRequest(do="run"))
    await gate.wait()
    assert gate.waited_sec == 0.0
