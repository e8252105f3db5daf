"""Keys on the first screen, and what they do."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from engine.control.reports import ConflictError, NoBackendError
from tests.fakes.control import FakeControl, busy_control
from tests.tui.screen import centre, settled, text_of, until, until_seen
from tui.drawing import Drawing
from tui.keymap import make_keymap
from tui.panes import SLOTS
from tui.widgets.tabs import Tabs

SMALL, LARGE = (80, 24), (160, 45)


@pytest.mark.parametrize("size", [SMALL, LARGE, (50, 12), (40, 10), (10, 3)])
async def test_the_runs_are_on_screen_at_any_size(size: tuple[int, int]) -> None:
    app = centre()
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        lines = text_of(app)
        assert len(lines) == size[1]
        if size[1] > 10:
            assert any("0518_141000" in line for line in lines)


async def test_the_run_under_the_cursor_is_the_one_that_is_told_of() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("j", "j")
        await until(pilot, lambda: app.snapshot.run and app.snapshot.run.run_id == "20260518_141000")
        assert "navA  running  40/100  7 errors  withheld  30:00 left" in text_of(app)[0]


async def test_a_filter_follows_every_key_and_escape_clears_it() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"errors>3")
        assert app.home.runs.model.filter == "errors>3"
        await pilot.press("enter")
        assert "2 of 6 / errors>3" in text_of(app)[1]
        await pilot.press("escape")
        assert app.home.runs.model.filter == ""
        assert app.is_running


async def test_what_is_wrong_with_a_filter_is_told_beside_it_and_escape_gives_the_one_before() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"nav", "enter", "slash", *" colour>3")
        await pilot.pause()
        await until_seen(pilot, "there is no column 'colour'")
        await pilot.press("escape")
        assert app.home.runs.model.filter == "nav"


async def test_pause_and_hold_and_move_reach_the_backend() -> None:
    control = busy_control()
    app = centre(control)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("p", "P", "j", "P", "J")
        await until(pilot, lambda: len(control.calls) == 4)
    assert sorted(control.calls) == [
        ("hold", "20260518_142830"),
        ("move", "20260518_142830", 2),
        ("pause",),
        ("release", "20260518_142900"),
    ]


async def test_a_refusal_is_told_and_noted() -> None:
    control = busy_control()
    control.refuses["pause"] = ConflictError("a graph is being played [/x]")
    app = centre(control)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("p")
        await until(pilot, lambda: app.activity.entries and app.activity.entries[0].failed)
        await until_seen(pilot, "played [/x]")
        await pilot.press("at")
        await until(pilot, lambda: app.depth == 2)
        assert any("pause the queue" in line and "being played" in line for line in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.depth == 1)


async def test_read_only_says_why_not() -> None:
    control = busy_control()
    app = centre(control, read_only=True)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("p", "P")
        await pilot.pause()
        await until_seen(pilot, "read-only")
        assert await app.verb(lambda asked: asked.pause(), "pause") is None
    assert control.calls == []


async def test_copying_the_command_of_a_run() -> None:
    app = centre()
    copied: list[str] = []
    app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("y", "r")
        await until(pilot, lambda: copied)
    command, rest = copied[0].splitlines()
    assert command == "evaltower show 20260518_142900"
    assert shlex.split(rest) == [
        *("curl", "-X", "GET", "-H", "Authorization: Bearer $(cat /nowhere/outputs/token)"),
        "http://127.0.0.1:8765/api/eval/v2/runs/20260518_142900",
    ]


async def test_saving_a_run_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("Y")
    (saved,) = (tmp_path / "evaltower" / "copied").iterdir()
    assert '"run_id": "20260518_142900"' in saved.read_text()


async def test_marked_runs_are_what_an_action_is_about_and_up_to_four_are_compared() -> None:
    app = centre()
    async with app.run_test(size=LARGE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("asterisk", "c")
        await until(pilot, lambda: len(app.compared) == 4)
        assert len(app.targets) == 6
        assert "4 to compare" in text_of(app)[-1]
        await pilot.press("backslash", "c")
        await until(pilot, lambda: len(app.compared) == 3)


async def test_a_run_that_never_began_tells_its_error() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("G", "enter")
        await until_seen(pilot, "env_toy did not start: exit code 1")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.home)


async def test_sorting_by_the_menu() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("s")
        await until(pilot, lambda: app.screen is not app.home)
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: app.home.runs.model.sort == ("name",))
        await pilot.press("S")
        assert app.home.runs.model.sort == ("-name",)


async def test_a_key_can_be_another_and_the_footer_knows() -> None:
    app = centre(keymap=make_keymap({"runs.pause": "z"}))
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        assert " z pause" in text_of(app)[-1]


async def test_a_fresh_root_says_what_to_do() -> None:
    app = centre(FakeControl())
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        text = "\n".join(text_of(app))
        assert "no runs yet: n starts one" in text
        assert "n new" in text


async def test_control_c_twice_leaves_and_once_does_not() -> None:
    app = centre()
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.is_running
        await until_seen(pilot, "ctrl+c again leaves")
        await pilot.press("question_mark")
        await until(pilot, lambda: app.screen is not app.home)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.return_code == 0)


async def test_a_panes_number_leads_home_from_any_view() -> None:
    app = centre()
    async with app.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await pilot.press("at")
        await until(pilot, lambda: app.depth == 2)
        await pilot.press("2")
        await until(pilot, lambda: app.screen is app.home and app.home.active == "queue")


@pytest.mark.parametrize("size", [SMALL, LARGE, (60, 15), (40, 10)])
async def test_nothing_is_cut_without_a_sign_and_errors_are_seen_at_any_size(size: tuple[int, int]) -> None:
    app = centre()
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("j", "j")
        await until(pilot, lambda: app.snapshot.run and app.snapshot.run.run_id == "20260518_141000")
        lines = text_of(app)
        whole = f" evaltower {app.home.crumbs()}"
        assert lines[0].startswith(whole) or (lines[0].endswith("…") and whole.startswith(lines[0][:-1]))
        assert any("40/100" in line and re.search(r" 7\b", line) for line in lines[1:])
        assert any(" err" in line for line in lines[1:4])


@pytest.mark.parametrize(
    ("room", "told"), [(11, " 1 Runs 24  2 "), (10, " 1 Runs 24 2 "), (9, " 1 Runs … 2 ")]
)
def test_a_tab_that_is_cut_says_so(room: int, told: str) -> None:
    tabs = Tabs([(slot.number, slot.name, slot.heading) for slot in SLOTS])
    tabs.active = "runs"
    tabs.say("1 Runs 24")
    others = sum(len(slot.heading) + 4 for slot in SLOTS if slot.name != "runs")
    pieces = tabs.pieces(Drawing(), others + room)
    assert "".join(text for text, _ in pieces).startswith(told)


async def test_without_a_backend_the_header_has_cause_and_remedy(tmp_path: Path) -> None:
    control = busy_control()
    app = centre(control)
    async with app.run_test(size=SMALL, notifications=True) as pilot:
        await settled(pilot)
        control.refuses["queue"] = NoBackendError(
            f"no backend answers for {control.root}; 'evaltower --serve' starts one"
        )
        app.store.refetch()
        app.clock.advance(5.0)  # type: ignore[attr-defined]
        await until_seen(pilot, "data of 14:30:00; no backend answers; 'evaltower --serve' starts one")
        await pilot.press("2")
        await until_seen(pilot, "2 Queue was 1 running, 2 wai")
