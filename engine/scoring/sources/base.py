"""What a trace source is, whatever the platform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from engine.scoring.spans import Event


class CollectError(Exception):
    """A trace could not be fetched. ``status``: of the HTTP answer, None where there was none."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Whether the platform answers. ``auth``: it does, and does not let us in."""

    outcome: Literal["reachable", "auth", "unreachable", "error"]
    detail: str = ""


class TraceSource(Protocol):
    """Where the traces of a run's episodes are."""

    async def fetch(self, run_id: str) -> list[Event]:
        """The trace events of a correlation id, in order of time; none where there is no trace yet.

        Raises CollectError where that cannot be told.
        """
        ...

    async def probe(self) -> ProbeResult:
        """Ask the least there is to ask. Raises nothing, and takes 10 s at most."""
        ...
