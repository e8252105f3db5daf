"""The store over a control in memory, at a clock that the test moves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from engine.control.late import LateControl
from engine.control.protocol import Control
from engine.control.queue_reports import QueueReport
from engine.control.reports import NoBackendError
from engine.store.records import EpisodeRow
from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl, busy_control, fake_report, mixed_rows
from tests.fakes.finished_runs import make_run
from tests.tui.scored import scored_control
from tui.models import Snapshot
from tui.store import INTERVAL_SEC, POLL_SEC, Store

RUNNING = "20260518_141000"


class Watched:
    """A store, and everything that it told."""

    def __init__(self, control: FakeControl) -> None:
        self.clock = FakeClock()
        self.told: list[Snapshot] = []
        self.store = Store(control, self.told.append, self.clock)

    async def look_later(self) -> Snapshot:
        self.clock.advance(POLL_SEC)
        return await self.store.look()


async def test_the_first_look_tells_everything() -> None:
    seen = await Watched(busy_control()).store.look()
    assert len(seen.runs) == 6
    assert seen.listed
    assert seen.resources is not None
    assert seen.backend is not None
    assert seen.run is None
    assert list(seen.left_sec) == [RUNNING]
    assert seen.problem == ""


async def test_the_first_screen_does_not_wait_for_the_machine() -> None:
    watched = Watched(busy_control())
    await watched.store.look()
    first = watched.told[0]
    assert first.runs
    assert first.resources is None
    assert [snapshot.seq for snapshot in watched.told] == list(range(1, len(watched.told) + 1))


async def test_the_selected_run_is_told_with_its_rows_and_then_its_numbers() -> None:
    watched = Watched(busy_control())
    await watched.store.look()
    watched.store.select(RUNNING)
    await watched.store.look()
    details = [snapshot.run for snapshot in watched.told if snapshot.run is not None]
    assert [len(detail.rows) for detail in details] == [40] * len(details)
    assert details[0].results is None
    assert details[-1].results is not None


async def test_nothing_is_told_while_nothing_changes() -> None:
    control = busy_control()
    control.reports = [run for run in control.reports if run.status != "running"]
    control.queue_report = QueueReport()
    watched = Watched(control)
    await watched.store.look()
    count = len(watched.told)
    for _ in range(5):
        await watched.look_later()
    assert len(watched.told) == count


async def test_rows_are_read_again_only_when_the_summary_says_that_there_are_more() -> None:
    control = busy_control()
    asked: list[str] = []
    episodes = control.episodes

    def counting(run: str) -> list[EpisodeRow]:
        asked.append(run)
        return episodes(run)

    control.episodes = counting  # type: ignore[method-assign]
    watched = Watched(control)
    watched.store.select(RUNNING)
    await watched.store.look()
    await watched.look_later()
    assert asked == [RUNNING]
    control.rows[RUNNING] = mixed_rows(41)
    control.reports[2] = fake_report(RUNNING, "running", rows=mixed_rows(41), total=100)
    seen = await watched.look_later()
    assert asked == [RUNNING, RUNNING]
    assert seen.run is not None
    assert len(seen.run.rows) == 41


async def test_a_run_that_ends_is_seen_to_end() -> None:
    control = busy_control()
    watched = Watched(control)
    await watched.store.look()
    control.queue_report = QueueReport()
    control.reports[2] = fake_report(RUNNING, rows=mixed_rows(100))
    seen = await watched.look_later()
    ended = seen.find(RUNNING)
    assert ended is not None
    assert ended.status == "completed"


async def test_a_run_that_was_deleted_is_gone_and_is_no_problem() -> None:
    control = busy_control()
    watched = Watched(control)
    watched.store.select(RUNNING)
    await watched.store.look()
    del control.reports[2]
    seen = await watched.look_later()
    assert seen.find(RUNNING) is None
    assert seen.run is None
    assert seen.problem == ""


async def test_without_a_backend_what_was_seen_stays_and_is_dated() -> None:
    control = busy_control()
    watched = Watched(control)
    await watched.store.look()
    control.refuses["queue"] = NoBackendError("no backend answers for this root")
    seen = await watched.look_later()
    assert seen.problem == "data of 14:30:00; no backend answers for this root"
    assert len(seen.queue.queued) == 2
    del control.refuses["queue"]
    assert (await watched.look_later()).problem == ""


async def test_without_a_backend_what_has_ended_by_its_files_is_not_told_as_running() -> None:
    control = busy_control()
    watched = Watched(control)
    await watched.store.look()
    control.refuses["queue"] = NoBackendError("no backend answers for this root")
    running = next(report for report in control.reports if report.run_id == RUNNING)
    ended = structs.replace(running, status="completed")
    control.reports = [ended if report is running else report for report in control.reports]
    for _ in range(3):
        seen = await watched.look_later()
    found = seen.find(RUNNING)
    assert found is not None
    assert (found.status, seen.queue.running) == ("completed", [])
    assert len(seen.queue.queued) == 2


async def test_an_error_that_nobody_thought_of_is_a_problem_and_not_the_end() -> None:
    control = busy_control()
    control.refuses["resources"] = ValueError("strange")
    seen = await Watched(control).store.look()
    assert seen.problem.endswith("; machine cannot be read: strange")
    assert seen.backend is not None


async def test_servers_are_asked_for_only_while_somebody_shows_them() -> None:
    control = busy_control()
    control.refuses["servers"] = AssertionError("nobody shows them")
    watched = Watched(control)
    assert (await watched.store.look()).problem == ""
    watched.store.watch_servers(True)
    assert "nobody shows them" in (await watched.look_later()).problem


@pytest.mark.parametrize("urgent", [True, False])
async def test_what_a_key_asks_for_does_not_wait_for_the_interval(urgent: bool) -> None:
    watched = Watched(busy_control())
    store = watched.store
    store.start()
    async with asyncio.timeout(20):
        while not (store.snapshot.listed and store.snapshot.resources):
            await asyncio.sleep(0.005)
        seq = store.snapshot.seq
        store.select(RUNNING) if urgent else store.poke()
        if not urgent:
            for _ in range(20):
                await asyncio.sleep(0.005)
            assert store.snapshot.seq == seq
            store.select(RUNNING)
            watched.clock.advance(INTERVAL_SEC)
        while store.snapshot.run is None:
            await asyncio.sleep(0.005)
    await store.close()


async def test_a_backend_that_cannot_be_opened_leaves_the_runs_to_be_seen(tmp_path: Path) -> None:
    def opener() -> Control:
        raise NoBackendError("the backend's socket is taken")

    run = make_run(tmp_path)
    store = Store(LateControl(tmp_path, opener), lambda snapshot: None, FakeClock())
    store.select(run.run_id)
    seen = await store.look()
    assert [report.run_id for report in seen.runs] == [run.run_id]
    assert seen.run is not None
    assert seen.run.results is not None
    assert "the backend's socket is taken" in seen.problem


async def test_what_came_of_scoring_is_told_with_the_numbers_of_a_run_that_is_scored() -> None:
    watched = Watched(scored_control())
    watched.store.select(RUNNING)
    seen = await watched.store.look()
    assert seen.run is not None
    assert seen.run.scoring is not None
    assert seen.run.scoring.failed == 1
    plain = Watched(busy_control())
    plain.store.select(RUNNING)
    seen = await plain.store.look()
    assert seen.run is not None
    assert seen.run.scoring is None
