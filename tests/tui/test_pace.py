"""Time to go, by the pace of the attempt that goes on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engine.control.reports import RunReport
from engine.store.records import WorkerProgress
from tests.fakes.clock import START
from tests.fakes.control import busy_control, busy_workers, fake_report, mixed_rows, moment
from tests.fakes.fake_control import admitted
from tests.tui.test_store import RUNNING, Watched
from tui.pace import Paces

RESUMED = moment(60)


def running(done: int, workers: list[WorkerProgress] | None = None) -> RunReport:
    at_work = busy_workers(1) if workers is None else workers
    return fake_report("r", "running", rows=mixed_rows(done), total=100, workers=at_work)


def test_it_follows_from_the_pace_since_the_start() -> None:
    paces = Paces()
    assert paces.seconds_left(running(25), moment(1201), START) == pytest.approx(3600.0)
    assert paces.seconds_left(running(25), None, START) == pytest.approx(3600.0)
    assert paces.seconds_left(running(0), None, START) is None
    assert paces.seconds_left(fake_report("r", rows=mixed_rows(10)), None, START) is None


def test_what_was_done_before_a_resume_does_not_count_nor_does_the_time_between() -> None:
    paces = Paces()
    starts = [WorkerProgress(worker_id=0, state="starting")]
    assert paces.seconds_left(running(0, starts), RESUMED, START) is None
    assert paces.seconds_left(running(60, starts), RESUMED, START) is None
    assert paces.seconds_left(running(60), RESUMED, START) is None
    later = START + timedelta(seconds=30)
    assert paces.seconds_left(running(70), RESUMED, later) == pytest.approx(90.0)
    again = later.isoformat()
    assert paces.seconds_left(running(70), again, later + timedelta(seconds=5)) is None
    last = later + timedelta(seconds=15)
    assert paces.seconds_left(running(75), again, last) == pytest.approx(50.0)


async def test_the_screen_tells_it_of_a_resumed_run_once_it_has_seen_its_pace() -> None:
    control = busy_control()
    control.queue_report.running = [admitted(RUNNING, started_at=moment(60))]
    watched = Watched(control)
    assert (await watched.store.look()).left_sec == {}
    control.reports[2] = fake_report(
        RUNNING, "running", rows=mixed_rows(50), total=100, workers=busy_workers()
    )
    seen = await watched.look_later()
    assert seen.left_sec == {RUNNING: pytest.approx(5.0)}
