"""How the job of a shared server stands: by its own files first, then by Slurm's word, after a grace."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from engine.scheduling.launchers.server_attempts import attempt_of, how_it_ended, mark_of, read_end
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.units import comment_with, is_listed
from engine.scheduling.launchers.slurm.words import RUNS, WAITS, end_of, reason_of
from engine.store.server_folder import ServerFolder, ServerRecord


@dataclass(frozen=True)
class ServerStanding:
    """why: of one that waits, or has ended. url: where it answers. killed: it ended from outside, so that it
    may be started again; unused: only since nobody used it."""

    state: Literal["waiting", "loading", "ready", "ended"]
    why: str = ""
    url: str = ""
    killed: bool = False
    unused: bool = False


class ServerJob:
    """The current attempt at a server. Use it in one thread."""

    def __init__(self, folder: ServerFolder, record: ServerRecord, clerk: Clerk, grace_sec: float) -> None:
        self.attempt = attempt_of(folder, record)
        self.comment = comment_with(mark_of(record))
        self._folder = folder
        self._record = record
        self._clerk = clerk
        self._grace_sec = grace_sec
        self._over_since: float | None = None
        self._asked_at: float | None = None
        self._forced = False
        clerk.watch(self.comment)

    @property
    def number(self) -> str:
        """Slurm's, once it has one."""
        return self._clerk.number(self.comment)

    def is_begun(self) -> bool:
        """Whether a shim has it. Raises OSError."""
        return is_listed(self.attempt.path, "shim.json") and not self._is_void()

    def stand(self) -> ServerStanding:
        """How it stands now. Raises OSError."""
        if end := read_end(self._folder, self._record):
            return ServerStanding("ended", why=end.why, unused=end.unused)
        if refused := self._clerk.refused(self.comment):
            return ServerStanding("ended", why=refused)
        if is_listed(self.attempt.path, "exit.json"):
            return ServerStanding("ended", why=self._how(), killed=True)
        if self._is_void():
            return ServerStanding("ended", why="it never began", killed=True)
        job = self._clerk.look(self.comment)
        if job is not None and job.state in WAITS:
            return ServerStanding("waiting", why=reason_of(job).text)
        unknown = job is None and (self._clerk.problem or not self._clerk.is_seen(self.comment))
        if unknown or (job is not None and job.state in RUNS):
            self._over_since = None
            return self._going()
        return self._over()

    def end(self, grace_sec: float) -> None:
        """Ask it to end; what is left after its own grace, and some, is left to Slurm."""
        now = time.monotonic()
        if self._asked_at is None:
            self._asked_at = now
            self._clerk.cancel(self.comment)
        elif now - self._asked_at > 2 * grace_sec and not self._forced:
            self._forced = True
            self._clerk.cancel(self.comment, by_force=True)

    def _going(self) -> ServerStanding:
        if ready := self._folder.read_ready(self._record.attempt):
            return ServerStanding("ready", url=ready.url)
        if self.is_begun():
            return ServerStanding("loading")
        why = self._clerk.put_off(self.comment) or self._clerk.problem
        return ServerStanding("waiting", why=why or "it is being handed to the cluster")

    def _over(self) -> ServerStanding:
        """Slurm says that it has ended, or does not know it (any more): its files may come late."""
        now = time.monotonic()
        self._over_since = now if self._over_since is None else self._over_since
        if now - self._over_since < self._grace_sec:
            return self._going()
        if not self.is_begun():
            self.attempt.void()
        job = self._clerk.look(self.comment)
        why = end_of(job) if job else f"Slurm knows nothing of its job {self.number}".rstrip()
        return ServerStanding("ended", why=why, killed=True)

    def _how(self) -> str:
        ended = self.attempt.read_exit()
        job = self._clerk.look(self.comment)
        if ended is not None and ended.stopped_by:
            slurm = f" (Slurm: {job.state}, job {job.job_id})" if job else ""
            return f"it was told to end, and not from here: its time on the cluster was over, say{slurm}"
        return how_it_ended(self.attempt)

    def _is_void(self) -> bool:
        claim = self.attempt.read_shim() if is_listed(self.attempt.path, "shim.json") else None
        return claim is not None and claim.void
