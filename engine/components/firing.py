"""The seam between the executor and whatever fires a node: built-in code here, or a proxy to a host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.components.containers import ContainerStore
from engine.components.firelist import FireList


@dataclass(slots=True)
class FiringRequest:
    """One firing, as the executor asks for it. ``key``: seeds.firing_key of this firing.

    ``parent_node_id``: of a dynamic child, which fires once, the node that had it fired.
    """

    node_id: str
    node_type: str
    config: Mapping[str, Any]
    inputs: dict[str, Any]
    step: int
    execution_id: str
    key: int
    episode: Mapping[str, Any]
    containers: ContainerStore
    granted: tuple[str, ...]
    parent_node_id: str | None = None


@dataclass(slots=True)
class FiringResult:
    """What came of it; times in milliseconds, sizes in bytes.

    Container writes and signals were already applied to ``FiringRequest.containers`` when this returns.
    ``spawned``: where the node returned a FireList in place of outputs.
    """

    outputs: dict[str, Any]
    inner_log: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    queue_wait_ms: float = 0.0
    compute_ms: float = 0.0
    transport_ms: float = 0.0
    transfer_bytes: int = 0
    spawned: Spawned | None = None


@dataclass(slots=True)
class Spawned:
    """Children to fire. ``aggregate`` asks the node, where it is, for its outputs from their results."""

    children: FireList
    aggregate: Callable[[list[dict[str, Any]]], Awaitable[FiringResult]]


class NodeHandler(Protocol):
    """Fires the nodes of one type (or of one nodeset).

    Raises StopExecution, HostFailure, NodeRaised (remote), or whatever a local ``forward`` raises.
    """

    async def fire(self, request: FiringRequest) -> FiringResult: ...
