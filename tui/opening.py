"""Opens the control centre on this terminal, as a root's settings and what was left say."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from functools import partial

from engine.control.protocol import Control
from engine.control.queue_reports import QueueReport
from engine.control.reports import ControlError
from engine.store.settings import SettingsError, read_settings
from tui.app import ControlCentre
from tui.keymap import KeymapError, make_keymap
from tui.state_file import load_state, save_state, state_path
from tui.stderr_guard import StderrGuard
from tui.terminal_app import run_screen
from tui.watcher import watch_runs


def open_centre(control: Control, *, read_only: bool, hand_over: Callable[[], None]) -> int:
    """Show it until it is left; the exit code. ``hand_over``: for where it cannot end in an orderly way.

    Raises ControlError for settings that cannot be used.
    """
    try:
        settings = read_settings(control.root)
        preferences, keymap = settings.ui, make_keymap(settings.keys)
    except (SettingsError, KeymapError) as error:
        raise ControlError(str(error)) from None
    path = state_path(control.root)
    centres: list[ControlCentre] = []

    def make(guard: StderrGuard) -> ControlCentre:
        logging.basicConfig(filename=guard.log, level=logging.INFO, format="%(asctime)s %(message)s")
        for chatty in ("httpx", "watchfiles"):
            logging.getLogger(chatty).setLevel(logging.WARNING)
        centre = ControlCentre(
            control,
            read_only=read_only,
            preferences=preferences,
            keymap=keymap,
            state=load_state(path),
            save=partial(save_state, path),
            watch=partial(watch_runs, control.root),
            hand_over=hand_over,
            guard=guard,
        )
        centres.append(centre)
        return centre

    code = run_screen(make, path.with_suffix(".log"))
    if centres and code == 0:
        sys.stderr.write(farewell(centres[0].snapshot.queue))
    return code


def farewell(queue: QueueReport) -> str:
    """What goes on, in a line; nothing where nothing does."""
    if not (queue.running or queue.queued):
        return ""
    return (
        f"{len(queue.running)} running and {len(queue.queued)} waiting go on: 'evaltower' comes back to them,"
        " 'evaltower stop' ends the backend\n"
    )
