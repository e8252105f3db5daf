"""All processes of one attempt, as whoever started it sees them: from its shim's start until none is left."""

from __future__ import annotations

import logging
import signal
import time
from pathlib import Path
from typing import Literal

from engine.scheduling.launchers.processes import Live, Processes, kill, marked
from engine.scheduling.launchers.spawning import Graces, Spawned
from engine.store.attempts import Attempt
from engine.store.process_identity import ProcessIdentity, is_alive, may_live_elsewhere, send_signal

log = logging.getLogger(__name__)

ASK_AGAIN_SEC = 5.0
"""A shim that has not begun to stop by then is asked again: it may have been busy with its own start."""

UNSEEN_SEC = 30.0
"""Given, beyond the graces, to a shim that cannot be seen from here to say how it ended."""

Standing = Literal["alive", "ended", "never"]


class Tree:
    """``look`` tells how it stands, ``ask_to_end`` ends it. Use it in one thread.

    A shim that is killed, by SIGKILL or for want of memory, takes its command with it and cannot end the
    rest. That is done here: what bears the attempt's mark in its environment is killed, and so is all that
    was seen below the shim when it was last looked at. What escapes is a process that cleared its environment
    and was started after that last look; or before, where no backend lived to look. What is below a host of
    ours is killed with that by its run's end, whatever its environment.
    """

    def __init__(self, attempt: Attempt, mark: str, graces: Graces, spawned: Spawned | None = None) -> None:
        """``spawned``: its shim, where it was started here; else it is found on disk."""
        self.attempt = attempt
        self.shim = spawned.identity if spawned else None
        self._mark = mark
        self._graces = graces
        self._spawned = spawned
        self._claimed = spawned is not None
        self._below: set[Live] = set()
        self._unseen_since: float | None = None
        self._asked_at: float | None = None
        self._at_once_at = float("inf")
        self._hurried = False

    @property
    def pid(self) -> int:
        """Of the shim; 0 where it is not known."""
        return self.shim.pid if self.shim else 0

    @property
    def is_ours(self) -> bool:
        """Whether it was started here."""
        return self._spawned is not None

    def look(self, processes: Processes) -> Standing:
        """``ended``: nothing is left of it. ``never``: it never began, and never will; where that was open,
        it is settled now. Raises OSError where nothing can be seen or settled.
        """
        if self._spawned:
            self._spawned.process.poll()
        if not self._claimed:
            claim = self.attempt.read_shim()
            if claim is None and self.attempt.void():
                return "never"
            claim = claim or self.attempt.read_shim()  # a shim was quicker
            if claim is None or claim.void:
                return "never"
            self._claimed, self.shim = True, claim.process
        if self.shim and is_alive(self.shim):
            self._below = processes.below([self.shim.pid])
            return "alive"
        if self.attempt.read_exit():
            return "ended"
        if self._spawned and self._is_unclaimed():
            return "never"
        if self.shim and self._may_go_on_unseen(self.shim):
            return "alive"
        return "alive" if self._kill_what_is_left(processes) else "ended"

    def ask_to_end(self, grace_sec: float | None = None) -> None:
        """Politely, and by force after the configured grace, or after ``grace_sec`` from the first time on,
        where that is less and it is asked again then. Raises OSError.
        """
        if self.shim is None:
            return
        now = time.monotonic()
        since = now if self._asked_at is None else self._asked_at
        if grace_sec is not None:
            self._at_once_at = min(self._at_once_at, since + grace_sec)
        if _is_stopping(self.shim):
            if now >= self._at_once_at and not self._hurried:
                self._hurried = send_signal(self.shim, signal.SIGTERM)
        elif self._asked_at is None or now - self._asked_at >= ASK_AGAIN_SEC:
            self._asked_at = now
            send_signal(self.shim, signal.SIGTERM)

    def _is_unclaimed(self) -> bool:
        claim = self.attempt.read_shim()
        return claim is None or claim.void

    def _may_go_on_unseen(self, shim: ProcessIdentity) -> bool:
        """One of another host or container says in exit.json how it ended. No backend lives that it follows,
        as we have the root, so that it ends within the graces, or was killed with its host."""
        if not may_live_elsewhere(shim):
            return False
        now = time.monotonic()
        self._unseen_since = now if self._unseen_since is None else self._unseen_since
        wait = self._graces.orphan_grace_sec + self._graces.grace_sec + UNSEEN_SEC
        return now - self._unseen_since < wait

    def _kill_what_is_left(self, processes: Processes) -> int:
        there = {live for children in processes.children.values() for live in children}
        left = (self._below & there) | set(marked(self._mark))
        left |= processes.below(live.pid for live in left)
        killed = kill(left)
        if killed:
            log.warning("the shim of %s was killed; %d processes below it are now", self.attempt.path, killed)
        return killed


def _is_stopping(shim: ProcessIdentity) -> bool:
    """Whether it was asked to end already, perhaps by a backend before us: the second time is less polite."""
    try:
        return is_alive(shim) and Path(f"/proc/{shim.pid}/comm").read_text() == "evt-stopping\n"
    except (FileNotFoundError, ProcessLookupError):
        return False
