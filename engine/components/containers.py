"""Containers: the memory of an episode. Declared states, each with a reducer and a lifetime.

A definition is anything with ``id`` and ``states``: a graph's container, a nodeset's ``ContainerDef``, or a
plain mapping. Values are held by reference: what was read is written back, not changed in place.
Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

from copy import deepcopy
from numbers import Number
from typing import Any, Callable, Dict, Iterable, Mapping

from engine.components.context import ContainerAccess

Write = Dict[str, Any]  # {op: "write", container, state, value, key} or {op: "evict", container, key}

_LIFETIMES: dict[str, frozenset[str]] = {
    "forever": frozenset(),
    "step": frozenset({"step_end"}),
    "episode": frozenset({"episode_reset"}),
    "run": frozenset({"run_end"}),
}


class _State:
    """``lastWrite``, and what the other reducers share. A partition never written reads ``initial``."""

    default: Any = None

    def __init__(self, where: str, definition: Any) -> None:
        self.where = where
        self.type = str(_get(definition, "type", "lastWrite"))
        self.config: Mapping[str, Any] = _get(definition, "config", None) or {}
        self.resets = _resets(where, definition)
        initial = self.config.get("initial_value")
        self.initial = self.checked(self.default if initial is None else initial)
        self.values: dict[str | None, Any] = {}

    def checked(self, initial: Any) -> Any:
        """The initial value, or ValueError."""
        return initial

    def reduce(self, current: Any, value: Any) -> Any:
        return value

    def read(self, key: str | None) -> Any:
        return self.values[key] if key in self.values else deepcopy(self.initial)

    def write(self, value: Any, key: str | None) -> None:
        current = self.values[key] if key in self.values else deepcopy(self.initial)
        self.values[key] = self.reduce(current, value)


class _Accumulator(_State):
    """Appends; beyond ``config.max_size`` the oldest go."""

    default = ()

    def __init__(self, where: str, definition: Any) -> None:
        super().__init__(where, definition)
        self.max_size = self.config.get("max_size")
        if self.max_size is not None and (type(self.max_size) is not int or self.max_size < 1):
            raise ValueError(f"{where}: max_size must be a positive integer, not {self.max_size!r}")

    def checked(self, initial: Any) -> Any:
        if not isinstance(initial, (list, tuple)):
            raise ValueError(f"{self.where}: an accumulator's initial_value must be a list, not {initial!r}")
        return list(initial)

    def reduce(self, current: Any, value: Any) -> Any:
        current.append(value)
        if self.max_size is not None:
            del current[: -self.max_size]
        return current

    def read(self, key: str | None) -> Any:
        return list(super().read(key))  # a reader's list does not grow behind its back


class _Counter(_State):
    """Adds numbers."""

    default = 0

    def checked(self, initial: Any) -> Any:
        if not isinstance(initial, Number):
            raise ValueError(f"{self.where}: a counter's initial_value must be a number, not {initial!r}")
        return initial

    def reduce(self, current: Any, value: Any) -> Any:
        if not isinstance(value, Number):
            raise TypeError(f"{self.where}: a counter adds numbers, not {type(value).__name__}")
        return current + value


_REDUCERS: dict[str, type[_State]] = {"lastWrite": _State, "accumulator": _Accumulator, "counter": _Counter}


class Container:
    """A container's states by name; what a node gets as ``ctx.containers[name]``.

    ``name`` is the id, unless the container came out of a composite: there it is what its nodes know it by.
    """

    def __init__(self, container_id: str, states: Mapping[str, Any], name: str = "") -> None:
        self.id = container_id
        self.name = name or container_id
        self.states: dict[str, _State] = {}
        for state, definition in states.items():
            where = f"container {container_id!r}, state {state!r}"
            reducer = _known(where, "type", _REDUCERS, _get(definition, "type", "lastWrite"))
            self.states[state] = reducer(where, definition)

    def read(self, name: str, key: str | None = None) -> Any:
        return self._state(name).read(key)

    def write(self, name: str, value: Any, key: str | None = None) -> None:
        self._state(name).write(value, key)

    def evict(self, key: str) -> None:
        for state in self.states.values():
            state.values.pop(key, None)

    def current(self) -> dict[str, Any]:
        """``{values: {state: value}, keyed: {state: {key: value}}}``; ``keyed`` only with partitions."""
        found: dict[str, Any] = {"values": {name: state.read(None) for name, state in self.states.items()}}
        keyed = {
            name: {key: state.read(key) for key in state.values if key is not None}
            for name, state in self.states.items()
        }
        partitions = {name: values for name, values in keyed.items() if values}
        if partitions:
            found["keyed"] = partitions
        return found

    def exported(self) -> dict[str, Any]:
        """:meth:`current` with what :meth:`restored` needs to go on reducing elsewhere."""
        states = {name: {"type": s.type, "config": dict(s.config)} for name, s in self.states.items()}
        return dict(self.current(), states=states, id=self.id)

    @classmethod
    def restored(cls, exported: Mapping[str, Any]) -> Container:
        container = cls(exported["id"], exported["states"])
        for name, value in exported["values"].items():
            container._state(name).values[None] = value
        for name, partitions in exported.get("keyed", {}).items():
            container._state(name).values.update(partitions)
        return container

    def _state(self, name: str) -> _State:
        if name not in self.states:
            raise KeyError(f"container {self.id!r} declares no state {name!r}; it has {_names(self.states)}")
        return self.states[name]


class Granted(Dict[str, ContainerAccess]):
    """``ctx.containers``: KeyError names what the node may use."""

    def __missing__(self, container_id: str) -> ContainerAccess:
        raise KeyError(f"container {container_id!r} is not granted to this node; granted: {_names(self)}")


class ContainerStore:
    """The containers of one episode. ``signals``: the names of all signals so far.

    Raises ValueError where a definition is wrong: naming the container, the state and the field.
    """

    def __init__(self, definitions: Iterable[Any]) -> None:
        self.signals: list[str] = []
        self._containers: dict[str, Container] = {}
        for definition in definitions:
            container_id = _get(definition, "id", "")
            if container_id in self._containers:
                raise ValueError(f"container {container_id!r} is declared twice")
            states, name = _get(definition, "states", {}), _get(definition, "name", "")
            self._containers[container_id] = Container(container_id, states, name)

    def access(self, container_id: str) -> Container:
        """A container; KeyError names the declared ones."""
        if container_id not in self._containers:
            raise KeyError(f"no container {container_id!r}; declared: {_names(self._containers)}")
        return self._containers[container_id]

    def granted(self, ids: Iterable[str]) -> Granted:
        """The containers of these ids, as a node sees them: by name."""
        return Granted((container.name, container) for container in map(self.access, ids))

    def signal(self, name: str) -> None:
        """Reset, in every partition, the states whose lifetime ends with this signal."""
        self.signals.append(name)
        for container in self._containers.values():
            for state in container.states.values():
                if name in state.resets:
                    state.values.clear()

    def evict(self, key: str) -> None:
        """Drop a partition everywhere."""
        for container in self._containers.values():
            container.evict(key)

    def snapshot(self) -> dict[str, Any]:
        """Current values by container, for a checkpoint: :meth:`Container.current`."""
        return {container_id: container.current() for container_id, container in self._containers.items()}

    def export(self, ids: Iterable[str]) -> dict[str, Any]:
        """What :class:`RecordingContainers` starts from, by name; goes over the wire."""
        return {container.name: container.exported() for container in map(self.access, ids)}

    def apply(self, writes: Iterable[Mapping[str, Any]]) -> None:
        """Do in order what a :class:`RecordingContainers` recorded. ValueError for an unknown operation."""
        for write in writes:
            container = self.access(write["container"])
            if write["op"] == "write":
                container.write(write["state"], write["value"], write.get("key"))
            elif write["op"] == "evict":
                container.evict(write["key"])
            else:
                raise ValueError(f"container {container.id!r}: unknown operation {write['op']!r}")


class RecordingContainers(Granted):
    """``ctx.containers`` in another process: reads see this firing's own writes; ``writes`` is sent back."""

    def __init__(self, exported: Mapping[str, Any]) -> None:
        self.writes: list[Write] = []
        super().__init__(
            (name, _Recording(Container.restored(state), self.writes.append))
            for name, state in exported.items()
        )


class _Recording:
    def __init__(self, container: Container, record: Callable[[Write], None]) -> None:
        self._container = container
        self._record = record

    def read(self, name: str, key: str | None = None) -> Any:
        return self._container.read(name, key)

    def write(self, name: str, value: Any, key: str | None = None) -> None:
        self._container.write(name, value, key)
        self._record(
            {"op": "write", "container": self._container.id, "state": name, "value": value, "key": key}
        )

    def evict(self, key: str) -> None:
        self._container.evict(key)
        self._record({"op": "evict", "container": self._container.id, "key": key})


def _resets(where: str, definition: Any) -> frozenset[str]:
    signals = dict(_LIFETIMES, custom=frozenset(_get(definition, "reset_on", ())))
    found: frozenset[str] = _known(where, "lifetime", signals, _get(definition, "lifetime", "forever"))
    return found


def _known(where: str, field: str, choices: Mapping[str, Any], value: Any) -> Any:
    if value not in choices:
        raise ValueError(f"{where}: {field} must be one of {_names(choices)}, not {value!r}")
    return choices[value]


def _get(definition: Any, name: str, default: Any) -> Any:
    """A field of a mapping or of an object."""
    if isinstance(definition, Mapping):
        return definition.get(name, default)
    return getattr(definition, name, default)


def _names(known: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in known) or "none"
