"""Files of a root that cannot be read: no run is lost, none waits for ever, and every one is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.control.reports import ControlError
from engine.store.rundir import RunDir, runs_folder
from engine.store.runs import list_runs, view_run
from tests.control.test_backend import left_behind, queue_file, request, told
from tests.control.waiting import wait_until_over
from tests.fakes.live_backend import live


def queued(root: Path) -> RunDir:
    """A run that waits in a paused queue, with no backend."""
    with live(root, leave=True) as control:
        control.pause()
        return control.find(control.start(request()))


def test_a_completed_run_without_its_summary_is_never_pending_and_resumed(root: Path) -> None:
    with live(root) as control:
        run = control.find(control.start(request()))
        wait_until_over(control, run.run_id)
        rows = control.episodes(run.run_id)
    run.summary.write_text("{")
    with live(root) as control:
        (view,) = list_runs(root)
        assert view.status == view_run(run).status == "aborted"
        assert view.head.created_at == run.read_spec().created_at
        for part in ("summary.json", "episodes.jsonl", f"evaltower resume {run.run_id}"):
            assert part in str(view.head.error)
        assert control.episodes(run.run_id) == rows
        control.resume(run.run_id)
        assert wait_until_over(control, run.run_id).status == "completed"


@pytest.mark.parametrize("content", ["{", ""])
@pytest.mark.parametrize("lose", [lambda root: None, lambda root: queue_file(root).write_text("{")])
def test_a_queued_run_whose_spec_cannot_be_read_is_ended_and_named(
    root: Path, lose: Callable[[Path], object], content: str
) -> None:
    run = queued(root)
    run.spec.write_text(content)
    lose(root)
    with live(root) as control:
        assert control.queue().queued == []
        assert control.show(run.run_id).status == "error"
        assert "spec.json cannot be read" in str(control.show(run.run_id).summary.error)
        assert f"{run.run_id} " in told(control)
        with pytest.raises(ControlError, match=r"put spec\.json back"):
            control.resume(run.run_id)


def test_a_queued_run_whose_folder_is_gone_leaves_the_queue(root: Path) -> None:
    run = queued(root)
    run.path.rename(root / "elsewhere")
    with live(root) as control:
        assert control.queue().queued == []
        assert run.run_id in told(control)


def test_a_queued_run_whose_job_cannot_be_read_stays_queued(root: Path) -> None:
    run = queued(root)
    run.job.write_text("{")
    with live(root) as control:
        assert f"{run.run_id} stays queued" in told(control)
        assert (run.path / "job.json.unreadable-1").read_text() == "{"
        control.unpause()
        assert wait_until_over(control, run.run_id).status == "completed"


def test_a_run_in_no_queue_whose_job_cannot_be_read_is_named_and_resumed(root: Path) -> None:
    run = queued(root)
    run.job.write_text("{")
    queue_file(root).write_text("{")
    with live(root) as control:
        assert f"evaltower resume {run.run_id}" in told(control)
        assert control.show(run.run_id).status == "aborted"
        control.resume(run.run_id)
        assert control.show(run.run_id).status == "pending"
        control.unpause()
        assert wait_until_over(control, run.run_id).status == "completed"


def test_only_folders_of_its_own_making_go(root: Path) -> None:
    folder = runs_folder(root)
    stay = [folder / "junk", folder / ".deleted-by-me", folder / "20260101_000000" / ".keep"]
    go = [folder / "20260101_000001", folder / "20260101_000002", folder / ".deleted-x-0123abcd"]
    for path in (*stay, *go):
        path.mkdir(parents=True)
    (go[1] / ".job.json.12.34.tmp").touch()
    copied = left_behind(root)
    copied.path.rename(folder / "a copy")
    with live(root) as control:
        assert all(path.is_dir() for path in stay)
        assert not any(path.exists() for path in go)
        assert control.queue().queued == []
