"""What each action does in the log browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui.episode.places import PlaceError, failed_beside
from tui.episode.rows import LogRows
from tui.filtering import FilterError
from tui.screens.log_tools import open_outside

if TYPE_CHECKING:
    from tui.screens.log import LogScreen

_JUMPS: Mapping[str, tuple[Callable[[LogRows], bool], str]] = {
    "log.next_error": (lambda rows: rows.jump(rows.next_error), "no error after this row"),
    "log.previous_error": (lambda rows: rows.jump(rows.previous_error), "no error before this row"),
    "log.next_warning": (lambda rows: rows.jump(rows.index.next_warning), "no warning after this row"),
    "log.previous_warning": (
        lambda rows: rows.jump(rows.index.previous_warning),
        "no warning before this row",
    ),
    "log.next_step": (lambda rows: rows.jump_step(forward=True), "this is the last step"),
    "log.previous_step": (lambda rows: rows.jump_step(forward=False), "this is the first step"),
    "log.next_match": (lambda rows: rows.jump_to_match(forward=True), "no match is shown"),
    "log.previous_match": (lambda rows: rows.jump_to_match(forward=False), "no match is shown"),
}
"""Where to, and what is told where there is no such row."""


async def carry_out(screen: LogScreen, action_id: str) -> bool:
    """Whether it was one of the browser's own."""
    if action_id in _JUMPS:
        _jump(screen, *_JUMPS[action_id])
    elif action_id in _DOES:
        _DOES[action_id](screen)
    else:
        return False
    return True


def _jump(screen: LogScreen, to: Callable[[LogRows], bool], told: str) -> None:
    rows = screen.session.rows
    if rows is None:
        return
    if to(rows):
        screen.session.following = False
        rows.touched = True
        screen.rows_view.reveal()
        screen.moved()
    else:
        hidden = " that the filter shows" if rows.is_filtered else ""
        screen.centre.tell(told + hidden)


def _drill_in(screen: LogScreen) -> None:
    """From the rows to the firing; in the firing, everything of it."""
    if screen.active == "rows":
        screen.activate("record")
    elif screen.detail is not None and screen.detail.cut:
        screen.set_detail(whole=True)


def _back(screen: LogScreen) -> None:
    """What was opened last is closed first."""
    rows = screen.session.rows
    if screen.enlarged:
        _enlarge(screen)
    elif screen.zoomed:
        _zoom(screen, on=False)
    elif screen.active != "rows":
        screen.activate("rows")
    elif rows is not None and (screen.session.typed or rows.is_filtered):
        screen.session.set_filter("")
        rows.set_errors_only(False)
        rows.set_only_matches(False)
        screen.moved()
    else:
        screen.centre.back()


def _other_part(screen: LogScreen) -> None:
    screen.activate("record" if screen.active == "rows" else "rows")


def _zoom(screen: LogScreen, *, on: bool) -> None:
    screen.zoomed = on
    screen.place_parts()


def _filter(screen: LogScreen) -> None:
    def typed(text: str) -> str:
        try:
            screen.rows_view.set_filter(text)
        except FilterError as error:
            return str(error)
        return ""

    screen.activate("rows")
    screen.prompt.ask("/", screen.session.typed, typed)


def _errors_only(screen: LogScreen) -> None:
    if (rows := screen.session.rows) is not None:
        rows.set_errors_only(not rows.errors_only)
        screen.moved()


def _only_matches(screen: LogScreen) -> None:
    if (rows := screen.session.rows) is not None:
        rows.set_only_matches(not rows.only_matches)
        screen.moved()


def _follow(screen: LogScreen) -> None:
    session = screen.session
    session.follow(not session.following)
    if session.following and session.ending.file is not None:
        screen.centre.tell("the episode has ended: nothing more will come")
        session.following = False
    screen.moved()


def _times(screen: LogScreen) -> None:
    screen.rows_view.times = not screen.rows_view.times
    screen.rows_view.redraw()


def _enlarge(screen: LogScreen) -> None:
    screen.enlarged = not screen.enlarged
    screen.place_parts()
    screen.give_frame()


def _editor(screen: LogScreen) -> None:
    screen.centre.spawn(
        open_outside(screen.centre, screen.session, screen.detail, record=screen.active == "record")
    )


def _open(screen: LogScreen, view: str) -> None:
    if (place := screen.session.place) is not None:
        screen.centre.open_view(view, place.target)


def _beside(screen: LogScreen, *, forward: bool) -> None:
    screen.centre.spawn(_go_beside(screen, forward=forward), opens=True)


async def _go_beside(screen: LogScreen, *, forward: bool) -> None:
    session = screen.session
    if session.place is None:
        return
    try:
        place = await asyncio.to_thread(failed_beside, session.place, session.ending, forward=forward)
    except (PlaceError, OSError) as error:
        screen.centre.tell(str(error), severity="warning")
        return
    if place is None:
        screen.centre.tell(f"no episode failed {'after' if forward else 'before'} this one")
    else:
        await screen.open(place)


_DOES: Mapping[str, Callable[[LogScreen], object]] = {
    "global.open": _drill_in,
    "global.back": _back,
    "global.focus_next": _other_part,
    "global.focus_previous": _other_part,
    "global.bigger": lambda screen: _zoom(screen, on=True),
    "global.smaller": lambda screen: _zoom(screen, on=False),
    "log.filter": _filter,
    "global.filter": _filter,
    "global.faults": _errors_only,
    "global.copy": lambda screen: screen.centre.offer_copies(screen.copies()),
    "global.save": lambda screen: screen.centre.save_copy(screen.copies()),
    "log.only_matches": _only_matches,
    "log.follow": _follow,
    "log.timestamps": _times,
    "log.wrap": lambda screen: screen.set_detail(wrap=not screen.wrap),
    "log.diff": lambda screen: screen.set_detail(changes=not screen.changes),
    "log.image": _enlarge,
    "log.scores": lambda screen: _open(screen, "scores"),
    "log.trace": lambda screen: _open(screen, "trace"),
    "log.editor": _editor,
    "log.next_episode": lambda screen: _beside(screen, forward=True),
    "log.previous_episode": lambda screen: _beside(screen, forward=False),
}
