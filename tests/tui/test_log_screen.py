from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from engine.store.atomic import write_json
from engine.store.preferences import Preferences
from engine.store.records import EpisodeFile
from tests.fakes.clock import FakeClock
from tests.fakes.control import FakeControl
from tests.fakes.finished_runs import fake_row
from tests.tui.episode_folders import ERROR, RUN, error_row, hostile_lines, steps, write_episode, write_run
from tests.tui.log_lines import encode, line
from tests.tui.screen import text_of, until
from tui.app import ControlCentre
from tui.episode.places import place_at
from tui.screens.log import LogScreen
from tui.viewer import Viewer

GOOD = {"metrics": {"success": 1.0}}
EVERY = 0.02


class Log:
    """The log browser under test."""

    def __init__(self, app: ControlCentre, pilot: Pilot[Any], screen: LogScreen) -> None:
        self.app, self.pilot, self.screen = app, pilot, screen

    @property
    def at(self) -> int:
        assert self.screen.session.rows is not None
        return self.screen.session.rows.at

    @property
    def lines(self) -> list[str]:
        return text_of(self.app)

    def says(self, text: str) -> bool:
        return any(text in line for line in self.lines)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        await self.press(*("space" if letter == " " else letter for letter in text))

    async def settle(self) -> None:
        """Until the firing under the cursor is shown."""
        screen = self.screen

        def shown() -> bool:
            rows = screen.session.rows
            told = screen.detail is not None and rows is not None and screen.detail.wanted.row == rows.at
            return screen.session.whole and (rows is None or not len(rows) or told) and not screen._reading

        await until(self.pilot, shown)


@asynccontextmanager
async def view(path: Path, size: tuple[int, int] = (100, 30), **options: Any) -> AsyncIterator[Log]:
    control = FakeControl(path.parent)
    app = Viewer(place_at(path), control, **({"clock": FakeClock()} | options))  # type: ignore[arg-type]
    app.every = EVERY
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, LogScreen)
        log = Log(app, pilot, screen)
        await log.settle()
        yield log


def sent(tmp_path: Path, lines: Sequence[dict[str, Any]] | None = None, **more: Any) -> Path:
    chosen = steps(4, error_at=2) if lines is None else lines
    return write_episode(tmp_path / "ep0007", error_row(7), chosen, frames=4, **more)


async def test_a_failed_episode_opens_at_its_first_error(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        assert log.at == 8
        assert log.says("ERROR node_error")
        assert log.says("ValueError: no such door")
        assert log.says("12 rows, 1 with errors")


async def test_one_that_failed_without_an_error_opens_at_its_end(tmp_path: Path) -> None:
    row = fake_row(3, termination="budget", metrics={"success": 0.0})
    async with view(write_episode(tmp_path / "ep0003", row, steps())) as log:
        assert log.at == 11
        assert log.says("FAILED budget")


FAILED = {"termination": "budget", "metrics": {"success": 0.0}}
SAID = "ran out of steps in the hall; the red door was 7 m away"


def judged(count: int = 4) -> list[dict[str, Any]]:
    """Steps of an episode that its environment then found to have failed."""
    measure = {"metrics": {"success": 0.0, "spl": 0.0}}
    return [
        *steps(count),
        line(count, "evaluate", outputs={**measure, "verdict": SAID}),
        line(count, "verdict", outputs={}, inputs={"text": SAID}),
        line(count, "metrics_out", outputs={"value": measure["metrics"]}),
    ]


async def test_one_that_failed_without_an_error_opens_at_what_measured_it(tmp_path: Path) -> None:
    path = write_episode(tmp_path / "ep0003", fake_row(3, **FAILED), judged())
    async with view(path, size=(100, 24)) as log:
        assert log.at == 12
        assert log.says(f"evaluate: {SAID}")
        await log.press("g", "e")
        assert log.at == 12
        await log.press("G", "E")
        assert log.at == 12
        await log.press("F")
        assert log.says("1 of 15 rows")
        await log.press("y", "e")
        assert log.app.clipboard_out.last == f"evaluate: {SAID}"


async def test_an_episode_that_is_found_to_have_failed_while_it_is_followed(tmp_path: Path) -> None:
    path = write_episode(tmp_path / "ep0003", None, judged())
    async with view(path) as log:
        file = EpisodeFile(
            run_id=RUN, graph_name="toy", graph_hash="0" * 32, seed=0, episode=fake_row(3, **FAILED)
        )
        write_json(path / "episode.json", file)
        await until(log.pilot, lambda: log.says(f"evaluate: {SAID}"))
        await log.press("g", "e")
        assert log.at == 12


async def test_rows_tell_what_fired_and_where_its_time_went(tmp_path: Path) -> None:
    async with view(sent(tmp_path), size=(120, 30)) as log:
        row = next(line for line in log.lines if 'action="forward"' in line and "agent" in line)
        assert "13.0" in row
        assert "░░█████▒▒·" in row


async def test_moving_shows_the_firing_under_the_cursor(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        await log.press("g", "j")
        assert log.at == 1
        assert log.says("row 2  step 0  agent")
        await log.press("right_curly_bracket")
        assert log.at == 3
        await log.press("left_curly_bracket")
        assert log.at == 0
        await log.press("G", "e")
        assert log.at == 11
        await log.press("E")
        assert log.at == 8
        await log.press("W")
        assert log.at == 5


async def test_a_filter_and_a_search_are_typed_at_one_prompt(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        await log.press("g", "slash")
        await log.type("node:agent forward")
        await log.press("enter")
        await until(log.pilot, lambda: log.screen.session.found_all)
        assert log.says("4 of 12 rows, 1 with errors / node:agent forward: 1 of 2 matches")
        assert log.at == 4
        await log.press("n")
        assert log.at == 10
        await log.press("n")
        assert log.at == 4
        await log.press("ampersand")
        assert log.says("2 of 12 rows")
        await log.press("escape")
        assert log.says("12 rows,")


async def test_what_must_not_be_there_hides_rows(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        await log.press("slash")
        await log.type("!iter_in !/forward|left/")
        await log.press("enter")
        await until(log.pilot, lambda: log.screen.session.found_all and log.says("4 of 12 rows"))
        await log.press("escape")
        assert log.says("12 rows,")


async def test_the_help_says_what_its_filter_takes(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        assert "".join(log.lines[-1:]).count("/ filter") == 1
        await log.pilot.press("question_mark", *"hide", "space", "by")
        await until(log.pilot, lambda: log.says("!regex, node:NAME, !node:NAME, step:3-9, ms>100"))
        assert not log.says("field:value")


async def test_a_filter_that_cannot_be_is_told_while_it_is_typed(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        await log.press("slash")
        await log.type("step:x")
        assert log.says("step:x is none of")
        await log.press("backspace", "1", "enter")
        assert log.says("3 of 12 rows")


async def test_only_errors(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        await log.press("F")
        assert log.says("1 of 12 rows")
        await log.press("escape")
        assert log.says("12 rows,")


async def test_enter_goes_into_the_firing_and_shows_all_of_it(tmp_path: Path) -> None:
    long = [line(0, "env", outputs={"text": "word " * 3000}, error="x")]
    async with view(sent(tmp_path, long)) as log:
        assert log.screen.detail is not None
        assert log.screen.detail.cut
        await log.press("enter", "enter")
        assert not log.screen.detail.cut
        await log.press("G")
        assert log.screen.record.top > 50
        await log.press("escape")
        assert log.screen.active == "rows"


async def test_what_changed_since_the_step_before(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        await log.press("g", "j", "right_curly_bracket", "j", "d")
        assert log.says('~ outputs.action  "left" → "forward"')


async def test_the_frame_is_drawn_beside_and_enlarged(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        await until(log.pilot, lambda: log.says("▀▀"))
        small = sum(line.count("▀") for line in log.lines)
        await log.press("i")
        await until(log.pilot, lambda: sum(line.count("▀") for line in log.lines) > 3 * small)
        await log.press("escape")
        assert log.screen.frame.size.width < 40


async def test_an_image_that_is_missing_is_told(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0007", error_row(7), steps(2))
    async with view(folder, size=(160, 45)) as log:
        await until(
            log.pilot, lambda: log.says("0_env_rgb.png is not there") or log.says("1_env_rgb.png is not")
        )


async def test_images_wait_for_a_key_where_the_link_is_slow(tmp_path: Path) -> None:
    async with view(sent(tmp_path), preferences=Preferences(low_bandwidth="on")) as log:
        await until(log.pilot, lambda: log.says("low bandwidth: i shows it"))
        assert not log.says("▀")
        await log.press("i")
        await until(log.pilot, lambda: log.says("▀▀"))


async def test_without_colours_images_are_letters(tmp_path: Path) -> None:
    async with view(sent(tmp_path), preferences=Preferences(theme="mono-dark")) as log:
        await until(log.pilot, lambda: log.screen.frame._pictures)
        assert not log.says("▀")


async def test_an_episode_without_a_log_still_tells_its_error(tmp_path: Path) -> None:
    async with view(write_episode(tmp_path / "ep0007", error_row(7), None)) as log:
        assert log.says("there is no log.jsonl")
        assert log.says("ValueError: no such door")
        await log.press("j", "e", "n", "d", "i", "F", "enter")


async def test_a_torn_last_line_is_told(tmp_path: Path) -> None:
    async with view(sent(tmp_path, torn=b'{"step": 4, "no')) as log:
        assert log.says("then a torn line of 15 bytes")


async def test_what_is_written_is_followed_until_the_end(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0007", None, steps(2))
    async with view(folder) as log:
        await log.press("f")
        assert log.at == 5
        with open(folder / "log.jsonl", "ab") as file:
            file.write(b"".join(encode(fields) for fields in steps(3)[6:]))
        await until(log.pilot, lambda: log.at == 8)
        await log.press("k")
        assert not log.screen.session.following
        row = fake_row(7, metrics={"success": 1.0})
        file = EpisodeFile(run_id=RUN, graph_name="g", graph_hash="", seed=0, episode=row)
        write_json(folder / "episode.json", file)
        await until(log.pilot, lambda: log.says("SUCCESS stopped"))


async def test_a_log_that_comes_late_and_one_that_is_replaced(tmp_path: Path) -> None:
    folder = write_episode(tmp_path / "ep0007", error_row(7), None)
    async with view(folder) as log:
        (folder / "new").write_bytes(b"".join(encode(fields) for fields in steps(2)))
        os.replace(folder / "new", folder / "log.jsonl")
        await until(log.pilot, lambda: log.says("6 rows"))
        (folder / "new").write_bytes(b"".join(encode(fields) for fields in steps(3)))
        os.replace(folder / "new", folder / "log.jsonl")
        await until(log.pilot, lambda: log.says("9 rows"))


async def test_the_error_is_copied(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        assert log.screen.copies()["copy.error"]() == ERROR
        await log.press("y", "e")
        await until(log.pilot, lambda: log.app.clipboard_out.last)
        assert log.app.clipboard_out.last == ERROR


async def test_what_can_be_copied_of_a_firing(tmp_path: Path) -> None:
    folder = sent(tmp_path)
    async with view(folder) as log:
        copies = {name: make() for name, make in log.screen.copies().items()}
    assert copies["copy.path"] == str(folder / "log.jsonl")
    assert copies["copy.json"] == encode(steps(4, error_at=2)[8]).decode().rstrip()
    assert copies["copy.row"].startswith("env  Env  env_x__env")
    assert copies["copy.command"] == f"evaltower view {folder / 'log.jsonl'}"


async def test_the_failed_ones_of_a_run_are_gone_through(tmp_path: Path) -> None:
    run = write_run(tmp_path, [fake_row(0, **GOOD), error_row(1), fake_row(2, **GOOD), error_row(3)])
    async with view(run.episodes / "ep0000") as log:
        await log.press("right_square_bracket")
        await until(log.pilot, lambda: log.says("ep0001"))
        await log.settle()
        assert log.at == 8
        await log.press("right_square_bracket")
        await until(log.pilot, lambda: log.says("ep0003"))
        await log.press("right_square_bracket")
        await until(log.pilot, lambda: list(log.app._notifications))
        await log.press("left_square_bracket")
        await until(log.pilot, lambda: log.says("ep0001"))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(160, 45), (80, 24), (59, 20), (40, 10), (20, 6)])
async def test_hostile_text_of_every_field_at_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    row = error_row(7, "\x1b]52;c;aGk=\x07 [/x] [b \u202e", instruction="\x1b[31m[/x]")
    folder = write_episode(tmp_path / "ep0007 [b", row, hostile_lines())
    async with view(folder, size=size) as log:
        for keys in (
            ("d",),
            ("d", "t", "alt+w"),
            ("enter", "enter", "right"),
            ("plus",),
            ("escape", "i", "escape"),
        ):
            await log.press(*keys)
            assert not set("".join(log.lines)) & set("\x1b\x07\x9b\u202e\n\r\t")


async def test_sizes_change_under_it(tmp_path: Path) -> None:
    async with view(sent(tmp_path)) as log:
        for size in ((40, 10), (160, 45), (59, 14), (80, 24), (10, 3), (120, 30)):
            await log.pilot.resize_terminal(*size)
            await log.settle()
        assert log.at == 8
        assert log.says("no such door")


async def test_from_the_list_of_runs_an_error_is_three_keys_away(tmp_path: Path) -> None:
    from tests.fakes.control import fake_report

    rows = [fake_row(0, **GOOD), error_row(1)]
    run = write_run(tmp_path, rows)
    report = fake_report(run.run_id, rows=rows)
    report.path = str(run.path)
    control = FakeControl(tmp_path, [report])
    control.rows = {run.run_id: rows}
    app = ControlCentre(control, clock=FakeClock())  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.snapshot.run is not None and app.snapshot.run.loaded)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: any("ValueError: no such door" in line for line in text_of(app)))
        await pilot.press("escape")
        await until(pilot, lambda: app.depth == 1)


async def test_the_place_in_a_log_is_kept_for_the_next_start(tmp_path: Path) -> None:
    run = write_run(tmp_path, [error_row(0)])
    app = ControlCentre(FakeControl(tmp_path), clock=FakeClock())  # type: ignore[arg-type]
    target = f"{run.run_id}/ep0000"
    async with app.run_test(size=(80, 24)) as pilot:
        for at_error, expected in ((True, 8), (False, 1)):
            app.open_view("log", target, at_error=at_error)
            await until(pilot, lambda: isinstance(app.screen, LogScreen) and app.screen.session.whole)
            assert isinstance(app.screen, LogScreen)
            assert app.screen.session.rows is not None
            assert app.screen.session.rows.at == expected
            await pilot.press("g", "j", "escape")
            await until(pilot, lambda: app.depth == 1)
    assert set(app.state.logs) == {target}


async def test_an_episode_that_is_not_there_is_told(tmp_path: Path) -> None:
    run = write_run(tmp_path, [error_row(0)])
    app = ControlCentre(FakeControl(tmp_path), clock=FakeClock())  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)) as pilot:
        app.open_log(run.run_id, "77")
        await until(pilot, lambda: any("has no episode '77'" in line for line in text_of(app)))
        await pilot.press("j", "e", "slash", "escape", "y", "escape")


async def test_a_slow_firing_does_not_hold_up_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tui.episode.details import DetailReader

    gate = asyncio.Event()
    loop = asyncio.get_running_loop()
    read = DetailReader.detail

    def slow(self: DetailReader, wanted: Any) -> Any:
        if wanted.row == 0:
            asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(20)
        return read(self, wanted)

    monkeypatch.setattr(DetailReader, "detail", slow)
    async with view(sent(tmp_path)) as log:
        await log.pilot.press("g", "j", "j", "j")
        assert log.at == 3
        gate.set()
        await log.settle()
        assert log.says("row 4  step 1  iter_in")


async def test_the_viewers_clock_goes_on_while_nothing_is_written(tmp_path: Path) -> None:
    clock = FakeClock()
    folder = write_episode(tmp_path / "ep0007", None, steps())
    async with view(folder, clock=clock, size=(200, 45)) as log:  # the path leaves room for it
        await until(log.pilot, lambda: log.lines[0].endswith("14:30 "))
        clock.advance(59)
        await log.pilot.pause()
        assert log.lines[0].endswith("14:30 ")
        clock.advance(1)
        await until(log.pilot, lambda: log.lines[0].endswith("14:31 "))


async def test_the_parts_fill_the_room_that_the_lines_over_them_leave(tmp_path: Path) -> None:
    lines = [line(0, "reset"), line(0, "policy")]
    async with view(write_episode(tmp_path / "ep0007", error_row(7), lines), size=(80, 24)) as log:
        screen = log.screen
        assert screen.bar.size.height == 2
        shown = [part for part in screen.parts.values() if part.display]
        await until(log.pilot, lambda: max(part.region.bottom for part in shown) == screen.area.region.bottom)
