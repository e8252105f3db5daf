"""Watching a run until it is over: bars on a terminal, lines elsewhere, Ctrl-C understood."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import click

from engine.cli.app import FAILED, INTERRUPTED
from engine.cli.output import forsake, put_json, say, say_error
from engine.cli.progress import Pace, describe
from engine.cli.queueing import Waiting
from engine.cli.results import put_result, say_where_next
from engine.cli.scores import put_scoring

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.reports import RunReport

POLL_SEC = 0.25
LINE_EVERY_SEC = 5.0
STEPS_EVERY_SEC = 30.0


class Display(Protocol):
    def show(self, report: RunReport, pace: Pace, waiting: str) -> None:
        """``waiting``: why the run has not begun; empty where it has."""


def follow(control: Control, run: str) -> tuple[RunReport, bool]:
    """Show the run until it is over; give how it ended, and whether the operator interrupted it.

    The first Ctrl-C cancels the run cleanly, the second at once.
    """
    pace, waiting = Pace(), Waiting(control)
    with ctrl_c_cancels(control, lambda: [run]) as interrupts, _display() as display:
        while True:
            report = control.show(run)
            if report.is_over:
                return report, bool(interrupts)
            pace.update(report)
            display.show(report, pace, waiting.look(report))
            time.sleep(POLL_SEC)


def follow_to_result(control: Control, run: str, *, as_json: bool) -> None:
    """Follow the run and show its result; ends the command with 1 for one that failed or had errors, or whose
    headline is withheld."""
    say(f"run {run}: {control.show(run).path}")
    report, interrupted = follow(control, run)
    try:
        _put(control, report, as_json=as_json)
    except BrokenPipeError:
        if not interrupted:
            raise
        forsake(sys.stdout)  # Ctrl-C has ended its reader as well
    if interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    withheld = report.standing is not None and report.standing.withheld
    if report.status != "completed" or report.summary.error_count or withheld:
        raise click.exceptions.Exit(FAILED)


def _put(control: Control, report: RunReport, *, as_json: bool) -> None:
    if as_json:
        put_json(report)
        return
    rows = control.episodes(report.run_id)
    put_result(report, control.results(report.run_id), rows)
    put_scoring(control.scoring(report.run_id), report.run_id)
    say_where_next(report, rows)


@contextmanager
def ctrl_c_cancels(control: Control, runs: Callable[[], Sequence[str]]) -> Iterator[list[int]]:
    """While it is open, the first Ctrl-C cancels ``runs`` cleanly, and the next ones at once.

    Gives the interrupts so far. A run that cannot be cancelled is told of, and is no error.
    """
    interrupts: list[int] = []

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        first = len(interrupts) == 1
        grace = None if first else 0.0
        # In threads of their own: the main one may be in the middle of a verb, or of a line.
        threading.Thread(target=lambda: cancel_all(control, runs(), grace), daemon=True).start()
        if first:
            told = "cancelling; press Ctrl-C again to end it at once"
            threading.Thread(target=say, args=(told,), daemon=True).start()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def cancel_all(control: Control, runs: Sequence[str], grace_sec: float | None = None) -> None:
    """Cancel those that are not over; one that cannot be is told of."""
    from engine.control.reports import AlreadyOverError, ControlError

    for run in runs:
        try:
            control.cancel(run, grace_sec)
        except AlreadyOverError:
            continue
        except ControlError as error:
            say_error(f"{run} is not cancelled: {error}")


@contextmanager
def _display() -> Iterator[Display]:
    if not sys.stderr.isatty():
        yield Lines()
        return
    from engine.cli.bars import bars

    with bars() as display:
        yield display


class Lines:
    """A line when something has changed, not more often than one can read; of steps alone, now and then."""

    def __init__(self) -> None:
        self._last: Any = None
        self._told = ""
        self._due = self._steps_due = 0.0

    def show(self, report: RunReport, pace: Pace, waiting: str) -> None:
        state, now = (report.status, report.summary.completed_count, waiting), time.monotonic()
        if now < self._due or (state == self._last and now < self._steps_due):
            return
        told = waiting or describe(report, pace)
        if (state, told) == (self._last, self._told):
            return
        self._last, self._told = state, told
        self._due, self._steps_due = now + LINE_EVERY_SEC, now + STEPS_EVERY_SEC
        say(told)
