"""One episode's files: log.jsonl, trace.jsonl, containers.jsonl and assets/ (contract run-dir.md)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import numpy

from engine.execution.append_file import AppendFile
from engine.execution.assets import FOLDER, Assets
from engine.execution.canonical import Canonical, array_digest
from engine.execution.log_values import LogValues
from engine.execution.record import Firing
from engine.graph.plan import PlannedNode

LOG, TRACE, CONTAINERS = "log.jsonl", "trace.jsonl", "containers.jsonl"


class _Line(msgspec.Struct):
    timestamp: str
    execution_id: str
    source: str
    step: int
    node_id: str
    node_type: str
    node_label: str
    duration_ms: float
    queue_wait_ms: float
    compute_ms: float
    transport_ms: float
    transfer_bytes: int
    inputs: dict[str, msgspec.Raw]
    outputs: dict[str, msgspec.Raw]
    output_digests: dict[str, str]
    inner_log: msgspec.Raw
    port_wire_types: msgspec.Raw
    error: str | None
    parent_node_id: str | None = None
    dynamic_index: int | None = None


class EpisodeLog:
    """Writes into the episode's folder, which exists; what an earlier attempt left of these files is removed.

    Lines become readable at each boundary, in one write. ``keep_arrays``: arrays are kept as npz instead of a
    summary. Any method may raise OSError; the lines that it could not write are tried again with the next.
    ``before``: called before each write, and what it raises is passed on. ``strike`` takes out of text what
    is not to be written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        keep_arrays: bool = False,
        before: Callable[[], object] | None = None,
        strike: Callable[[bytes], bytes] = bytes,
    ) -> None:
        for name in (LOG, TRACE, CONTAINERS):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        self._log = AppendFile(folder / LOG, before, strike)
        self._trace = AppendFile(folder / TRACE, before, strike)
        self._containers = AppendFile(folder / CONTAINERS, before, strike)
        self._assets = Assets(folder, before=before, strike=strike)
        self._digests = _ArrayDigests()
        self._canonical = Canonical(self._digests.of)
        self._values = LogValues(self._assets, self._digests.of, keep_arrays)
        self._wire_types: dict[tuple[str, str], tuple[dict[str, str], msgspec.Raw]] = {}
        self._encoder = msgspec.json.Encoder()
        self._trajectory = blake2b(digest_size=16)

    @property
    def trajectory_digest(self) -> str:
        """Over the firings so far, in order: step, node and canonical outputs."""
        return self._trajectory.hexdigest()

    def firing(self, firing: Firing) -> None:
        planned = firing.planned
        node = planned.node
        digests = {port: self._canonical.digest(value) for port, value in firing.outputs.items()}
        self._trajectory.update(self._canonical.encode((firing.step, node.id, digests)))
        types, encoded_types = self._types(planned)
        prefix = f"{firing.step}_{node.id}_"
        timestamp = datetime.fromtimestamp(firing.started, UTC).isoformat(timespec="microseconds")
        line = _Line(
            timestamp=timestamp,
            execution_id=firing.execution_id,
            source="eval",
            step=firing.step,
            node_id=node.id,
            node_type=node.type,
            node_label=node.label or node.id,
            duration_ms=round(firing.duration_ms, 3),
            queue_wait_ms=round(firing.queue_wait_ms, 3),
            compute_ms=round(firing.compute_ms, 3),
            transport_ms=round(firing.transport_ms, 3),
            transfer_bytes=firing.transfer_bytes,
            inputs=self._ports(firing.inputs, prefix, types),
            outputs=self._ports(firing.outputs, prefix, types),
            output_digests=digests,
            inner_log=msgspec.Raw(self._values.encode(firing.inner_log, prefix + "inner_log")),
            port_wire_types=encoded_types,
            error=firing.error,
            parent_node_id=firing.parent_node_id,
            dynamic_index=firing.dynamic_index,
        )
        self._log.line(self._encoder.encode(line))
        for event in firing.events:
            place = {"timestamp": timestamp, "step": firing.step, "node_id": node.id}
            self._trace.line(self._values.encode({**place, **event}, prefix + "event"))

    def checkpoint(self, step: int, containers: Mapping[str, Any]) -> None:
        line = {"step": step, "containers": dict(containers)}
        self._containers.line(self._values.encode(line, f"{step}_containers"))

    def boundary(self) -> None:
        self._digests.forget()
        self._assets.check()
        for file in (self._log, self._trace, self._containers):
            file.flush()

    def close(self) -> None:
        """Write what is left and wait for the disk: not to be called on an event loop's thread.

        Raises the first OSError, when everything that can be written is.
        """
        failures: list[OSError] = []
        for finish in (self._assets.wait, self._log.close, self._trace.close, self._containers.close):
            try:
                finish()
            except OSError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def _ports(
        self, values: Mapping[str, Any], prefix: str, types: Mapping[str, str]
    ) -> dict[str, msgspec.Raw]:
        return {
            port: msgspec.Raw(self._values.encode(value, prefix + port, types.get(port, "ANY")))
            for port, value in values.items()
        }

    def _types(self, planned: PlannedNode) -> tuple[dict[str, str], msgspec.Raw]:
        place = (planned.node.id, planned.node.type)
        known = self._wire_types.get(place)
        if known is None:
            types = {port.name: port.wire_type for port in (*planned.ports.inputs, *planned.ports.outputs)}
            known = self._wire_types[place] = (types, msgspec.Raw(self._encoder.encode(types)))
        return known


class _ArrayDigests:
    """Digests of arrays, remembered within a step for those that nobody can write to."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[numpy.ndarray[Any, Any], bytes]] = {}

    def of(self, array: numpy.ndarray[Any, Any]) -> bytes:
        known = self._known.get(id(array))
        if known is not None:
            return known[1]
        digest = array_digest(array)
        if not array.flags.writeable:
            self._known[id(array)] = array, digest  # held, so that the id is not given away
        return digest

    def forget(self) -> None:
        self._known.clear()
