from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from engine.control import start
from engine.control.reports import (
    AlreadyOverError,
    ControlError,
    NotFoundError,
    RefusedError,
    StartRequest,
)
from engine.store.atomic import write_json
from engine.store.process_identity import is_alive
from engine.store.rundir import RunDir, runs_folder
from tests.control.waiting import wait_for, wait_until_over, wait_until_running
from tests.fakes.live_backend import LiveControl
from tests.fakes.workspace import toy_graph


def request(behaviour: str = "finish", **more: object) -> StartRequest:
    fields = {"graph_name": "toy", "selectors": {"fake": behaviour}, "marginal_vram_mb": 0.0, **more}
    return StartRequest(**fields)  # type: ignore[arg-type]


def run_dir(control: LiveControl, run: str) -> RunDir:
    return RunDir(Path(control.show(run).path))


def test_the_folder_says_everything_before_the_process_exists(control: LiveControl) -> None:
    control.pause()
    run = run_dir(control, control.start(request(seed=7, worker_count=3, label="mine", priority="high")))
    spec = run.read_spec()
    assert (spec.eval.graph_name, spec.eval.seed, spec.eval.worker_count) == ("toy", 7, 3)
    assert [need.name for need in spec.needs.nodesets] == ["env_toy"]
    assert len(spec.needs.graph_hash) == len(spec.needs.nodesets[0].source_hash) == 32
    assert {node["id"] for node in spec.graph["nodes"]} == {"reset", "evaluate", "out"}
    assert spec.scheduling["priority"] == "high"
    assert json.loads(run.shared_urls.read_text()) == {}
    job = run.read_job()
    assert (job.state, job.attempt, len(job.token)) == ("queued", 1, 32)
    assert control.show("mine").status == "pending"
    assert [queued.run_id for queued in control.queue().queued] == [run.run_id]


def test_a_run_is_a_process_tree_under_a_shim(control: LiveControl) -> None:
    run = run_dir(control, control.start(request("hang")))
    wait_until_running(control, run.run_id)
    job = run.read_job()
    assert job.process is not None
    assert is_alive(job.process)
    assert os.getsid(job.process.pid) == job.process.pid
    assert (run.path / "stderr.log").resolve() == run.attempt(1) / "stderr.log"
    (running,) = control.queue().running
    assert (running.run_id, running.pid, running.cancel_requested) == (run.run_id, job.process.pid, False)
    assert control.cancel(run.run_id, 60.0).status == "cancelling"
    wait_until_over(control, run.run_id)
    wait_for(lambda: control.live.is_idle, "the end of its processes")
    assert control.show(run.run_id).status == "cancelled"
    assert json.loads((run.attempt(1) / "exit.json").read_text())["cancelled"]
    with pytest.raises(AlreadyOverError, match="cancelled"):
        control.cancel(run.run_id, 60.0)


def test_a_run_that_ends(control: LiveControl) -> None:
    run = run_dir(control, control.start(request()))
    assert wait_until_over(control, run.run_id).status == "completed"
    assert [row.episode_index for row in control.episodes(run.run_id)] == [0, 1]
    wait_for(lambda: control.live.is_idle, "the end of its processes")
    assert json.loads((run.attempt(1) / "exit.json").read_text())["rc"] == 0
    assert run.read_job().state == "ended"


def test_a_run_that_does_not_listen_is_killed_and_closed_off(control: LiveControl) -> None:
    run = run_dir(control, control.start(request("deaf")))
    wait_until_running(control, run.run_id)
    process = run.read_job().process
    control.cancel(run.run_id, 60.0)
    control.cancel(run.run_id, 0.0)
    wait_for(lambda: control.live.is_idle, "the end of its processes")
    report = control.show(run.run_id)
    assert process is not None
    assert not is_alive(process)
    assert report.status == "cancelled"
    assert report.summary.completed_count == 1
    assert run.read_summary().episodes == control.episodes(run.run_id)
    assert run.is_done()


def test_a_run_that_dies_is_aborted_and_shows_what_it_said(control: LiveControl) -> None:
    report = wait_until_over(control, control.start(request("crash")))
    assert report.status == "aborted"
    assert report.stderr_tail == ["Segmentation \x1b[31mfault"]
    assert [row.episode_index for row in control.episodes(report.run_id)] == [0]
    assert json.loads((Path(report.path) / "attempts/1/exit.json").read_text())["rc"] == 3


def test_a_graph_in_the_request_itself(control: LiveControl) -> None:
    run = control.start(StartRequest(graph_name="", graph=toy_graph()))
    assert wait_until_over(control, run).summary.config.graph_name == "A toy"
    run = control.start(StartRequest(graph_name="mine", graph=toy_graph(name="")))
    assert control.show(run).summary.config.graph_name == "mine"


def test_an_unknown_run(control: LiveControl) -> None:
    verbs = (control.show, control.episodes, control.cancel, control.resume, control.delete, control.hold)
    for verb in verbs:
        with pytest.raises(NotFoundError, match="no runs"):
            verb("last")


def test_a_cancelled_run_that_waits_never_starts(control: LiveControl) -> None:
    control.pause()
    run = run_dir(control, control.start(request()))
    assert control.cancel(run.run_id).status == "cancelled"
    assert control.show(run.run_id).status == "cancelled"
    assert control.queue().queued == []
    assert not (run.path / "attempts").exists()


@pytest.mark.parametrize("refused", [{"gpus": ["7"]}, {"depends_on": ["nobody"]}, {"worker_count": 0}])
def test_what_is_refused_leaves_nothing(control: LiveControl, refused: dict[str, object]) -> None:
    wait_for(lambda: control.resources().problems == [], "the first sample")
    with pytest.raises(RefusedError, match=next(iter(refused)) if "gpus" not in refused else "GPU 7"):
        control.start(request(**refused))
    assert control.runs() == []
    assert not runs_folder(control.root).exists()


@pytest.mark.parametrize("file", ["job.json", "spec.json", "summary.json", "queue.json"])
def test_what_cannot_be_written_leaves_nothing(
    control: LiveControl, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    def full(path: Path, *arguments: object, **options: object) -> None:
        if path.name == file:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_json(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(start, "write_json", full)
    monkeypatch.setattr("engine.scheduling.queue.write_json", full)
    with pytest.raises(ControlError, match="No space left"):
        control.start(request())
    assert list(runs_folder(control.root).iterdir()) == []
    monkeypatch.undo()
    assert control.queue().queued == []
