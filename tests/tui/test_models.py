from __future__ import annotations

from datetime import timedelta

import pytest
from rich.style import Style

from engine.control.queue_reports import QueueReport, ResourcesReport
from engine.store.outcomes import is_fault, outcome_of
from engine.store.records import Progress, WorkerProgress
from tests.fakes.clock import START
from tests.fakes.control import HOST, fake_gpus, fake_report, mixed_rows, moment
from tests.fakes.fake_control import queued
from tests.fakes.finished_runs import fake_row
from tui.drawing import strip_of
from tui.models import (
    HISTORY_SEC,
    GpuHistory,
    Snapshot,
    age_sec,
    duration,
    headline_of,
    run_outcome,
    short_headline,
    stalled_workers,
    while_away,
)


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        (fake_row(1), "success"),
        (fake_row(0), "failure"),
        (fake_row(0, metrics={"success": None}), "unmeasured"),
        (fake_row(0, metrics={"return": 3.5}), "completed"),
        (fake_row(0, metrics={"return": 0.0, "success": None}), "completed"),
        (fake_row(0, metrics={"return": 3.5}, verdict=True), "success"),
        (fake_row(0, metrics={}), "unmeasured"),
        (fake_row(0, status="error", termination="timeout"), "timeout"),
        (fake_row(0, status="error", termination="env_crash"), "crash"),
        (fake_row(0, status="error", termination="exception", error_class="config"), "misconfigured"),
        (fake_row(0, status="error", termination="timeout", error_class="config"), "timeout"),
        (fake_row(0, status="cancelled", termination="cancelled"), "cancelled"),
    ],
)
def test_how_an_episode_is_drawn(row: object, outcome: str) -> None:
    assert outcome_of(row) == outcome  # type: ignore[arg-type]
    assert is_fault(row) == (outcome not in ("success", "completed", "cancelled"))  # type: ignore[arg-type]


def test_a_run_that_waits_says_whether_it_is_held() -> None:
    run = fake_report("r", "pending")
    snapshot = Snapshot(now=START, queue=QueueReport(queued=[queued("r", held=True)]))
    assert run_outcome(run, snapshot) == "paused"
    assert run_outcome(run, Snapshot(now=START)) == "waiting"


def test_a_worker_that_has_long_been_at_one_node_is_stalled_and_so_is_its_run() -> None:
    slow = WorkerProgress(worker_id=0, state="running", since=moment(411))
    quick = WorkerProgress(worker_id=1, state="running", since=moment(1))
    waits = WorkerProgress(worker_id=2, state="waiting", since=moment(999))
    progress = Progress(run_id="r", updated_at=moment(0), workers=[slow, quick, waits])
    assert [(worker.worker_id, idle) for worker, idle in stalled_workers(progress, START)] == [(0, 411.0)]
    run = fake_report("r", "running", workers=[slow, quick])
    assert run_outcome(run, Snapshot(now=START)) == "stalled"


def test_a_headline_has_its_interval_or_says_why_there_is_none() -> None:
    good = fake_report("r", rows=[fake_row(index) for index in range(40)])
    assert headline_of(good) == "success 0.500 [0.352, 0.648]"
    assert short_headline(good) == "0.500±.148"
    bad = fake_report("r", rows=mixed_rows(40))
    assert headline_of(bad) == "success withheld: 7/40 errored"
    assert short_headline(bad) == "withheld"
    assert headline_of(fake_report("r", "pending")) == short_headline(fake_report("r", "pending")) == ""


def test_only_the_last_ten_minutes_of_a_card_are_kept() -> None:
    report = ResourcesReport(driver="present", gpus=fake_gpus(), host=HOST)
    history = GpuHistory()
    for at in range(0, int(HISTORY_SEC) + 100, 50):
        history = history.with_report(report, float(at))
    card = history.cards["GPU-0000"]
    assert card[0].at > card[-1].at - HISTORY_SEC
    assert card[-1].utilization == 87.0


def test_a_snapshot_that_differs_only_in_time_is_the_same() -> None:
    one = Snapshot(seq=1, at=1.0, now=START, runs=(fake_report("r"),))
    later = Snapshot(seq=2, at=2.0, now=START + timedelta(seconds=1), runs=(fake_report("r"),))
    assert one.same_as(later)
    assert not one.same_as(Snapshot(now=START))


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "-"), (0, "0s"), (59.4, "59s"), (61, "1:01"), (7800, "2h10m"), (273600, "3d04h")],
)
def test_durations(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_ages() -> None:
    assert age_sec(moment(5), START) == 5.0
    assert age_sec(moment(-5), START) == 0.0
    assert age_sec("yesterday", START) is None
    assert age_sec("2026-05-18T12:00:00", START) is None
    assert age_sec(None, START) is None


def test_what_ended_while_nobody_looked() -> None:
    ended = fake_report("r1", rows=[fake_row(index) for index in range(40)], label="navA")
    before = fake_report("r0", finished_at=moment(5000))
    runs = [fake_report("r2", "running"), ended, before]
    assert while_away(runs, moment(300), START) == ["navA completed, 40/40, success 0.500 [0.352, 0.648]"]
    assert while_away(runs, "", START) == []


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (["40/40"], "40/40"),
        (["40/400"], "40/4…"),
        (["abcde", "40/40"], "abcd…"),
        (["abcde", "   "], "abcde"),
        (["abc", "4", "1", "0"], "abc4…"),
    ],
)
def test_a_line_that_goes_on_beyond_its_end_says_so(pieces: list[str], told: str) -> None:
    strip = strip_of([(text, Style.null()) for text in pieces], 5, Style.null(), cut="…")
    assert (strip.text, strip.cell_length) == (told, 5)
