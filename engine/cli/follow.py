"""Watching a run until it is over: bars on a terminal, lines elsewhere, Ctrl-C understood."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from engine.cli.output import say
from engine.cli.progress import Pace, describe

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.reports import RunReport

POLL_SEC = 0.25
LINE_EVERY_SEC = 5.0
GRACE_SEC = 30.0
"""Between the polite end of a run and the hard one, after the first Ctrl-C."""


class Display(Protocol):
    def show(self, report: RunReport, pace: Pace) -> None: ...


def follow(control: Control, run: str) -> tuple[RunReport, bool]:
    """Show the run until it is over; give how it ended, and whether the operator interrupted it.

    The first Ctrl-C cancels the run cleanly, the second at once.
    """
    pace = Pace()
    with _ctrl_c_cancels(control, run) as interrupts, _display() as display:
        while True:
            report = control.show(run)
            if report.is_over:
                return report, bool(interrupts)
            pace.update(report)
            display.show(report, pace)
            time.sleep(POLL_SEC)


@contextmanager
def _ctrl_c_cancels(control: Control, run: str) -> Iterator[list[int]]:
    from engine.control.reports import AlreadyOverError

    interrupts: list[int] = []

    def cancel(grace_sec: float) -> None:
        with suppress(AlreadyOverError):
            control.cancel(run, grace_sec)

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        if len(interrupts) == 1:
            say("cancelling; press Ctrl-C again to end it at once")
            threading.Thread(target=cancel, args=(GRACE_SEC,), daemon=True).start()
        else:
            cancel(0.0)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _display() -> Iterator[Display]:
    if not sys.stderr.isatty():
        yield Lines()
        return
    from engine.cli.bars import bars

    with bars() as display:
        yield display


class Lines:
    """A line when something has finished, not more often than one can read."""

    def __init__(self) -> None:
        self._last: Any = None
        self._due = 0.0

    def show(self, report: RunReport, pace: Pace) -> None:
        state = (report.status, report.summary.completed_count)
        if state == self._last or time.monotonic() < self._due:
            return
        self._last, self._due = state, time.monotonic() + LINE_EVERY_SEC
        say(describe(report, pace))
