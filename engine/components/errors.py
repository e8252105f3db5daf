"""What may go wrong while a node fires, by who is to blame. Runs under foreign interpreters (Python 3.8+)."""

from __future__ import annotations

import signal
from typing import Any, Literal


class StopExecution(Exception):
    """Raised by a node to end its run cleanly; the reason is recorded."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class WrongChoice(Exception):
    """Raised by a node that cannot play what was selected or configured: the episode ends as class
    ``config``.

    The message names the selector or the field of the config, and what it may be.
    """


class NodeRaised(Exception):
    """A node's ``forward`` raised. ``summary``: ``Type: message``; ``trace``: the traceback, maybe remote."""

    def __init__(self, summary: str, trace: str = "", inner_log: list[Any] | None = None) -> None:
        super().__init__(summary)
        self.summary = summary
        self.trace = trace
        self.inner_log = inner_log or []


class HostFailure(Exception):
    """A nodeset's process, or a model's server, failed, which is never the agent's fault: the episode ends as
    class ``infra``.

    ``termination`` is the episode's. ``detail`` holds what is known: exit code, signal, last lines of stderr,
    the call that was under way. ``cause``: how something else than that process ended, if that is why.
    ``outgrew``: it took more memory than there was, and would again.
    """

    termination: Literal["timeout", "env_crash", "exception"] = "env_crash"
    outgrew = False

    def __init__(
        self, message: str, nodeset: str = "", call: str = "", detail: str = "", cause: str = ""
    ) -> None:
        super().__init__(message)
        self.nodeset = nodeset
        self.call = call
        self.detail = detail
        self.cause = cause


class OutsideFailure(HostFailure):
    """What a nodeset relies on outside its process failed, as one of its nodes says: its process is fine.

    Of a process that it had started and that has ended, ``cause`` says how: see :func:`how_it_ended`.
    """

    termination: Literal["timeout", "env_crash", "exception"] = "exception"


class SimulatorFailed(HostFailure):
    """What a simulator raised while it set an episode up, and no choice of the operator's explains: its
    process is not used again."""


class HostTimeout(HostFailure):
    """A call outlived its deadline. The host is killed and never used again."""

    termination: Literal["timeout", "env_crash", "exception"] = "timeout"


class HostCrashed(HostFailure):
    """The process ended, or closed its connection, in the middle of a call."""


class HostUnreached(HostCrashed):
    """There is no process to connect to, so that it was not sent anything."""


class HostBadReply(HostFailure):
    """The process answered what its protocol does not allow."""


class HostStartFailed(HostFailure):
    """The process did not come up: its interpreter, import, constructor or ``initialize`` failed."""


def how_it_ended(code: int) -> str:
    """A child's return code in words: ``exit code 1``, ``signal SIGKILL (9)``."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"signal {name} ({-code})"
