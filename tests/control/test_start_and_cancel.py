from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from engine.control import start
from engine.control.local import LocalControl
from engine.control.reports import AlreadyOverError, ControlError, NotFoundError, StartRequest
from engine.store.process_identity import is_alive
from engine.store.rundir import RunDir
from tests.control.waiting import wait_until_over, wait_until_running
from tests.fakes.workspace import toy_graph


def request(behaviour: str = "finish", **more: object) -> StartRequest:
    return StartRequest(graph_name="toy", selectors={"fake": behaviour}, **more)  # type: ignore[arg-type]


def run_dir(control: LocalControl, run: str) -> RunDir:
    return RunDir(Path(control.show(run).path))


def test_the_folder_says_everything_before_the_process_exists(
    control: LocalControl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "_spawn", _refuse)
    with pytest.raises(ControlError, match="cannot be started"):
        control.start(request(seed=7, worker_count=3, label="mine"))
    run = run_dir(control, "mine")
    spec = run.read_spec()
    assert (spec.eval.graph_name, spec.eval.seed, spec.eval.worker_count) == ("toy", 7, 3)
    assert [need.name for need in spec.needs.nodesets] == ["env_toy"]
    assert len(spec.needs.graph_hash) == len(spec.needs.nodesets[0].source_hash) == 32
    assert {node["id"] for node in spec.graph["nodes"]} == {"reset", "evaluate", "out"}
    assert json.loads(run.shared_urls.read_text()) == {}
    report = control.show("mine")
    assert report.status == "error"
    assert "out of processes" in str(report.summary.error)


def _refuse(*args: object, **options: object) -> None:
    raise OSError("out of processes")


def test_a_run_is_a_process_in_a_session_of_its_own(control: LocalControl) -> None:
    run = run_dir(control, control.start(request("hang")))
    wait_until_running(control, run.run_id)
    job = run.read_job()
    assert job.process is not None
    assert is_alive(job.process)
    assert len(job.token) == 32
    assert os.getsid(job.process.pid) == job.process.pid
    assert os.readlink(f"/proc/{job.process.pid}/fd/0") == os.devnull
    assert (run.path / "stderr.log").resolve() == run.attempt(1) / "stderr.log"
    control.cancel(run.run_id, 60.0)
    assert control.show(run.run_id).status == "cancelled"
    assert json.loads((run.attempt(1) / "exit.json").read_text()) == {"rc": 0, "cancelled": True}
    with pytest.raises(AlreadyOverError, match="cancelled"):
        control.cancel(run.run_id, 60.0)


def test_a_run_that_ends(control: LocalControl) -> None:
    run = run_dir(control, control.start(request()))
    report = wait_until_over(control, run.run_id)
    assert report.status == "completed"
    assert [row.episode_index for row in control.episodes(run.run_id)] == [0, 1]
    assert json.loads((run.attempt(1) / "exit.json").read_text()) == {"rc": 0, "cancelled": False}
    assert run.read_job().state == "ended"


def test_a_run_that_does_not_listen_is_killed_and_closed_off(control: LocalControl) -> None:
    run = run_dir(control, control.start(request("deaf")))
    wait_until_running(control, run.run_id)
    process = run.read_job().process
    control.cancel(run.run_id, 0.0)
    assert process is not None
    assert not is_alive(process)
    report = control.show(run.run_id)
    assert report.status == "cancelled"
    assert report.summary.completed_count == 1
    assert run.read_summary().episodes == control.episodes(run.run_id)
    assert run.is_done()


def test_a_run_that_dies_is_aborted_and_shows_what_it_said(control: LocalControl) -> None:
    report = wait_until_over(control, control.start(request("crash")))
    assert report.status == "aborted"
    assert report.stderr_tail == ["Segmentation \x1b[31mfault"]
    assert [row.episode_index for row in control.episodes(report.run_id)] == [0]
    assert json.loads((Path(report.path) / "attempts/1/exit.json").read_text())["rc"] == 3


def test_a_graph_in_the_request_itself(control: LocalControl) -> None:
    run = control.start(StartRequest(graph_name="", graph=toy_graph()))
    assert wait_until_over(control, run).summary.config.graph_name == "A toy"


def test_an_unknown_run(control: LocalControl) -> None:
    for verb in (control.show, control.episodes, lambda run: control.cancel(run, 0.0)):
        with pytest.raises(NotFoundError, match="no runs"):
            verb("last")
