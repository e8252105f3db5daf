"""All that is asked of the cluster, in a thread of its own: no tick waits for it, and no run asks by itself.

A job goes by its comment, which no other has: numbers are given twice where a controller lost its memory.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from engine.scheduling.launchers.slurm.commands import (
    Listed,
    Slurm,
    SlurmError,
    SlurmLaterError,
    SlurmRefusedError,
    SlurmSilentError,
)
from engine.scheduling.launchers.slurm.words import WAITS, is_over

log = logging.getLogger(__name__)

REST_SEC = 0.5
"""Between two questions, however much is wanted."""


class Clerk:
    """Submits, cancels and looks, soon. Its answers are as of the last look.

    seen_at: when the cluster last answered, by time.monotonic; None before. problem: why it does not.
    """

    def __init__(self, slurm: Slurm, poll_sec: float) -> None:
        self.seen_at: float | None = None
        self.problem = ""
        self._slurm = slurm
        self._poll_sec = poll_sec
        self._lock = threading.Lock()
        self._errands: deque[tuple[str, Callable[[], None]]] = deque()
        self._watched: set[str] = set()
        self._jobs: dict[str, Listed] = {}
        self._handing: dict[str, Path] = {}
        self._numbers: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._since: dict[str, float] = {}
        self._later: dict[str, str] = {}
        self._wanted = threading.Event()
        self._closed = threading.Event()
        self._in_doubt, self._is_stuck = True, False
        self._thread: threading.Thread | None = None

    def watch(self, comment: str) -> None:
        """Look after a job, whoever submitted it."""
        with self._lock:
            new = comment not in self._watched
            self._watched.add(comment)
            self._since.setdefault(comment, time.monotonic())
        if new:
            self._wake()

    def forget(self, comment: str) -> None:
        """It is of no interest any more."""
        with self._lock:
            for known in (self._jobs, self._handing, self._numbers, self._refused, self._since, self._later):
                known.pop(comment, None)
            self._watched.discard(comment)

    def submit(self, comment: str, script: Path) -> None:
        """Hand a script over, unless the cluster has it already. Again is no error."""
        with self._lock:
            if comment in self._handing or comment in self._numbers:
                return
            self._handing[comment] = script
            self._watched.add(comment)
        self._errand(comment, lambda: self._hand_over(comment))

    def cancel(self, comment: str, *, by_force: bool = False) -> None:
        """Let a job end: not begin, or be asked by SIGTERM; ``by_force``: in the cluster's own way."""
        with self._lock:
            self._handing.pop(comment, None)
        self._errand(comment, lambda: self._end(comment, by_force))

    def look(self, comment: str) -> Listed | None:
        """The job as the cluster last told it; None where it did not."""
        return self._jobs.get(comment)

    def number(self, comment: str) -> str:
        """Its number, once it has one."""
        job = self._jobs.get(comment)
        return job.job_id if job else self._numbers.get(comment, "")

    def is_seen(self, comment: str) -> bool:
        """Whether the cluster was asked since it was to have the job."""
        seen = self.seen_at
        return comment not in self._handing and seen is not None and seen >= self._since.get(comment, seen)

    def refused(self, comment: str) -> str | None:
        """Why the cluster will not have it."""
        return self._refused.get(comment)

    def put_off(self, comment: str) -> str:
        """Why it is not submitted yet, where the cluster said so."""
        return self._later.get(comment, "") if comment in self._handing else ""

    def close(self) -> None:
        """End the thread; the jobs go on."""
        self._closed.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)

    def _errand(self, comment: str, work: Callable[[], None]) -> None:
        with self._lock:
            self._errands.append((comment, work))
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._work, name="slurm", daemon=True)
                self._thread.start()
        self._wanted.set()

    def _work(self) -> None:
        while not self._closed.is_set():
            self._wanted.clear()
            if self._in_doubt:
                self._look()  # before anything is submitted: it may have been, by us or an earlier backend
            if not self._in_doubt:
                self._run_errands()
            if self._watched:
                self._look()
            self._closed.wait(REST_SEC)
            self._wanted.wait(self._poll_sec if self._watched or self._errands else None)

    def _run_errands(self) -> None:
        while self._errands and not self._closed.is_set():
            comment, work = self._errands[0]
            try:
                work()
            except SlurmSilentError as error:
                self._is_silent(error)
                self._in_doubt = self._is_stuck = True
                return  # it is tried again
            except SlurmLaterError as error:
                self._later[comment] = str(error)
                self._errands.rotate(-1)
                return  # the others come first, the next time
            except SlurmError as error:
                log.error("%s: %s", comment, error)
            except Exception:
                log.exception("an errand to the cluster failed")
            self._is_stuck = False
            with self._lock:
                self._errands.popleft()

    def _hand_over(self, comment: str) -> None:
        if comment in self._jobs or (script := self._handing.get(comment)) is None:
            self._handing.pop(comment, None)
            return
        try:
            number = self._slurm.submit(script)
        except SlurmLaterError:
            raise
        except SlurmRefusedError as error:
            self._refused[comment] = str(error)
            self._handing.pop(comment, None)
            return
        except SlurmError as error:  # it may have been taken all the same: it is looked for first
            raise SlurmSilentError(str(error)) from error
        self._numbers[comment], self._since[comment] = number, time.monotonic()
        self._handing.pop(comment, None)
        log.info("%s is Slurm job %s", script.parent, number)

    def _end(self, comment: str, by_force: bool) -> None:
        if comment not in self._jobs and not self._look():
            raise SlurmSilentError(self.problem)
        job = self._jobs.get(comment)
        if job is None or is_over(job.state):  # its number may be another's by now
            return
        number = job.job_id
        if by_force:
            self._slurm.cancel([number])
            return
        for ask in (self._slurm.cancel_pending, self._slurm.ask_to_end):
            try:
                ask(number)
            except SlurmSilentError:
                raise
            except SlurmError as error:  # the other one has ended it
                log.debug("job %s: %s", number, error)

    def _look(self) -> bool:
        """Whether the cluster answered."""
        asked_at = time.monotonic()
        try:
            jobs = self._slurm.jobs()
        except SlurmError as error:
            self._is_silent(error)
            return False
        # One that is listed twice was submitted twice: the one that goes on counts.
        known = sorted(jobs, key=lambda job: (not is_over(job.state), job.state not in WAITS))
        self._jobs = {job.comment: job for job in known if job.comment in self._watched}
        self.seen_at, self._in_doubt = asked_at, False
        if not self._is_stuck:
            self.problem = ""
        return True

    def _is_silent(self, error: SlurmError) -> None:
        if not self.problem:
            log.warning("the cluster does not answer: %s", error)
        self.problem = str(error)
