"""An episode that is played by hand, through the verbs, in a real run process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.control.reports import ConflictError, RefusedError, StartRequest
from tests.control.waiting import wait_for, wait_until_over
from tests.fakes.graphs import env_graph
from tests.fakes.live_backend import LiveControl, live
from tests.fakes.real_runs import make_root

STEPS = 4


@pytest.fixture
def root(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    root = make_root(tmp_path / "root")
    graphs = root / "workspace" / "graphs"
    graphs.mkdir()
    (graphs / "steps.json").write_text(json.dumps(env_graph("env_faulty")))
    return root


@pytest.fixture
def control(root: Path) -> Iterator[LiveControl]:
    with live(root) as control:
        yield control


def asked(**more: object) -> StartRequest:
    return StartRequest(graph_name="steps", marginal_vram_mb=0, **more)  # type: ignore[arg-type]


def waits_before(control: LiveControl, run: str, step: int) -> None:
    wait_for(lambda: control.play_state(run).waiting and control.play_state(run).step == step, f"step {step}")


@pytest.mark.slow
def test_nothing_starts_beside_it_and_it_ends_as_it_is_told(control: LiveControl) -> None:
    control.pause()
    before = control.start(asked(episode_count=1))
    run = control.play(asked(episode_indices=[1]))
    assert [queued.run_id for queued in control.queue().queued] == [run, before]
    assert control.queue().queued[0].kind == "play"
    assert not control.play_state(run).waiting
    with pytest.raises(ConflictError, match="pending: it does not wait"):
        control.play_step(run)
    control.unpause()
    waits_before(control, run, 0)
    assert control.queue().playing == run
    wait_for(lambda: control.queue().queued[0].code == "interactive", "the other's reason")
    assert run in control.queue().queued[0].reason
    with pytest.raises(ConflictError, match="played already"):
        control.play(asked())
    control.play_step(run, 2)
    waits_before(control, run, 2)
    assert not control.play_run(run).waiting
    assert wait_until_over(control, run).status == "completed"
    assert [row.episode_index for row in control.episodes(run)] == [1]
    assert control.show(before).status in ("pending", "running")
    assert wait_until_over(control, before).status == "completed"
    wait_for(lambda: control.queue().playing is None, "the end of the play")
    assert control.play_state(run).status == "completed"
    with pytest.raises(ConflictError, match="is not played by hand"):
        control.play_state(before)


@pytest.mark.slow
def test_it_goes_on_under_the_next_backend_and_can_be_stopped(root: Path) -> None:
    with live(root, leave=True) as control:
        run = control.play(asked())
        waits_before(control, run, 0)
    with live(root) as control:
        assert control.queue().playing == run
        control.play_step(run)
        waits_before(control, run, 1)
        control.play_stop(run)
        assert wait_until_over(control, run).status == "cancelled"
        wait_for(lambda: control.live.is_idle, "its end")
        wait_for(lambda: control.queue().playing is None, "the end of the play")


def test_one_that_waits_in_the_queue_is_cancelled(control: LiveControl) -> None:
    control.pause()
    run = control.play(asked())
    assert control.play_stop(run).status == "cancelled"
    assert control.play_stop(run).status == "cancelled"


def test_it_is_one_episode(control: LiveControl) -> None:
    with pytest.raises(RefusedError, match="names more than one"):
        control.play(asked(episode_indices=[0, 1]))
    with pytest.raises(RefusedError, match="steps"):
        control.play_step("x", 0)
    assert control.runs() == []
