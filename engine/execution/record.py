"""The seam between the executor and whatever keeps a record of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.graph.plan import PlannedNode


@dataclass(slots=True)
class Firing:
    """One firing as it happened; times in milliseconds, ``started`` in seconds since the epoch.

    ``parent_node_id`` and ``dynamic_index``: of a dynamic child.
    """

    planned: PlannedNode
    execution_id: str
    step: int
    started: float
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    error: str | None = None
    inner_log: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    duration_ms: float = 0.0
    queue_wait_ms: float = 0.0
    compute_ms: float = 0.0
    transport_ms: float = 0.0
    transfer_bytes: int = 0
    parent_node_id: str | None = None
    dynamic_index: int | None = None


class FiringSink(Protocol):
    """Keeps the record of one episode. Every method raises OSError where the disk fails it."""

    def firing(self, firing: Firing) -> None:
        """Take note of a firing; in the order in which they happen."""

    def checkpoint(self, step: int, containers: Mapping[str, Any]) -> None:
        """Take note of the containers as they are after this many root steps."""

    def boundary(self) -> None:
        """A step is over: what was noted becomes readable."""
