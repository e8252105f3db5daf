"""What became of an episode behind its last step, on the screen: scores, trace, lanes, table and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from engine.control.reports import ConflictError
from engine.control.scoring_report import Fallback
from engine.store.atomic import write_json
from engine.store.records import EpisodeFile, EpisodeRow
from engine.store.scores import Measured, Stage
from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl, fake_report
from tests.fakes.finished_runs import fake_row
from tests.tui.episode_folders import HOSTILE, write_episode, write_run
from tests.tui.scored import (
    LINK,
    RUN,
    opened,
    scored_control,
    scored_on_disk,
    scored_row,
    troubled_row,
    waits,
)
from tests.tui.screen import centre, settled, text_of, until, until_seen
from tui.app import ControlCentre
from tui.episode.places import place_at
from tui.panes.episodes import EpisodesPane
from tui.rescoring import WHAT_IT_DOES
from tui.screens.log import LogScreen
from tui.screens.trace import TraceView
from tui.viewer import Viewer

SIZES = {"small": (80, 24), "large": (160, 45)}


@pytest.fixture
def on_disk(tmp_path: Path) -> FakeControl:
    return scored_on_disk(tmp_path)


def table(app: ControlCentre) -> EpisodesPane:
    found = app.home.panes["episodes"]
    assert isinstance(found, EpisodesPane)
    return found


def says(app: ControlCentre, text: str) -> bool:
    return any(text in line for line in text_of(app))


async def test_lanes_tell_what_finished_episodes_wait_for_and_for_how_long() -> None:
    clock = FakeClock()
    app = centre(scored_control(live=True), clock=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("3")
        assert says(app, "scoring: 6 scored, 2 wait for judge:helpful since 4s")
        assert says(app, "▞ scoring")
        assert says(app, "2 being scored")
        await pilot.press("h")
        assert says(app, "w0 episode 6 scoring waits for judge:helpful since 4s")
        clock.elapsed += 3
        await app.store.look()
        await until(pilot, lambda: says(app, "since 7s"))


async def test_a_run_that_has_played_all_and_is_still_scored_says_so() -> None:
    control = scored_control(live=True)
    control.reports[0].summary.total_episodes = 8
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert says(app, "scoring")


async def test_a_row_is_read_again_when_it_waits_no_more() -> None:
    control = scored_control(live=True)
    app = centre(control)
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        assert says(app, "judge:helpful 4s")
        progress = control.reports[0].progress
        assert progress is not None
        control.rows[RUN] = [*control.rows[RUN][:6], scored_row(6, passes=False), control.rows[RUN][7]]
        changed = msgspec.structs.replace(progress, scoring=progress.scoring[1:])
        control.reports[0] = msgspec.structs.replace(control.reports[0], progress=changed)
        app.store.refetch()
        await until(pilot, lambda: not says(app, "judge:helpful 4s"))
        assert [row.verdict for row in app.snapshot.run.rows if row.episode_index == 6] == [False]  # type: ignore[union-attr]


async def test_verdicts_can_be_filtered_and_what_waits() -> None:
    app = centre(scored_control(live=True))
    async with app.run_test(size=(160, 45)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        for typed, indices in {
            "verdict:fail": [1],
            "scoring:pending": [6, 7],
            "outcome:scoring": [6, 7],
            "judge:helpful>0.7": [0, 1, 2, 4, 5],
            "under": [1],
        }.items():
            table(app).set_filter(typed)
            model = table(app).model
            assert [model.row(place).episode_index for place in range(len(model))] == indices, typed


async def test_a_failed_verdict_is_the_next_error_and_its_reason_three_keys_away(tmp_path: Path) -> None:
    rows = [scored_row(0, metrics={"success": 1.0}), scored_row(1, passes=False, metrics={"success": 1.0})]
    run = write_run(tmp_path, rows, name=RUN)
    report = fake_report(RUN, rows=rows)
    report.path = str(run.path)
    control = FakeControl(tmp_path, [report])
    control.rows = {RUN: rows}
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        assert table(app).model.current_id == "1"
        await pilot.press("enter")
        await until_seen(pilot, 'answer_match 0.000, fail: expected "on the desk", got "under the desk"')
        await until_seen(pilot, "FAILED stopped   verdict fail")
        await pilot.press("a")
        await until_seen(pilot, "the lamp was left on as the instruction asks.")


async def test_the_numbers_tell_verdicts_and_each_sink() -> None:
    app = centre(scored_control())
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("5", "plus", "plus")
        for told in (
            "16 passed, 1 failed, 1 without one; pass rate 0.941 [0.730, 0.990]",
            "answer_match in 1, judge:helpful in 1, score in 1",
            "1 could not be collected",
            "lab (mlflow)  partial  17/18 episodes",
            "episode 3: 503 no healthy upstream",
            "lake (otlp)  succeeded  18/18 episodes, 1 not whole",
            "A scores again what is left",
        ):
            assert says(app, told), told
        assert app.home.pane.copies()["copy.link"]() == LINK


async def test_the_numbers_tell_of_verdicts_of_a_lower_rung() -> None:
    control = scored_control()
    control.answers["scoring"].fallbacks = [Fallback(episodes=3, by=["judge:helpful"], lacking=["score"])]
    app = centre(control)
    async with app.run_test(size=(160, 40)) as pilot:
        await settled(pilot)
        await pilot.press("5", "plus", "plus")
        assert says(app, "3 of 17 verdicts came from judge:helpful, as score could not be")


async def test_scores_are_read_from_top_to_bottom_and_problems_gone_through(on_disk: FakeControl) -> None:
    app = centre(on_disk)
    async with app.run_test(size=(80, 12)) as pilot:
        view = await opened(pilot, "scores", 3)
        assert says(app, "verdict  none: no score decides")
        await pilot.press("e", "e")
        assert view.lines.top > 0
        await pilot.press("G")
        assert says(app, '"20260518_141000/ep0003"')
        await pilot.press("E")
        assert not says(app, '"20260518_141000/ep0003"')


async def test_links_errors_and_the_row_are_copied(on_disk: FakeControl) -> None:
    app = centre(on_disk)
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot, "scores", 1)
        await pilot.press("y", "l")
        await until(pilot, lambda: app.clipboard_out.last == LINK)
        copies = {name: make() for name, make in view.copies().items()}
    assert copies["copy.id"] == f"{RUN}/ep0001"
    assert "expected" in copies["copy.row"]
    assert msgspec.json.decode(copies["copy.json"])["verdict"] is False


async def test_an_episode_that_becomes_final_is_seen_to(on_disk: FakeControl, tmp_path: Path) -> None:
    app = centre(on_disk)
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot, "scores", 6)
        await until_seen(pilot, "waits for judge:helpful since 4s; so far pass")
        assert view.place is not None
        write_file(view.place.folder, scored_row(6))
        await until_seen(pilot, "verdict  pass")


async def test_failed_ones_are_gone_through_without_the_log(on_disk: FakeControl) -> None:
    app = centre(on_disk)
    async with app.run_test(size=(80, 24)) as pilot:
        view = await opened(pilot, "scores", 1)
        await pilot.press("right_square_bracket")
        await until_seen(pilot, "ep0003")
        await until_seen(pilot, "not measured: grader_timeout")
        assert view.target == f"{RUN}/ep0003"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.view, LogScreen))


async def test_events_of_the_trace_are_browsed(on_disk: FakeControl) -> None:
    app = centre(on_disk)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "scores", 1)
        await pilot.press("T")
        await until_seen(pilot, "user: Where is the pen?")
        assert app.depth == 2, "it is in place of the scores"
        view = app.view
        assert isinstance(view, TraceView)
        await pilot.press("e")
        assert says(app, "it is stuck")
        await pilot.press("enter", "G", "escape", "F")
        assert len(view.table.model) == 2
        await pilot.press("F", "slash", *"kind:message", "enter")
        assert len(view.table.model) == 2
        assert msgspec.json.decode(view.copies()["copy.json"]())["kind"] == "message"
        await pilot.press("escape", "a")
        await until_seen(pilot, "verdict  fail")


async def test_an_episode_without_a_trace_or_scores_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path, [fake_row(0)], name=RUN)
    control = FakeControl(tmp_path, [fake_report(RUN, rows=[fake_row(0)])])
    app = centre(control)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "trace", 0)
        await until_seen(pilot, "there is no trace.jsonl")
        app.back()
        await opened(pilot, "scores", 0)
        await until_seen(pilot, "this episode is not scored")
        app.back()
        app.open_view("scores", f"{run.run_id}/77")
        await until_seen(pilot, "has no episode '77'")


async def test_what_was_sent_by_somebody_is_shown_alone(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0003", troubled_row(), [])
    app = Viewer(place_at(folder), FakeControl(tmp_path), clock=FakeClock())  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        await until_seen(pilot, "its trace is missing: mlflow answered 503")
        await pilot.press("a")
        await until_seen(pilot, "not measured: grader_timeout")
        await pilot.press("A", "escape")
        await until(pilot, lambda: isinstance(app.view, LogScreen))


async def test_a_run_is_scored_again_as_it_was_or_as_a_file_says(
    on_disk: FakeControl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    on_disk.reports[0].status = "completed"
    file = tmp_path / "a.json"
    file.write_text('{"graders": [{"id": "steps"}]}')
    app = centre(on_disk)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot, "scores", 3)
        await pilot.press("A")
        await until_seen(pilot, "as it was scored, or type a file's path")
        shown = "\n".join(text_of(app))
        assert all(f"{line} " in shown for line in WHAT_IT_DOES), "none of it is cut"
        await pilot.press("enter")
        await until(pilot, lambda: on_disk.calls)
        await pilot.press("A", *"a.json", "enter")
        await until(pilot, lambda: len(on_disk.calls) == 2)
        file.write_text('{"graders": [{"id": "stepz"}]}')
        await pilot.press("A", *"a.json", "enter")
        await until(pilot, lambda: any("stepz" in one.message for one in app._notifications))
        on_disk.refuses["rescore"] = ConflictError("run was not scored")
        await pilot.press("A", "enter")
        await until(pilot, lambda: any("run was not scored" in one.message for one in app._notifications))
    assert on_disk.calls[:2] == [
        ("rescore", RUN, None),
        ("rescore", RUN, {"graders": [{"id": "steps"}]}),
    ]


def write_file(folder: Path, row: EpisodeRow) -> None:
    file = EpisodeFile(run_id=RUN, graph_name="g", graph_hash="", seed=0, episode=row)
    write_json(folder / "episode.json", file)


@pytest.mark.parametrize("size", [(160, 45), (80, 24), (40, 10), (20, 6)])
async def test_hostile_text_of_every_field(tmp_path: Path, size: tuple[int, int]) -> None:
    text = HOSTILE[:-1]
    row = troubled_row(0, verdict=False)
    row.scores += [
        Measured(
            grader_id=text,
            metric=f"judge:{text}",
            value=0.0,
            passed=False,
            label=text,
            detail=f"{text}\r\n{text}",
        ),
        Measured(grader_id=text, metric=text, value=1.0, detail={text: [text]}),
    ]
    row.stages.append(Stage(name=text, started_at=text, error=text, error_class=text))
    row.exports[0].name = row.exports[0].url = row.exports[0].error = row.exports[1].warning = text
    row.failure = {"stage": "collect", "message": text}
    row.trace_ref = {text: text}
    run = write_run(tmp_path, [row], name=RUN)
    event = dict.fromkeys(("kind", "node_id", "text", "message", text), text)
    (run.episodes / "ep0000" / "trace.jsonl").write_bytes(msgspec.json.encode(event) + b"\n")
    report = fake_report(RUN, "running", rows=[row])
    report.path = str(run.path)
    control = FakeControl(tmp_path, [report])
    control.rows = {RUN: [row]}
    app = centre(control)
    app_waits = waits(0, text, 3)
    async with app.run_test(size=size) as pilot:
        for view in ("scores", "trace"):
            await opened(pilot, view, 0)
            await pilot.press("G", "e")
            assert not set("".join(text_of(app))) & set("\x1b\x07\x9b\u202e\n\r\t")
            app.back()
        row.scoring = "pending"
        report.progress = msgspec.structs.replace(
            scored_control(live=True).reports[0].progress or report.progress, scoring=[app_waits]
        )
        app.store.refetch()
        for pane in ("3", "4", "5", "1"):
            await pilot.press(pane)
            await app.store.look()
            assert not set("".join(text_of(app))) & set("\x1b\x07\x9b\u202e\n\r\t")


async def _seen(pilot: Pilot[Any], *keys: str) -> None:
    await settled(pilot)
    await pilot.press(*keys)
    await settled(pilot)


@pytest.mark.parametrize("size", SIZES)
def test_a_picture_of_home_while_episodes_are_scored(snap_compare: Any, size: str) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await _seen(pilot, "3", "h")

    assert snap_compare(centre(scored_control(live=True)), run_before=look, terminal_size=SIZES[size])


@pytest.mark.parametrize("size", SIZES)
def test_a_picture_of_scored_episodes(snap_compare: Any, size: str) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await _seen(pilot, "4", "plus", "plus", "e")

    assert snap_compare(centre(scored_control(live=True)), run_before=look, terminal_size=SIZES[size])


@pytest.mark.parametrize("size", SIZES)
def test_a_picture_of_the_numbers_of_a_scored_run(snap_compare: Any, size: str) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await _seen(pilot, "5", "plus", "plus")

    assert snap_compare(centre(scored_control()), run_before=look, terminal_size=SIZES[size])
