from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from engine.store.records import EpisodeRow
from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl, busy_workers, fake_report, mixed_rows
from tests.fakes.finished_runs import fake_row
from tests.tui.episode_folders import write_run
from tests.tui.log_lines import line
from tests.tui.screen import settled, text_of, until
from tui.app import ControlCentre
from tui.panes.episode_columns import Going, Line, Shape, episode_columns, is_doubtful, line_id
from tui.panes.episode_copies import episode_copies
from tui.panes.episodes import EpisodesPane
from tui.rest_calls import Rest
from tui.state_file import TableState, UiState
from tui.table_model import TableModel

HOSTILE = "\x1b]52;c;aGk=\x07\x9b31m\u202e[/x] [b"
RUN = "20260518_141000"


@asynccontextmanager
async def pane(
    rows: list[EpisodeRow],
    size: tuple[int, int] = (160, 45),
    *,
    live: bool = False,
    state: UiState | None = None,
) -> AsyncIterator[tuple[ControlCentre, Pilot[Any], EpisodesPane]]:
    """The episodes of one run, with the keys."""
    workers = busy_workers(2) if live else ()
    report = fake_report(RUN, "running" if live else "completed", rows=rows, total=100, workers=workers)
    control = FakeControl(reports=[report])
    control.rows = {RUN: rows}
    app = ControlCentre(control, clock=FakeClock(), state=state)  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("4")
        found = app.home.panes["episodes"]
        assert isinstance(found, EpisodesPane)
        yield app, pilot, found


def says(app: ControlCentre, text: str) -> bool:
    return any(text in line for line in text_of(app))


async def test_every_metric_has_a_column() -> None:
    async with pane(mixed_rows(20), size=(220, 45)) as (app, _, table):
        assert [column.key for column in table.model.columns][:6] == [
            *("outcome", "episode", "ended", "success", "spl", "steps")
        ]
        assert says(app, "success")
        assert says(app, "policy: ValueError: no path to [/goal]")


async def test_enter_on_a_run_goes_to_its_first_failed_episode() -> None:
    async with pane(mixed_rows(20)) as (_, pilot, table):
        await pilot.press("1", "enter")
        assert table.model.current_id == "0"
        await pilot.press("e")
        assert table.model.current_id == "3"
        await pilot.press("e")
        assert table.model.current_id == "4"
        await pilot.press("E")
        assert table.model.current_id == "3"
        await pilot.press("w")
        assert table.model.current_id == "4"
        await pilot.press("right_square_bracket")
        assert table.model.current_id == "5"


async def test_the_filter_knows_columns_and_metrics() -> None:
    async with pane(mixed_rows(40)) as (app, pilot, table):
        await pilot.press("slash", *"spl>0.5", "space", *"outcome:success", "enter")
        shown = [table.model.row(place) for place in range(len(table.model))]
        assert {row.metrics["spl"] for row in shown if isinstance(row, EpisodeRow)} == {0.6, 0.7, 0.8, 0.9}
        assert says(app, f"{len(table.model)} of 40")
        await pilot.press("escape", "F")
        assert {table.model.row(place).episode_index % 3 for place in range(3)} >= {0}
        assert says(app, "faults only")


async def test_the_order_is_stable() -> None:
    async with pane(mixed_rows(40)) as (_, _pilot, table):
        table.model.sort_by("spl")
        table.model.sort_by("ended")
        shown = [table.model.row(place) for place in range(len(table.model))]
        stopped = [row for row in shown if isinstance(row, EpisodeRow) and row.termination == "stopped"]
        assert [row.metrics["spl"] for row in stopped] == sorted(row.metrics["spl"] for row in stopped)  # type: ignore[type-var]


async def test_what_is_played_now_is_there_too() -> None:
    async with pane(mixed_rows(10), live=True) as (app, pilot, table):
        assert says(app, "12, 2 played now")
        await pilot.press("G")
        assert isinstance(table.model.current, Going)
        assert says(app, "is played now: enter follows it")
        assert says(app, "13/60")
        await pilot.press("f")
        assert table.model.current_id == "9"


async def test_a_kept_filter_waits_for_the_metrics_it_names() -> None:
    state = UiState(tables={"episodes": TableState(filter="spl>0.5")})
    async with pane(mixed_rows(40), state=state) as (app, pilot, table):
        await until(pilot, lambda: len(table.model) < 40)
        assert table.filter_text == "spl>0.5"
        assert says(app, "/ spl>0.5")


async def test_an_episode_without_a_folder_is_told() -> None:
    async with pane(mixed_rows(10)) as (app, pilot, _):
        await pilot.press("enter")
        await until(pilot, lambda: list(app._notifications))
        assert app.depth == 1


async def test_hostile_text_in_every_cell() -> None:
    row = fake_row(0, instruction=HOSTILE, scene_id=HOSTILE, metrics={HOSTILE: 0.5})
    other = fake_row(
        1, status="error", termination="exception", error=HOSTILE, selectors={"task_id": HOSTILE}
    )
    for size in ((220, 45), (80, 24), (40, 10)):
        async with pane([row, other], size) as (app, pilot, _):
            await pilot.press("j", "space", "s", "escape", "slash", *"[b", "enter")
            assert not set("".join(text_of(app))) & set("\x1b\x07\x9b\u202e\n")


def test_tasks_and_repeats_that_share_an_index_are_told_apart() -> None:
    rows = [fake_row(0), fake_row(0, repeat=2), fake_row(0, selectors={"task_id": "b"})]
    assert len({line_id(row) for row in rows}) == 3
    assert line_id(Going(3, "", 1)) == line_id(fake_row(3))


def test_what_gives_less_than_it_should_is_a_warning() -> None:
    assert is_doubtful(fake_row(0, metrics={"success": None}))
    assert is_doubtful(fake_row(0, metrics={}))
    assert is_doubtful(fake_row(0, termination="timeout"))
    assert not is_doubtful(fake_row(0))
    assert not is_doubtful(Going(0, "", 0))


def test_the_first_metric_stays_longest() -> None:
    columns = episode_columns(
        Shape(("success", "spl", "ndtw")),
        lambda going: "",
        lambda row: "",
        lambda: None,  # type: ignore[arg-type,return-value]
    )
    drops = {column.key: column.drop for column in columns}
    assert drops["success"] < drops["ended"] < drops["spl"] < drops["ndtw"] < drops["scene"]


async def test_a_run_without_episodes_does_not_show_those_of_the_run_before() -> None:
    rows = mixed_rows(10)
    failed = fake_report("20260518_110000", "error", rows=[], error="it did not start")
    waits = fake_report("20260518_100000", "pending", total=10)
    control = FakeControl(reports=[fake_report(RUN, rows=rows), failed, waits])
    control.rows = {RUN: rows}
    app = ControlCentre(control, clock=FakeClock())  # type: ignore[arg-type]
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        table = app.home.panes["episodes"]
        assert isinstance(table, EpisodesPane)
        for key, shown in (("j", 0), ("j", 0), ("k", 0), ("k", 10)):
            await pilot.press(key)
            await until(pilot, lambda shown=shown: len(table.model.rows) == shown)  # type: ignore[misc]
            detail = app.snapshot.run
            assert detail is not None
            assert len(detail.rows) == shown
        assert not says(app, "it did not start")


async def test_an_episode_is_copied_by_the_name_of_its_folder(tmp_path: Path) -> None:
    failed = fake_row(1, metrics={"success": 0.0})
    rows = [fake_row(0), failed, fake_row(0, selectors={"task_id": "b"})]
    judged = [line(0, "policy"), line(1, "evaluate", outputs={"success": 0.0, "verdict": "too far"})]
    run = write_run(tmp_path, rows, {1: judged})
    report = fake_report(RUN, rows=rows)
    report.path = str(run.path)
    rest, model = Rest("http://b", tmp_path), TableModel[Line]([], line_id)
    ids = [episode_copies(report, row, model, rest)["copy.id"]() for row in rows]
    assert ids == [f"{RUN}/ep0000", f"{RUN}/ep0001", f"{RUN}/ep0000_b"]
    copies = {name: make() for name, make in episode_copies(report, failed, model, rest).items()}
    assert copies["copy.path"] == str(run.episodes / "ep0001")
    assert copies["copy.command"].splitlines()[0] == f"evaltower log {RUN} ep0001"
    assert copies["copy.error"] == "evaluate: too far"
    assert episode_copies(report, Going(7, "", 0), model, rest)["copy.id"]() == f"{RUN}/ep0007"


async def test_what_f_hides_esc_shows_again() -> None:
    async with pane(mixed_rows(40)) as (app, pilot, table):
        await pilot.press("F")
        assert len(table.model) < 40
        await pilot.press("escape")
        assert len(table.model) == 40
        await pilot.press("F", "slash", *"outcome:crash", "enter")
        assert len(table.model) < 40
        await pilot.press("escape")
        assert (len(table.model), table.filter_text) == (40, "")
        await pilot.press("3", "F")
        assert says(app, "faults only")
        await pilot.press("escape")
        assert not says(app, "faults only")
