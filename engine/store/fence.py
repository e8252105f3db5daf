"""Only the owner of a run's current attempt writes its files: a process that woke up late writes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping

from engine.store.attempts import MARK
from engine.store.records import Job
from engine.store.rundir import RunDir, RunDirError


class FencedError(Exception):
    """The attempt is no longer its run's: another one was made, or it was closed off."""


class Fence:
    """What an attempt asks before each write. Costs a stat, unless job.json was replaced since the last time.

    Between the question and the write lie microseconds, in which a process may still be stopped: writes of
    whole files ask as the last thing before the rename (``before`` of
    :func:`engine.store.atomic.write_bytes`).
    """

    def __init__(self, run: RunDir, attempt: int, token: str) -> None:
        self.attempt = attempt
        self._run = run
        self._token = token
        self._stamp: tuple[int, ...] = ()
        self._job: Job | None = None

    @classmethod
    def of_this_process(cls, run: RunDir, environ: Mapping[str, str] = os.environ) -> Fence:
        """The attempt that the environment names, or, where it names none of this run, the current one.

        Raises RunDirError where that cannot be read.
        """
        run_id, _, rest = environ.get(MARK, "").partition("/")
        number, _, token = rest.partition("/")
        if run_id == run.run_id and number.isdecimal():
            return cls(run, int(number), token)
        job = run.read_job()
        return cls(run, job.attempt, job.token)

    def check(self) -> None:
        """Raises FencedError where the attempt may not write any more, OSError where that cannot be seen."""
        self.job()

    def job(self) -> Job:
        """job.json as it is now. Raises as :meth:`check` does."""
        try:
            status = os.stat(self._run.job)
            stamp = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)
            if self._job is None or stamp != self._stamp:
                self._job, self._stamp = self._run.read_job(), stamp
        except (FileNotFoundError, RunDirError) as error:
            raise FencedError(
                f"attempt {self.attempt} of {self._run.run_id} has no job.json: {error}"
            ) from None
        if (self._job.attempt, self._job.token) != (self.attempt, self._token):
            raise FencedError(
                f"attempt {self.attempt} of {self._run.run_id} writes nothing any more:"
                f" attempt {self._job.attempt} has taken its place"
            )
        if self._job.state == "ended":
            raise FencedError(
                f"attempt {self.attempt} of {self._run.run_id} writes nothing any more: it was closed off"
            )
        return self._job
