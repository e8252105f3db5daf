"""Looks at a control, in a thread: what is due, the cheap and the wanted first."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.control.protocol import Control
from engine.control.queue_reports import QueueReport
from engine.control.reports import ControlError, NotFoundError, RunReport
from engine.store.rundir import runs_folder
from tui.clock import Clock
from tui.models import RunDetail, Snapshot, without_ended
from tui.pace import Paces

log = logging.getLogger(__name__)

FIRST_RUNS = 200
"""Listed at first, so that the first screen need not wait for thousands."""

QUEUE_SEC, LIVE_SEC, SERVERS_SEC, BACKEND_SEC, LIST_SEC = 0.9, 0.9, 2.0, 10.0, 30.0
MACHINE_SEC, IDLE_MACHINE_SEC = 2.0, 10.0
PATIENCE = 4.0
"""Rows and numbers of a run are read again after so many times as long as it took."""

_KEPT_DETAILS = 8

T = TypeVar("T")


class Looker:
    """Not thread-safe: one look at a time. selected: the run to be told in detail. watch_servers: whether
    anybody shows them."""

    def __init__(self, control: Control, clock: Clock) -> None:
        self._control = control
        self._clock = clock
        self._seen = Snapshot()
        self._due: dict[str, float] = {}
        self._details: OrderedDict[str, RunDetail] = OrderedDict()
        self._folder_stamp: int | None = None
        self._uncounted: set[str] = set()
        self._problems: dict[str, str] = {}
        self._last_good = ""
        self._paces = Paces()
        self.selected: str | None = None
        self.watch_servers = False

    def look(self, *, everything: bool) -> Iterator[Snapshot]:
        """What there is, after each thing that was looked at."""
        if everything:
            self._due.clear()
        self._seen = replace(self._seen, at=self._clock.monotonic(), now=self._clock.now())
        if not self._seen.runs:
            self._list(FIRST_RUNS)
            yield self._told()
        self._look_at_queue()
        self._look_at_live()
        self._look_at_selected()
        yield self._told()
        if self._list_is_due():
            self._list(None)
            yield self._told()
        if self._count_selected():
            yield self._told()
        self._look_at_machine()
        yield self._told()

    @property
    def live_folders(self) -> frozenset[Path]:
        """Of the runs that go on, to be watched."""
        return frozenset(Path(run.path) for run in self._seen.runs if run.status == "running")

    def _told(self) -> Snapshot:
        now, attempts = self._seen.now, {run.run_id: run.started_at for run in self._seen.queue.running}
        left = {
            run.run_id: seconds
            for run in self._seen.runs
            if (seconds := self._paces.seconds_left(run, attempts.get(run.run_id), now)) is not None
        }
        seen = replace(self._seen, left_sec=left, problem=self._problem())
        return without_ended(seen) if "queue" in self._problems else seen

    def _problem(self) -> str:
        if not self._problems:
            self._last_good = f"{self._clock.now():%H:%M:%S}"
            return ""
        since = f"data of {self._last_good}; " if self._last_good else ""
        return since + next(iter(self._problems.values()))

    def _is_due(self, what: str, every: float) -> bool:
        now = self._clock.monotonic()
        if self._due.get(what, 0.0) > now:
            return False
        self._due[what] = now + every
        return True

    def _ask(self, what: str, call: Callable[[Control], T]) -> T | None:
        """The answer; None, and the problem remembered, where there is none. A control may fail as early as
        when it is asked for its verb."""
        try:
            answer = call(self._control)
        except ControlError as error:
            self._problems[what] = str(error)
            return None
        except Exception as error:  # whatever it is, the screen says so, and tries again
            log.exception("looking at %s", what)
            self._problems[what] = f"{what} cannot be read: {error}"
            return None
        self._problems.pop(what, None)
        return answer

    def _look_at_queue(self) -> None:
        if self._is_due("queue", QUEUE_SEC) and (
            queue := self._ask("queue", lambda control: control.queue())
        ):
            if _members(queue) != _members(self._seen.queue):
                self._due.pop("list", None)
                self._due.pop("live", None)
            self._seen = replace(self._seen, queue=queue)

    def _list_is_due(self) -> bool:
        try:
            stamp: int | None = runs_folder(self._control.root).stat().st_mtime_ns
        except OSError:
            stamp = None
        changed, self._folder_stamp = stamp != self._folder_stamp, stamp
        return self._is_due("list", LIST_SEC) or changed

    def _list(self, limit: int | None) -> None:
        runs = self._ask("runs", lambda control: control.runs(limit=limit))
        if runs is None:
            return
        known = {run.run_id: run for run in self._seen.runs if run.progress is not None}
        listed = tuple(_fuller(run, known) for run in runs)
        same = listed == self._seen.runs
        whole = limit is None or len(runs) < limit
        self._seen = replace(self._seen, runs=self._seen.runs if same else listed, listed=whole)

    def _look_at_live(self) -> None:
        if not self._is_due("live", LIVE_SEC):
            return
        for run in self._seen.runs:
            if not run.is_over and run.run_id != self.selected:
                self._show(run.run_id)

    def _show(self, run_id: str) -> RunReport | None:
        """The run in full; None where it cannot be read, and then it is no more in the list if it is gone."""
        try:
            report = self._control.show(run_id)
        except NotFoundError:
            self._seen = replace(self._seen, runs=tuple(r for r in self._seen.runs if r.run_id != run_id))
            return None
        except Exception as error:
            log.exception("looking at %s", run_id)
            self._problems["run"] = f"{run_id} cannot be read: {error}"
            return None
        self._problems.pop("run", None)
        before = self._seen.find(run_id)
        if before != report:
            runs = tuple(report if run is before else run for run in self._seen.runs)
            self._seen = replace(self._seen, runs=runs)
        return report

    def _look_at_selected(self) -> None:
        run_id = self.selected
        known = self._details.get(run_id or "")
        if run_id is None:
            self._seen = replace(self._seen, run=None)
        elif known is not None and known.report.is_over and not self._is_due(f"show {run_id}", LIVE_SEC):
            self._seen = replace(self._seen, run=known)
        elif (report := self._show(run_id)) is None:
            self._seen = replace(self._seen, run=None)
        else:
            self._keep(RunDetail(report) if known is None else _refreshed(known, report))
            self._read_rows()

    def _read_rows(self) -> None:
        detail = self._seen.run
        if detail is None or detail.loaded or not self._is_due(f"rows {detail.run_id}", 0.0):
            return
        began = self._clock.monotonic()
        rows = self._ask("episodes", lambda control: control.episodes(detail.run_id))
        if rows is not None:
            self._rest(f"rows {detail.run_id}", began)
            self._uncounted.add(detail.run_id)
            self._keep(replace(detail, rows=tuple(rows), loaded=True))

    def _count_selected(self) -> bool:
        """Whether there are new numbers. They take longest: first, what computes them is imported."""
        detail = self._seen.run
        if detail is None or detail.run_id not in self._uncounted:
            return False
        if not detail.rows or not self._is_due(f"results {detail.run_id}", 0.0):
            return False
        began = self._clock.monotonic()
        results = self._ask("results", lambda control: control.results(detail.run_id))
        scored = any(row.scoring != "none" for row in detail.rows)
        scoring = self._ask("scoring", lambda control: control.scoring(detail.run_id)) if scored else None
        self._rest(f"results {detail.run_id}", began)
        self._uncounted.discard(detail.run_id)
        if results is not None:
            self._keep(replace(detail, results=results, scoring=scoring))
        return results is not None

    def _rest(self, what: str, began: float) -> None:
        now = self._clock.monotonic()
        self._due[what] = now + PATIENCE * (now - began)

    def _keep(self, detail: RunDetail) -> None:
        self._details[detail.run_id] = detail
        self._details.move_to_end(detail.run_id)
        while len(self._details) > _KEPT_DETAILS:
            self._details.popitem(last=False)
        self._seen = replace(self._seen, run=detail)

    def _look_at_machine(self) -> None:
        pace = MACHINE_SEC if self._seen.queue.running else IDLE_MACHINE_SEC
        if self._is_due("machine", pace) and (
            report := self._ask("machine", lambda control: control.resources())
        ):
            history = self._seen.history.with_report(report, self._seen.at)
            self._seen = replace(self._seen, resources=report, history=history)
        if self._is_due("backend", BACKEND_SEC) and (
            found := self._ask("backend", lambda control: control.backend())
        ):
            self._seen = replace(self._seen, backend=found)
        if self.watch_servers and self._is_due("servers", SERVERS_SEC):
            servers = self._ask("servers", lambda control: control.servers())
            self._seen = replace(self._seen, servers=tuple(servers or ()))


def _members(queue: QueueReport) -> tuple[set[str], set[str]]:
    return {run.run_id for run in queue.running}, {run.run_id for run in queue.queued}


def _refreshed(known: RunDetail, report: RunReport) -> RunDetail:
    same = known.report.summary == report.summary and known.report.status == report.status
    same = same and _being_scored(known.report) == _being_scored(report)
    return replace(known, report=report, loaded=known.loaded and same)


def _being_scored(report: RunReport) -> set[str]:
    """The folders of the episodes that wait: the row of one that is gone from them is another."""
    return {waits.folder for waits in report.progress.scoring} if report.progress else set()


def _fuller(run: RunReport, known: dict[str, RunReport]) -> RunReport:
    """With the progress that was read before, which a list does not have."""
    before = known.get(run.run_id)
    if before is None or before.status != run.status:
        return run
    return msgspec.structs.replace(run, progress=before.progress, environment=before.environment)
