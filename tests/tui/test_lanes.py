"""The workers' lanes: the model, what is drawn of it, and the keys."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.store.records import EpisodeRow, Progress, WorkerProgress
from tests.fakes.clock import START, FakeClock
from tests.fakes.control import busy_control, busy_workers, fake_report, mixed_rows, moment
from tests.fakes.finished_runs import fake_row
from tests.tui.screen import centre, settled, text_of, until
from tui.drawing import Drawing
from tui.lane_view import LaneView, told
from tui.models_lanes import (
    STEPS_SEC,
    Block,
    Lane,
    Lanes,
    Window,
    aligned,
    axis_labels,
    cells_of,
    finished_blocks,
    following,
    lanes_of,
    whole,
    worst_first,
)
from tui.panes.lane_lines import lane_line, legend_line, now_text, rare_outcomes, track, widths
from tui.panes.lanes import LanesPane
from tui.theme import OUTCOMES, THEMES, Outcome, worst

RUN = "20260518_141000"
outcomes = st.sampled_from(OUTCOMES)


def lane(*spans: tuple[float, float, Outcome], worker: int = 0, **more: Any) -> Lane:
    blocks = [Block(worker, index, outcome, start, end) for index, (start, end, outcome) in enumerate(spans)]
    return Lane(worker, tuple(blocks), **more)


def text(pieces: Any) -> str:
    return "".join(piece for piece, _ in pieces)


def live_lanes(workers: list[WorkerProgress], rows: list[EpisodeRow] | None = None) -> Lanes:
    rows = mixed_rows() if rows is None else rows
    start, blocks = finished_blocks(rows, moment(1200), START)
    assert start is not None
    progress = Progress(run_id=RUN, updated_at=moment(0), workers=workers)
    return lanes_of(blocks, progress, start, START, moment(1200))


def view(lanes: Lanes, cells: int = 40, rows: int = 10) -> LaneView:
    seen = LaneView()
    seen.cells, seen.rows = cells, rows
    seen.take(lanes)
    return seen


@given(
    st.lists(st.tuples(st.floats(0, 500), st.floats(0.001, 90), outcomes), max_size=30), st.integers(1, 120)
)
def test_a_cell_shows_the_worst_outcome_of_the_episodes_in_it(
    spans: list[tuple[float, float, Outcome]], cells: int
) -> None:
    one = lane(*((start, start + length, outcome) for start, length, outcome in sorted(spans)))
    window = whole(600.0, cells)
    drawn = cells_of(one, window)
    for cell, shown in enumerate(drawn):
        inside = {
            block.outcome for block in one.blocks if window.span(block)[0] <= cell < window.span(block)[1]
        }
        assert shown == (worst(inside) if inside else None)


@given(st.floats(0, 1e7), st.integers(1, 200))
def test_all_of_a_run_has_room_at_the_finest_step_that_does(span: float, cells: int) -> None:
    window = whole(span, cells)
    assert window.first == 0
    finer = [step for step in STEPS_SEC if step < window.step]
    assert all(step * cells <= span for step in finer)


def test_every_episode_has_a_cell_however_short_it_is() -> None:
    window = Window(0.0, 10.0, 20)
    assert cells_of(lane((31.0, 31.001, "crash")), window)[3] == "crash"


def test_blocks_that_meet_at_a_cells_edge_do_not_run_into_each_other() -> None:
    window = Window(0.0, 0.1, 20)
    drawn = cells_of(lane((0.0, 0.3, "success"), (0.3, 0.7, "failure")), window)
    assert drawn[:8] == ["success"] * 3 + ["failure"] * 4 + [None]


def test_what_goes_on_begins_where_the_last_episode_ended_and_ends_now() -> None:
    lanes = live_lanes(busy_workers())
    last = lanes.lanes[0].blocks[-1]
    assert (last.row, last.outcome, last.episode_index) == (None, "running", 40)
    assert last.start == lanes.lanes[0].blocks[-2].end
    assert last.end == lanes.span == pytest.approx(1200.0)


def test_after_a_resume_what_goes_on_begins_with_the_new_attempt() -> None:
    rows = [fake_row(0, started_at=moment(90000), finished_at=moment(89900))]
    start, blocks = finished_blocks(rows, moment(60), START)
    assert start == START - timedelta(seconds=90000)
    progress = Progress(run_id=RUN, updated_at=moment(0), workers=busy_workers(1))
    lanes = lanes_of(blocks, progress, start, START, moment(60))
    assert lanes.lanes[0].blocks[-1].start == pytest.approx(90000 - 60)


def test_a_stalled_worker_is_marked_from_the_moment_on_at_which_it_stopped() -> None:
    lanes = live_lanes(busy_workers())
    stalled = lanes.lanes[3]
    assert stalled.stalled
    assert stalled.blocks[-1].stalled_from == pytest.approx(1200 - 411)
    drawn = cells_of(stalled, Window(0.0, 10.0, 120))
    assert drawn[119] == drawn[80] == "stalled"
    assert drawn[75] == "running"


def test_times_that_cannot_be_read_take_the_row_out_and_nothing_else() -> None:
    rows = [
        *mixed_rows(4),
        fake_row(7, started_at="yesterday"),
        fake_row(8, started_at="2026-05-18T12:00:00"),
    ]
    lanes = live_lanes([], rows)
    assert [block.episode_index for each in lanes.lanes for block in each.blocks] == [0, 1, 2, 3]


def test_where_there_is_no_room_the_worst_workers_come_first_and_the_rest_is_told() -> None:
    healthy = [lane((0, 1, "success"), worker=number) for number in range(19)]
    stalled = lane((0, 1, "running"), worker=19, stalled=True)
    faulty = lane((0, 1, "crash"), (1, 2, "timeout"), worker=20)
    lanes = [*healthy, stalled, faulty]
    assert worst_first(lanes, 21) == lanes
    seen = view(Lanes(tuple(lanes), START, 10.0), rows=5)
    shown, hidden = seen.visible()
    assert [each.worker_id for each in shown] == [19, 20, 0, 1]
    assert told(hidden) == "+17 healthy"
    seen.to_lane(20)
    shown, hidden = seen.visible()
    assert seen.cursor.worker_id in [each.worker_id for each in shown]
    assert told(hidden) == "+2 with faults, +15 healthy"


def test_failures_are_results_and_no_faults() -> None:
    assert lane((0, 1, "failure")).healthy
    assert not lane((0, 1, "timeout")).healthy


def test_the_window_moves_by_a_quarter_when_now_leaves_it() -> None:
    window = Window(0.0, 1.0, 40)
    assert following(window, 39.9) == window
    moved = following(window, 40.0)
    assert moved == Window(10.0, 1.0, 40)
    assert all(following(moved, 40.0 + second) == moved for second in range(10))


@given(st.floats(0, 1e6), st.sampled_from(STEPS_SEC), st.integers(1, 200))
def test_a_window_begins_at_a_whole_step(first: float, step: float, cells: int) -> None:
    window = aligned(first, step, cells)
    assert window.first / step == pytest.approx(round(window.first / step), abs=1e-6)


def test_the_axis_has_round_times_of_the_clock() -> None:
    assert [label for _, label in axis_labels(Window(0.0, 30.0, 48), START)] == ["14:30", "14:40", "14:50"]
    assert axis_labels(Window(0.0, 0.5, 30), START)[1] == (20, "14:30:10")


def test_the_cursor_goes_by_episode_and_by_worker_at_the_same_time() -> None:
    seen = view(live_lanes(busy_workers()))
    assert seen.block is not None
    assert seen.block.row is None
    seen.step(-1)
    assert seen.block.episode_index == 36
    before = seen.block
    seen.to_lane(1)
    assert seen.block.worker_id == 1
    assert abs(seen.block.start - before.start) < 10
    seen.step(-100)
    assert seen.block.episode_index == 1
    seen.to_now()
    assert (seen.block.row, seen.block.worker_id) == (None, 1)


def test_the_cursor_keeps_its_episode_while_others_end() -> None:
    rows = mixed_rows()
    seen = view(live_lanes(busy_workers(), rows))
    seen.step(-3)
    before = seen.block
    more = fake_row(40, worker_id=0, started_at=moment(700), finished_at=moment(1))
    seen.take(live_lanes(busy_workers(), [*rows, more]))
    assert before is not None
    assert seen.block is not None
    assert seen.block.row is before.row


def test_zoom_keeps_the_cursor_in_sight_and_ends_at_all_of_the_run() -> None:
    seen = view(live_lanes(busy_workers()))
    fits = seen.window.step
    seen.step(-4)
    for _ in range(3):
        seen.zoom_by(1)
        assert seen.block is not None
        assert seen.window.shows(seen.block)
    assert seen.window.step < fits / 4
    seen.step(-5)
    assert seen.window.shows(seen.block)
    for _ in range(3):
        seen.zoom_by(-1)
    assert seen.zoom is None


def test_a_screen_on_and_back() -> None:
    seen = view(live_lanes(busy_workers()))
    seen.zoom_by(3)
    here = seen.window
    seen.screen(-1)
    assert seen.window.last == pytest.approx(here.first)
    assert not seen.cursor.now
    seen.screen(1)
    seen.screen(1)
    assert seen.cursor.now


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_lane_can_be_read_without_colour(theme: str, ascii_only: bool) -> None:
    drawing = Drawing(theme, ascii=ascii_only)
    spans: list[tuple[float, float, Outcome]] = [
        (float(place), place + 1.0, outcome) for place, outcome in enumerate(OUTCOMES)
    ]
    drawn = text(track(drawing, lane(*spans), Window(0.0, 1.0, len(OUTCOMES) + 1), None))
    assert len(set(drawn[: len(OUTCOMES)])) == len(OUTCOMES)
    assert drawn.isascii() or not ascii_only
    assert drawn[len(OUTCOMES) :] == " "


def test_the_legend_tells_of_what_measured_no_success_only_where_there_is_such() -> None:
    went = moment(20), moment(10)
    rows = [
        fake_row(index, metrics=metrics, started_at=went[0], finished_at=went[1])
        for index, metrics in enumerate(({"return": 1.0, "success": None}, {"success": 1.0}))
    ]
    seen = live_lanes([], rows)
    assert [block.outcome for block in seen.lanes[0].blocks] == ["completed", "success"]
    assert rare_outcomes(seen) == ["completed"]
    assert rare_outcomes(live_lanes([], rows[1:])) == []
    assert " completed " in text(legend_line(Drawing(), 80, rare_outcomes(seen)))


def test_a_block_with_room_for_it_has_its_number() -> None:
    drawn = text(track(Drawing(), lane((0, 5, "success"), (5, 7, "failure")), Window(0.0, 1.0, 8), None))
    assert drawn == "█0███▓▓ "


def test_a_block_that_is_seen_in_part_has_its_number_where_it_is_seen() -> None:
    one = Lane(0, (Block(0, 17, "success", 0.0, 100.0),))
    assert text(track(Drawing(), one, Window(50.0, 1.0, 6), None)) == "█17███"


def test_the_block_under_the_cursor_is_marked_in_every_theme() -> None:
    one = lane((0, 3, "success"), (3, 6, "success"))
    for theme in THEMES:
        drawing = Drawing(theme)
        assert text(track(drawing, one, Window(0.0, 1.0, 6), one.blocks[1])) == "█0█●1●"


def test_a_line_says_where_the_worker_is_and_since_when_it_stalls() -> None:
    lanes = live_lanes(busy_workers())
    parts = widths(120, lanes.lanes)
    window = whole(lanes.span, parts.track)
    drawn = [text(lane_line(Drawing(), each, window, parts, lanes, False, None)) for each in lanes.lanes]
    assert all(len(line) == 120 for line in drawn)
    assert drawn[1].startswith(" w1 10/25 ")
    assert drawn[1].rstrip().endswith("ep 41 13/60 policy")
    assert "? 14:23:09 6:51 policy ep 43 33/60" in drawn[3]


def test_an_age_is_told_only_once_it_says_something() -> None:
    quiet, slow = replace(busy_worker(), since=moment(3)), replace(busy_worker(), since=moment(63))
    for worker, told_so in ((quiet, "ep 40 3/60 env_step"), (slow, "ep 40 3/60 env_step 1:03")):
        lanes = live_lanes([worker])
        assert now_text(Drawing(), lanes.lanes[0], lanes)[0] == told_so


def busy_worker() -> WorkerProgress:
    return busy_workers(2)[0]


async def test_the_lanes_are_reached_by_3_and_open_the_log_of_an_episode() -> None:
    app = centre()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("j", "j", "3", "h", "h", "j")
        pane = app.home.pane
        assert isinstance(pane, LanesPane)
        await until(pilot, lambda: pane.seen.block is not None)
        shown = text_of(app)
        assert any(re.search(r"^ ?.?w3 .*\?\?\?.* \? 14:23:09", line) for line in shown)
        await pilot.press("enter")
        await pilot.pause()


async def test_lanes_and_episodes_follow_each_other_until_l_parts_them() -> None:
    app = centre()
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        await pilot.press("j", "j")
        await until(pilot, lambda: app.snapshot.run is not None and len(app.snapshot.run.rows) == 40)
        lanes, episodes = app.home.panes["workers"], app.home.panes["episodes"]
        assert isinstance(lanes, LanesPane)
        await pilot.press("3", "h", "h")
        assert lanes.seen.block is not None
        index = lanes.seen.block.episode_index
        assert episodes.model.current.episode_index == index  # type: ignore[attr-defined]
        await pilot.press("4", "k")
        assert lanes.seen.block.episode_index == index - 1
        await pilot.press("L", "k")
        assert lanes.seen.block.episode_index == index - 1


async def test_a_tick_paints_only_the_lines_that_have_changed() -> None:
    control, clock = busy_control(), FakeClock()
    app = centre(control, clock=clock)
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        await pilot.press("j", "j")
        pane = app.home.panes["workers"]
        assert isinstance(pane, LanesPane)
        await until(pilot, lambda: pane.seen.block is not None)
        sent: list[Any] = []
        pane.refresh = lambda *regions, **more: sent.append(regions)  # type: ignore[method-assign,assignment]
        workers = busy_workers()
        workers[0].step += 1
        rows = control.rows[RUN]
        control.reports[2] = fake_report(RUN, "running", rows=rows, total=100, label="navA", workers=workers)
        app.store.refetch()
        await until(pilot, lambda: sent)
        assert [[region.y for region in regions] for regions in sent] == [
            [1, 6]
        ]  # the worker, and the cursor's episode
