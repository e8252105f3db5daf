from __future__ import annotations

import pytest

from engine.cli import follow, progress
from engine.cli.progress import Pace, describe
from engine.control.reports import RunReport
from engine.store.records import (
    EpisodeWaits,
    MetricStats,
    Progress,
    SummaryConfig,
    SummaryHead,
    WorkerProgress,
)


def report(done: int, steps: int, state: str = "running", **more: object) -> RunReport:
    summary = SummaryHead(
        run_id="r", config=SummaryConfig(graph_name="g"), status="running", created_at="",
        total_episodes=10, completed_count=done, **more,  # type: ignore[arg-type]
    )  # fmt: skip
    worker = WorkerProgress(worker_id=0, state=state, steps_done=steps)  # type: ignore[arg-type]
    now = Progress(run_id="r", updated_at="", workers=[worker])
    return RunReport(run_id="r", path="", status="running", label="", summary=summary, progress=now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock's reading, as the only item."""
    reading = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: reading[0])
    return reading


def test_the_pace_counts_from_the_first_episode_that_was_watched(clock: list[float]) -> None:
    pace = Pace()
    pace.update(report(0, 0, "starting"))
    clock[0] += 60
    pace.update(report(2, 40))
    assert (pace.episodes_per_sec, pace.seconds_left) == (None, None)
    clock[0] += 0.5
    pace.update(report(3, 60))
    assert pace.episodes_per_sec is None, "half a second is no measure"
    clock[0] += 3.5
    pace.update(report(6, 200))
    assert (pace.episodes_per_sec, pace.steps_per_sec, pace.seconds_left) == (1.0, 40.0, 4.0)


def test_the_pace_begins_anew_where_steps_are_counted_anew(clock: list[float]) -> None:
    pace = Pace()
    pace.update(report(4, 400))
    clock[0] += 10
    pace.update(report(4, 20))
    assert pace.steps_per_sec is None, "a resumed run has taken no steps back"
    clock[0] += 4
    pace.update(report(6, 60))
    assert (pace.episodes_per_sec, pace.steps_per_sec) == (0.5, 10.0)


def test_a_run_in_one_line(clock: list[float]) -> None:
    pace = Pace()
    pace.update(report(0, 0))
    clock[0] += 100
    stats = {"spl": MetricStats(mean=0.1, n=9), "success": MetricStats(mean=0.5, n=9, ci95=(0.15, 0.85))}
    now = report(5, 500, error_count=1, metric_stats=stats)
    pace.update(now)
    assert describe(now, pace).split(" · ") == [
        "5/10 episodes",
        "1 with errors",
        "success 0.500 [0.150, 0.850]",
        "1:40 to go",
        "3.0 episodes/min",
        "5 steps/s",
    ]


def test_nothing_is_to_go_once_every_episode_was_played(clock: list[float]) -> None:
    pace = Pace()
    pace.update(report(0, 0))
    clock[0] += 10
    pace.update(report(10, 100))
    assert pace.seconds_left is None
    now = report(10, 100)
    assert now.progress is not None
    now.progress.scoring = [
        EpisodeWaits(episode_index=9, folder="ep0009", waits_for="judge:a", since="2026-05-18T12:00:00")
    ]
    assert "to go" not in describe(now, pace)
    assert "1 waits for judge:a 1" in describe(now, pace)


def test_above_the_error_budget_no_mean_is_told() -> None:
    stats = {"success": MetricStats(mean=0.5, n=9, ci95=(0.15, 0.85))}
    told = describe(report(11, 500, error_count=2, metric_stats=stats), Pace())
    assert "success withheld: 2 of 11 with errors" in told
    assert "0.500" not in told


def playing(*steps: int, done: int = 0, budget: int | None = 1000) -> RunReport:
    """A run of a worker for each of these steps of an episode that it plays."""
    found = report(done, 0)
    found.progress = Progress(
        run_id="r",
        updated_at="",
        workers=[
            WorkerProgress(worker_id=number, state="running", step=step, budget=budget)
            for number, step in enumerate(steps)
        ],
    )
    return found


def test_the_steps_of_a_long_first_episode_are_seen(clock: list[float]) -> None:
    pace = Pace()
    pace.update(playing(0, 0))
    assert describe(playing(0, 0), pace) == "0/10 episodes · starting"
    clock[0] += 10
    now = playing(30, 70)
    pace.update(now)
    assert describe(now, pace) == "0/10 episodes · at step 70 of 1000 · 10 steps/s"
    assert "at step" not in describe(playing(30, done=1), pace)
    assert "at step 3 ·" in describe(playing(3, budget=None), pace)


def test_lines_tell_of_steps_alone_now_and_then(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(follow.time, "monotonic", lambda: clock[0])
    lines, pace = follow.Lines(), Pace()

    def said(after: float, report: RunReport, waiting: str = "") -> str:
        clock[0] += after
        lines.show(report, pace, waiting)
        return capsys.readouterr().err

    assert said(0, playing(0), "queued, 1st") == "queued, 1st\n"
    assert said(600, playing(0), "queued, 1st") == ""
    assert "at step 1 of 1000" in said(600, playing(1))
    assert said(follow.LINE_EVERY_SEC + 1, playing(2)) == ""
    assert "at step 9 of 1000" in said(follow.STEPS_EVERY_SEC, playing(9))
    assert said(1, playing(10, done=1)) == ""
    assert "1/10 episodes" in said(follow.LINE_EVERY_SEC, playing(10, done=1))
