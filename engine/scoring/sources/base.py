"""What a trace source is, whatever the platform."""

from __future__ import annotations

from typing import Protocol

from engine.scoring.spans import Event


class TraceSource(Protocol):
    """Where the traces of a run's episodes are."""

    async def fetch(self, run_id: str) -> list[Event]:
        """The trace events of a correlation id, in order of time; none where there is no trace yet.

        Raises CollectError where that cannot be told.
        """
        ...
