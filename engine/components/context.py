"""What a node sees beside its inputs: granted containers, its generator, the step. Python 3.8+."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Protocol

if TYPE_CHECKING:
    import numpy


class ContainerAccess(Protocol):
    """A container that the node was granted."""

    def read(self, name: str, key: str | None = None) -> Any:
        """A state's value; KeyError names the declared states."""

    def write(self, name: str, value: Any, key: str | None = None) -> None:
        """Reduce ``value`` into a state; KeyError names the declared states."""

    def evict(self, key: str) -> None:
        """Drop a partition."""


_OWN = frozenset(
    {"containers", "step", "execution_id", "key", "episode", "signals", "events", "_rng", "_kept"}
)


class NodeContext:
    """Given to ``forward``. One object a firing.

    Any other public attribute is the node's own to set: it is still there at its next firing in the episode
    where the framework passes the same ``kept``, and None where it was never set.
    """

    def __init__(
        self,
        containers: Mapping[str, ContainerAccess],
        step: int,
        execution_id: str,
        key: int,
        episode: Mapping[str, Any] | None = None,
        kept: dict[str, Any] | None = None,
    ) -> None:
        self.containers = containers
        self.step = step
        self.execution_id = execution_id
        self.key = key
        self.episode: Mapping[str, Any] = episode or {}
        self.signals: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self._rng: Any = None
        self._kept = {} if kept is None else kept

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"a node's context has no attribute {name!r}")
        return self._kept.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            self._kept[name] = value

    @property
    def rng(self) -> numpy.random.Generator:
        """numpy Generator seeded by (run seed, episode, node id, firing): no two firings share a stream."""
        if self._rng is None:
            import numpy

            self._rng = numpy.random.Generator(numpy.random.PCG64(self.key))
        return self._rng  # type: ignore[no-any-return]

    @property
    def graph_state(self) -> ContainerAccess | None:
        """The container ``graph_state``, where the node was granted it."""
        return self.containers.get("graph_state")

    def emit(self, signal: str, payload: Any = None) -> None:
        """Send a signal: containers whose lifetime is ``custom`` reset on the ones they name.

        TypeError where it is no name.
        """
        if not isinstance(signal, str):
            raise TypeError(f"a signal is named by text, not by {signal!r}")
        self.signals.append({"signal": signal, "payload": payload})

    def trace(self, kind: str, **fields: Any) -> None:
        """Add a trace event (contract scoring.md) to the episode's ``trace.jsonl``."""
        self.events.append(dict(fields, kind=kind))
