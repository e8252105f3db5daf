"""Whoever starts and ends processes for the scheduler. Nothing here waits: a later poll tells."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, Protocol

import msgspec

from engine.scheduling.jobs import QueuedJob
from engine.scheduling.reasons import Reason
from engine.scheduling.starts import Seated, Start


class LaunchError(Exception):
    """Something could not be started, for a reason of the box. The message says which."""


class NotNowError(LaunchError):
    """What was to be used is not there any more, which is no failure: decide again."""


class RunEnd(msgspec.Struct, frozen=True):
    """How a run ended, its whole process tree. ``infra``: the box failed it, and it may be tried again.
    teaches: each of its workers had an episode that did not fail, so that what it took is what such a run
    takes."""

    outcome: Literal["completed", "failed", "cancelled", "infra"]
    message: str = ""
    teaches: bool = True


class RunState(msgspec.Struct, frozen=True):
    """A run that was started. pid: of the process above all of its, while there is one on this machine.
    working: an episode has begun to step. waits: why it has not begun, on a cluster that has it.
    """

    pid: int
    working: bool = False
    end: RunEnd | None = None
    waits: Reason | None = None


class ServerState(msgspec.Struct, frozen=True):
    """A shared server that was started. url: where, once it is ready. ended: its process tree is gone; why,
    in words. killed: from outside, so that it may be started again; else it would end again. leased: those of
    other roots use it.
    """

    pid: int
    ready: bool = False
    url: str = ""
    ended: str | None = None
    killed: bool = False
    leased: bool = False


class Poll(msgspec.Struct, frozen=True):
    """How those stand that were asked for. One that is not in it was never started, or is lost."""

    runs: Mapping[str, RunState]
    servers: Mapping[str, ServerState]


class Launcher(Protocol):
    """Runs by their id, servers by their key. Starting raises LaunchError."""

    def start_run(self, job: QueuedJob, start: Start) -> None:
        """Start a run whose servers are all ready, with the cards of ``start``."""

    def stop_run(self, run_id: str, why: str, grace_sec: float | None = None) -> None:
        """Let a run end: politely, then, ``grace_sec`` later (None: as configured), by force.

        ``why``: ``cancelled``, or the reason for which it ends as ``error``. Again is no error; a shorter
        grace counts.
        """

    def end_unstarted(self, run_id: str, status: Literal["cancelled", "error"], why: str) -> None:
        """Write down that a run ended that never had a process. Again is no error. Raises OSError."""

    def start_server(self, server: Seated) -> None:
        """Start a shared server on its cards; one that was killed comes back at its address."""

    def stop_server(self, key: str) -> None:
        """Unload a shared server. Again is no error."""

    def poll(self, runs: Collection[str], servers: Collection[str]) -> Poll:
        """How these stand. The end of one is told each time that it is asked for."""
