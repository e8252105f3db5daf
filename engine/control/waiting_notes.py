"""Why each run waits, in its job.json: for whoever looks at its folder, and for after a restart."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.scheduling.reasons import Reason
from engine.store.atomic import write_json
from engine.store.process_identity import ProcessIdentity
from engine.store.records import Job, now_iso
from engine.store.rundir import RunDir, RunDirError, runs_folder

log = logging.getLogger(__name__)

EVERY_SEC = 10.0
"""A reason whose numbers alone changed is written again after this long."""

BUDGET_SEC = 0.01
"""Of a tick. Those that find no room in it are written in the next ones, the longest unwritten first."""


@dataclass
class _Written:
    code: str
    text: str
    at: float


class WaitingNotes:
    """Not durable: after a power cut the scheduler finds the reasons again."""

    def __init__(
        self, root: Path, backend: ProcessIdentity, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._root = root
        self._backend = backend
        self._clock = clock
        self._written: dict[str, _Written] = {}

    def write(self, waiting: Mapping[str, Reason]) -> None:
        """Write what has changed of it."""
        now = self._clock()
        self._written = {run_id: note for run_id, note in self._written.items() if run_id in waiting}
        due = [run_id for run_id, reason in waiting.items() if self._is_due(run_id, reason, now)]
        due.sort(key=lambda run_id: self._written[run_id].at if run_id in self._written else 0.0)
        for run_id in due:
            try:
                self._write(RunDir(runs_folder(self._root) / run_id), waiting[run_id])
            except OSError as error:
                log.error("why %s waits cannot be written: %s", run_id, error)
                return
            self._written[run_id] = _Written(waiting[run_id].code, waiting[run_id].text, now)
            if self._clock() - now > BUDGET_SEC:
                return

    def _is_due(self, run_id: str, reason: Reason, now: float) -> bool:
        note = self._written.get(run_id)
        if note is None or note.code != reason.code:
            return True
        return note.text != reason.text and now - note.at >= EVERY_SEC

    def _write(self, run: RunDir, reason: Reason) -> None:
        if not run.path.is_dir():
            return
        try:
            job = run.read_job()
        except RunDirError as error:
            log.warning("%s; it is written anew", error)
            job = Job(run_id=run.run_id, state="queued", token=secrets.token_hex(16), submitted_at=now_iso())
        job.reason, job.state, job.process = str(reason), "queued", self._backend
        write_json(run.job, job, durable=False)
