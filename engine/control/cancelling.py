"""Cancels: an intent on disk, pressed for until the run's whole process tree is gone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Literal

from engine.scheduling.queue import QueueError
from engine.scheduling.tick import Scheduler
from engine.store.atomic import write_json
from engine.store.records import now_iso
from engine.store.rundir import RunDir, RunDirError, runs_folder

log = logging.getLogger(__name__)


class Cancelling:
    """The runs of a scheduler that are to end."""

    def __init__(self, root: Path, scheduler: Scheduler) -> None:
        self._root = root
        self._scheduler = scheduler
        self._graces: dict[str, float | None] = {}

    def begin(self, run_id: str, grace_sec: float | None) -> Literal["cancelled", "cancelling"]:
        """Write the intent down, then act on it. QueueError where the run is neither queued nor running.

        A disk that is full keeps nobody from ending a run; the intent is written as soon as it can be.
        """
        graces = [grace for grace in (self._graces.get(run_id), grace_sec) if grace is not None]
        self._graces[run_id] = min(graces, default=None)
        try:
            return self._press(run_id)
        except QueueError:
            del self._graces[run_id]
            raise

    def forget(self, run_id: str) -> None:
        """It has ended, and is queued again."""
        self._graces.pop(run_id, None)

    def press(self) -> None:
        """Once a tick: again for each whose tree is not empty, also if it was queued again meanwhile."""
        for run_id in list(self._graces):
            try:
                self._press(run_id)
            except QueueError:
                del self._graces[run_id]  # it has ended
            except OSError as error:
                log.error("the cancel of %s cannot be written yet: %s", run_id, error)

    def _press(self, run_id: str) -> Literal["cancelled", "cancelling"]:
        self._write_intent(RunDir(runs_folder(self._root) / run_id))
        answer = self._scheduler.cancel(run_id, self._graces[run_id])
        if answer == "cancelled":
            del self._graces[run_id]
        return answer

    def _write_intent(self, run: RunDir) -> None:
        try:
            job = run.read_job()
            if job.cancel_requested_at is None:
                job.cancel_requested_at = now_iso()
                write_json(run.job, job)
        except (OSError, RunDirError) as error:
            log.error("that %s is to be cancelled cannot be written yet: %s", run.run_id, error)
