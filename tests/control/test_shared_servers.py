"""Shared servers from a run's request to their unloading, with a real backend and real processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.control.backend import Backend
from engine.control.queue_reports import ServerReport
from engine.control.reports import AlreadyOverError, RunReport, StartRequest
from engine.scheduling.simulated import SimulatedMachine
from engine.store.backend_lock import BackendLock
from engine.store.rundir import RunDir
from engine.store.settings import Settings
from tests.control.waiting import wait_for, wait_until_over, wait_until_running
from tests.fakes.live_backend import ROOMY, LiveControl, live
from tests.fakes.real_runs import make_root
from tests.fakes.shared_servers import ModelFiles, model_files, policy_graph


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return model_files(tmp_path / "model", monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_root(tmp_path / "root")
    (root / "workspace" / "graphs").mkdir()
    (root / "workspace" / "graphs" / "policy.json").write_text(json.dumps(policy_graph()))
    return root


@pytest.fixture
def control(root: Path, model: ModelFiles) -> Iterator[LiveControl]:
    with live(root) as control:
        yield control
        end(control)
    wait_for(lambda: not model.living(), "its processes to be gone")


def end(control: LiveControl) -> None:
    for run in control.queue().running:
        with suppress(AlreadyOverError):
            control.cancel(run.run_id, 0.0)
    for server in loaded(control):
        if server.kept:
            control.unload_server(server.name)
    wait_for(lambda: not loaded(control), "all servers to be unloaded")


def loaded(control: LiveControl) -> list[ServerReport]:
    return [server for server in control.servers() if server.key]


def request(**more: Any) -> StartRequest:
    fields: dict[str, Any] = {"episode_count": 8, "worker_count": 2, "marginal_vram_mb": 0, **more}
    return StartRequest(graph_name="policy", **fields)


def completed(control: LiveControl, run: str) -> RunReport:
    report = wait_until_over(control, run)
    assert report.status == "completed", report.summary.error
    return report


@pytest.mark.slow
def test_two_runs_at_once_load_it_once_and_it_goes_after_the_last(
    control: LiveControl, model: ModelFiles
) -> None:
    control.pause()
    runs = [control.start(request(worker_count=workers)) for workers in (1, 2)]
    control.unpause()
    reports = [completed(control, run) for run in runs]
    assert len({report.summary.result_digest for report in reports}) == 1
    wait_for(lambda: not loaded(control), "it to be unloaded")
    assert len(model.lines("loads")) == len(model.lines("shut_down")) == 1
    (url,) = {RunDir(Path(report.path)).read_shared_urls()["model_line"] for report in reports}
    assert url.startswith("unix:/")


@pytest.mark.slow
def test_one_that_the_operator_loaded_stays(control: LiveControl, model: ModelFiles) -> None:
    assert control.load_server("model_line").state == "loading"
    wait_for(lambda: loaded(control)[0].state == "ready", "it to be ready")
    completed(control, control.start(request()))
    wait_for(lambda: not control.queue().running, "the run to be forgotten")
    (server,) = loaded(control)
    assert (server.state, server.kept, server.users) == ("ready", True, [])
    control.unload_server("model_line")
    wait_for(lambda: not loaded(control), "it to be unloaded")
    assert len(model.lines("loads")) == len(model.lines("shut_down")) == 1


@pytest.mark.slow
def test_one_that_does_not_start_ends_its_runs_with_the_reason(
    control: LiveControl, model: ModelFiles
) -> None:
    model.set("broken")
    report = wait_until_over(control, control.start(request()))
    assert report.status == "error"
    assert "weights.pt is not there" in (report.summary.error or "")
    assert "\n" not in (report.summary.error or "")
    assert not loaded(control)
    assert not control.live.queue.servers


@pytest.mark.slow
def test_killed_with_all_of_its_processes_it_is_loaded_again_under_its_runs(
    control: LiveControl, model: ModelFiles
) -> None:
    undisturbed = completed(control, control.start(request(episode_count=40)))
    model.set("slow")
    run = control.start(request(episode_count=40, retries=3))
    wait_until_running(control, run)
    (before,) = loaded(control)
    assert before.pid is not None
    loads = len(model.lines("loads"))
    shim = psutil.Process(before.pid)
    for process in (shim, *shim.children(recursive=True)):
        process.kill()
    model.set("slow", False)
    assert completed(control, run).summary.result_digest == undisturbed.summary.result_digest
    assert len(model.lines("loads")) == loads + 1


@pytest.mark.slow
def test_another_backend_takes_it_over_with_its_runs(root: Path, model: ModelFiles) -> None:
    lock = BackendLock.acquire(root)
    first = LiveControl(root, Backend(root, lock, Settings(), SimulatedMachine(ROOMY)))
    try:
        first.load_server("model_line")
        wait_for(lambda: [s.state for s in loaded(first)] == ["ready"], "it to be ready")
        model.set("slow")
        run = first.start(request(episode_count=40))
        wait_until_running(first, run)
        (before,) = loaded(first)
    finally:
        first.close()
    with live(root) as second:
        wait_for(lambda: [s.state for s in loaded(second)] == ["ready"], "it to be taken over")
        (after,) = loaded(second)
        assert (after.pid, after.url, after.users) == (before.pid, before.url, [run])
        model.set("slow", False)
        completed(second, run)
        second.unload_server("model_line")
        wait_for(lambda: not loaded(second), "it to be unloaded")
    assert len(model.lines("loads")) == len(model.lines("shut_down")) == 1
