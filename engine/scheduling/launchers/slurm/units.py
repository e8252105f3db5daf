"""How an attempt stands that was given to the cluster: its own files first, then Slurm's word after a grace,
then whether anything of it still moves.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from engine.scheduling.launchers.closing import mark_of
from engine.scheduling.launchers.slurm.clerk import Clerk
from engine.scheduling.launchers.slurm.words import BOX_FAILED, WAITS, end_of, is_over, reason_of
from engine.scheduling.reasons import Reason, duration
from engine.store.attempts import Attempt
from engine.store.records import Job
from engine.store.rundir import RunDir

FORCE_SEC = 15.0
"""Given, beyond its grace, to a shim that was told to end everything below it."""

Kind = Literal["waits", "runs", "lingers", "ended", "never", "refused"]


@dataclass(frozen=True)
class Standing:
    """lingers: its result is there, and so are processes of it. ended: nothing of it writes any more, or may.
    never: it never began, and never will: it is handed over again. refused: the cluster will not have it.
    reason: why it waits; why: what Slurm says of its end."""

    kind: Kind
    reason: Reason | None = None
    why: str = ""


class Unit:
    """One attempt at a run, or at one shard of it. Use it in one thread."""

    def __init__(self, run: RunDir, job: Job, clerk: Clerk, grace_sec: float) -> None:
        self.run = run
        self.attempt = Attempt.of(run.own, job.attempt)
        self.comment = comment_of(job)
        self._clerk = clerk
        self._grace_sec = grace_sec
        self._over_since: float | None = None
        self._done_since: float | None = None
        self._moved_at = time.monotonic()
        self._last_move = 0
        self._asked_at: float | None = None
        self._hurried = self._forced = False
        self._told = ""
        clerk.watch(self.comment)

    def stand(self, *, ending: bool) -> Standing:
        """How it stands now. ``ending``: it is to end, so that it is not begun any more. Raises OSError."""
        standing = self._stand(ending)
        self._told = standing.reason.text if standing.reason else standing.why
        return standing

    def _stand(self, ending: bool) -> Standing:
        if is_listed(self.run.own, "_DONE") and self.run.is_done():
            return self._done()
        if refused := self._clerk.refused(self.comment):
            return Standing("refused", why=refused)
        if is_listed(self.attempt.path, "exit.json"):
            return Standing("ended", why=self._slurms_end())
        job = self._clerk.look(self.comment)
        if job is not None and not is_over(job.state):
            self._over_since = None
            waits = job.state in WAITS and self._claim() != "shim"  # it may have begun since the last look
            return Standing("waits", reason_of(job)) if waits else Standing("runs")
        claim = self._claim()
        if claim == "void":
            lost = job is None or job.state in BOX_FAILED
            return Standing("never" if lost and not ending else "ended", why=self._slurms_end())
        begun = claim == "shim"
        if job is None and not self._clerk.is_seen(self.comment):
            return self._unseen(begun, ending)
        return self._over(begun, ending)

    def _done(self) -> Standing:
        job = self._clerk.look(self.comment)
        if job is None or is_over(job.state) or is_listed(self.attempt.path, "exit.json"):
            return Standing("ended")
        now = time.monotonic()
        self._done_since = now if self._done_since is None else self._done_since
        return Standing("runs" if now - self._done_since < self._grace_sec else "lingers")

    @property
    def told(self) -> str:
        """What there was to say of it when it was last looked at."""
        return self._told

    def is_begun(self) -> bool:
        """Whether a shim has it. Raises OSError."""
        return self._claim() == "shim"

    def end(self, grace_sec: float, own_grace_sec: float) -> None:
        """Ask it to end. Its shim kills what is left ``own_grace_sec`` later, or when it is asked again,
        which is done after ``grace_sec`` where that is less. One that is there still is left to Slurm."""
        now = time.monotonic()
        if self._asked_at is None:
            self._asked_at = now
            self._clerk.cancel(self.comment)
            return
        asked_for = now - self._asked_at
        if asked_for >= grace_sec and grace_sec < own_grace_sec and not self._hurried:
            self._hurried = True
            self._clerk.cancel(self.comment)
        elif asked_for >= min(grace_sec, own_grace_sec) + FORCE_SEC and not self._forced:
            self._forced = True
            self._clerk.cancel(self.comment, by_force=True)

    def _unseen(self, begun: bool, ending: bool) -> Standing:
        if begun:
            return Standing("runs", why=self._clerk.problem)
        if ending and self.attempt.void():
            return Standing("ended")
        if later := self._clerk.put_off(self.comment):
            return Standing("waits", Reason("cluster_queue", f"the cluster does not take it yet: {later}"))
        told = self._clerk.problem or "it is being handed to the cluster"
        return Standing("waits", Reason("cluster_silent" if self._clerk.problem else "cluster_queue", told))

    def _over(self, begun: bool, ending: bool) -> Standing:
        """Slurm says that it has ended, or does not know it (any more)."""
        now = time.monotonic()
        job = self._clerk.look(self.comment)
        if self._clerk.problem and job is None:
            return Standing("runs") if begun else self._unseen(begun, ending)
        self._over_since = now if self._over_since is None else self._over_since
        over = job is not None
        if not begun and (over or ending or self._is_due(now)) and self.attempt.void():
            if ending or (job is not None and job.state not in BOX_FAILED):
                return Standing("ended", why=self._slurms_end())
            return Standing("never", why=self._slurms_end())
        moves = self._moves(now)
        if not self._is_due(now) or (not over and moves):
            left = max(0.0, self._over_since + self._grace_sec - now)
            return Standing(
                "runs", why=f"{self._slurms_end()}; its files are waited for {duration(left)} more"
            )
        return Standing("ended", why=self._slurms_end())

    def _is_due(self, now: float) -> bool:
        return self._over_since is not None and now - self._over_since >= self._grace_sec

    def _moves(self, now: float) -> bool:
        """Whether its files were written lately, by our clock: those of hosts differ."""
        try:
            written = self.run.progress.stat().st_mtime_ns
        except OSError:
            written = 0
        if written != self._last_move:
            self._last_move, self._moved_at = written, now
        return now - self._moved_at < self._grace_sec

    def _claim(self) -> Literal["", "shim", "void"]:
        if not is_listed(self.attempt.path, "shim.json"):
            return ""
        claim = self.attempt.read_shim()
        return "" if claim is None else "void" if claim.void else "shim"

    def _slurms_end(self) -> str:
        job = self._clerk.look(self.comment)
        if job is not None and not is_over(job.state):
            return ""
        if job is None:
            return f"Slurm knows nothing of its job {self._clerk.number(self.comment)}".rstrip()
        return end_of(job)


def comment_of(job: Job) -> str:
    """By which its job is known."""
    return comment_with(mark_of(job))


def comment_with(mark: str) -> str:
    """The same of anything with a mark; the token in it is not given away."""
    return f"evaltower:{blake2b(mark.encode(), digest_size=12).hexdigest()}"


def is_listed(folder: Path, name: str) -> bool:
    """Listed, since a shared file system remembers for a while that a file was not there."""
    try:
        return name in os.listdir(folder)
    except FileNotFoundError:
        return False
