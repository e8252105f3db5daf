"""The exact bits of a tool's outputs, so that two of them can be compared. Python 3.8+."""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import Any, Iterator, NamedTuple

import numpy as np

from engine.hosting.forward import BadOutput


class Prints(NamedTuple):
    """One row's outputs: a digest of each port's bits, how many elements, and its floats' sizes in bytes."""

    ports: dict[str, bytes]
    elements: int
    precisions: frozenset[int]

    @property
    def coarse(self) -> bool:
        """Whether a change in the last bits of what was computed would mostly not be seen."""
        return min(self.precisions, default=0) <= 2

    @property
    def key(self) -> bytes:
        """All of it in one."""
        return b"".join(
            name.encode("utf-8", "surrogatepass") + self.ports[name] for name in sorted(self.ports)
        )


def prints_of(output: dict[str, Any], tool: str) -> Prints:
    """The bits of one row's ``output``. BadOutput, naming ``tool``, where it holds what cannot be sent."""
    ports: dict[str, bytes] = {}
    elements, precisions = 0, set()
    for name, value in output.items():
        digest = blake2b(digest_size=16)
        for data, count, precision in _leaves(value, f"{tool}: output {name!r}"):
            digest.update(struct.pack("<q", len(data)) + data)
            elements += count
            precisions.update([precision] if precision else [])
        ports[str(name)] = digest.digest()
    return Prints(ports, elements, frozenset(precisions))


def _leaves(value: Any, path: str) -> Iterator[tuple[bytes, int, int]]:
    """(exact bytes, elements, bytes a float or 0) of each leaf of ``value``, and of what structures them."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        is_float = value.dtype.kind in "fc" or "float" in value.dtype.name
        data = f"{value.dtype.str}{value.shape}".encode() + value.tobytes()
        yield data, value.size, value.dtype.itemsize if is_float else 0
    elif isinstance(value, float):
        yield b"f" + struct.pack("<d", value), 1, 8
    elif isinstance(value, (str, int, bytes)) or value is None:
        yield (type(value).__name__ + repr(value)).encode("utf-8", "surrogatepass"), 1, 0
    elif isinstance(value, dict):
        yield b"{" + struct.pack("<q", len(value)), 0, 0
        for key in sorted(value, key=str):
            yield str(key).encode("utf-8", "surrogatepass"), 0, 0
            yield from _leaves(value[key], f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        yield b"[" + struct.pack("<q", len(value)), 0, 0
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        raise BadOutput(f"{path} is a {type(value).__name__}, which cannot be sent: convert it to numpy")
