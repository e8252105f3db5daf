"""One episode, step by step: the log browser on an episode that goes on only as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from engine.control.protocol import Control
from engine.control.queue_reports import PlayReport
from engine.control.reports import ControlError
from engine.store.rundir import RunDir, runs_folder
from tui.actions import Fact, Scope
from tui.episode.inks import InkedLine, inked
from tui.episode.places import LOG, Place
from tui.models import Snapshot
from tui.screens.log import LogScreen

LOOK_SEC = 0.5
MANY = 10
"""Steps of ``N``."""

OVER = ("completed", "cancelled", "error", "aborted")


class PlayView(LogScreen):
    """target: the run that is played, or ``run/episode`` of it."""

    view_name = "play"
    heading = "play"

    def __init__(self, target: str = "") -> None:
        super().__init__(target)
        self.run_id = target.partition("/")[0]
        self.report: PlayReport | None = None
        self.session.before = "no node has fired yet"
        self._next: Callable[[], None] | None = None
        self._problem = ""
        self._sent = False
        self._to_end = False

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return ("play", *super().scopes)

    def crumbs(self) -> str:
        return f"play {super().crumbs()}"

    def facts(self) -> set[Fact]:
        found = super().facts()
        if self.report is not None and self.report.status not in OVER:
            found.add("live run")
        return found

    async def do(self, action_id: str) -> bool:
        match action_id:
            case "play.step":
                self._tell_when_it_waits(partial(_step, self.run_id, 1), "play 1 step")
            case "play.steps":
                self._tell_when_it_waits(partial(_step, self.run_id, MANY), f"play {MANY} steps")
            case "play.run":
                self._tell_when_it_waits(partial(_run, self.run_id), "play on to the end")
            case "play.stop":
                self._tell(partial(_stop, self.run_id), f"end the play {self.run_id}")
            case _:
                self._to_end = False
                return await super().do(action_id)
        return True

    def show(self, snapshot: Snapshot) -> None:
        super().show(snapshot)
        self._say()

    async def _open_target(self) -> None:
        """Look how it stands, for as long as it goes on, and open its episode as soon as there is one."""
        folder = RunDir(runs_folder(self.centre.control.root) / self.run_id)
        while self.is_attached and (self.report is None or self.report.status not in OVER):
            try:
                self.report = await asyncio.to_thread(self.centre.control.play_state, self.run_id)
                self._problem = ""
            except ControlError as error:
                self._problem = str(error)
            if self.session.place is None and (place := await asyncio.to_thread(_newest, folder)) is not None:
                await self.open(place)
            self._go_on()
            self._say()
            await self.centre.clock.sleep(LOOK_SEC)

    def _tell_when_it_waits(self, call: Callable[[Control], PlayReport], told: str) -> None:
        """Of what is asked for while it takes a step, the last counts."""
        self._next = partial(self._tell, call, told)
        self._go_on()

    def _go_on(self) -> None:
        if self._next is not None and self.report is not None and self.report.waiting and not self._sent:
            tell, self._next = self._next, None
            tell()

    def _tell(self, call: Callable[[Control], PlayReport], told: str) -> None:
        self._sent = self._to_end = True
        self.session.follow(True)
        self.centre.spawn(self._told(call, told))

    async def _told(self, call: Callable[[Control], PlayReport], told: str) -> None:
        report = await self.centre.verb(call, told)
        self._sent = False
        self._next = self._next if report is not None else None
        if report is not None:
            self.report = report
        self._go_on()
        self._say()

    def _changed(self) -> None:
        """The newest firing, also where the episode's end comes before its last ones are read."""
        if self._to_end and (rows := self.session.rows) is not None:
            rows.move_to(len(rows) - 1)
        super()._changed()

    def head_lines(self, place: Place) -> list[InkedLine]:
        return [self._standing(), *super().head_lines(place)]

    def _say(self) -> None:
        if self.is_attached:
            place = self.session.place
            self.bar.say(self.head_lines(place) if place is not None else [self._standing()])
            self.bars_changed()

    def _standing(self) -> InkedLine:
        report = self.report
        if report is None:
            return inked(self._problem or "is asked how it stands…", "warn" if self._problem else "dim")
        if report.status == "pending":
            waiting = self.centre.snapshot.queued(self.run_id)
            return inked(f"waits to be let in: {waiting.reason if waiting else 'it is the next'}", "warn")
        if report.status in OVER:
            return inked(f"over: {report.status}", "strong")
        of = f" of {report.budget}" if report.budget is not None else ""
        node = f", at {report.node}" if report.node else ""
        if report.waiting and not self._sent:
            return (("stands", "good"), (f" before step {report.step}{of}{node}", "plain"))
        if not report.node:
            return inked("is starting: its environment is set up", "warn")
        return (("goes on", "warn"), (f" in step {report.step}{of}{node}", "plain"))


def _newest(run: RunDir) -> Place | None:
    """The one episode of a play, once it has a folder."""
    folders = sorted(path for path in run.episodes.iterdir()) if run.episodes.is_dir() else []
    return Place(folders[-1], folders[-1] / LOG, run) if folders else None


def _step(run_id: str, steps: int, control: Control) -> PlayReport:
    return control.play_step(run_id, steps)


def _run(run_id: str, control: Control) -> PlayReport:
    return control.play_run(run_id)


def _stop(run_id: str, control: Control) -> PlayReport:
    return control.play_stop(run_id)
