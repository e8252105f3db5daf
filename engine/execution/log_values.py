"""Values as the log holds them: strict JSON, with images, arrays and long texts by reference or summary."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
import numpy

from engine.execution.assets import Assets
from engine.execution.canonical import UNENCODABLE, plain, simplified, type_name

TEXT_LIMIT = 64 * 1024
"""Bytes of UTF-8 beyond which a text is an asset."""
IMAGE_SIDE = 16
"""Pixels that a side has at least, of an image on a port not typed IMAGE: MiniGrid's 7×7×3 is none."""
FEW = 8
"""Elements of an array that the log holds one by one, as of an action."""

Array = numpy.ndarray[Any, Any]


class LogValues:
    """Encodes the values of one episode's log. ``array_digest``: as in canonical.py."""

    def __init__(self, assets: Assets, array_digest: Callable[[Array], bytes], keep_arrays: bool) -> None:
        self._assets = assets
        self._array_digest = array_digest
        self._keep_arrays = keep_arrays
        self._encoder = msgspec.json.Encoder(enc_hook=self._reduce)
        self._known: dict[tuple[bytes, bool], dict[str, Any]] = {}
        self._name = ""
        self._image_port = False

    def encode(self, value: Any, name: str = "value", wire_type: str = "ANY") -> bytes:
        """JSON of a value; ``name`` is that of the assets that it needs. Never raises but for the disk."""
        self._name = name
        self._image_port = wire_type in ("IMAGE", "LIST[IMAGE]")
        try:
            encoded = self._encoder.encode(value)
        except UNENCODABLE:
            value = plain(value)
            encoded = self._encoder.encode(value)
        if len(encoded) > TEXT_LIMIT:
            encoded = self._encoder.encode(self._without_long_texts(plain(value)))
        return encoded

    def _reduce(self, value: Any) -> Any:
        if isinstance(value, numpy.ndarray):
            return self._array(value)
        if isinstance(value, msgspec.msgpack.Ext):  # an int beyond 64 bits
            return bytes(value.data).decode()
        simple = simplified(value)
        return {"$object": type_name(value)} if simple is value else simple

    def _array(self, array: Array) -> dict[str, Any]:
        content, is_image = self._array_digest(array), _is_image(array, self._image_port)
        reference = self._known.get((content, is_image))
        if reference is None:
            reference = self._known[content, is_image] = self._reference(array, content, is_image)
        return reference

    def _reference(self, array: Array, content: bytes, is_image: bool) -> dict[str, Any]:
        facts = {"shape": list(array.shape), "dtype": array.dtype.name}
        if is_image:
            return {"$asset": self._assets.image(content, self._name, array), **facts}
        if self._keep_arrays and not array.dtype.hasobject:
            return {"$asset": self._assets.array(content, self._name, array), **facts}
        return {"$array": {**facts, **_summary(array)}}

    def _without_long_texts(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > TEXT_LIMIT // 4:
            content = value.encode()
            if len(content) <= TEXT_LIMIT:
                return value
            digest = blake2b(content, digest_size=16).digest()
            return {"$asset": self._assets.text(digest, self._name, value), "chars": len(value)}
        if isinstance(value, bytes | bytearray | memoryview) and len(value) > TEXT_LIMIT:
            return {"$bytes": len(value)}
        if isinstance(value, dict):
            return {key: self._without_long_texts(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._without_long_texts(item) for item in value]
        return value


def _is_image(array: Array, image_port: bool) -> bool:
    if array.dtype != numpy.uint8 or array.size == 0:
        return False
    if image_port:
        return array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4))
    return array.ndim == 3 and array.shape[2] == 3 and min(array.shape[:2]) >= IMAGE_SIDE


def _summary(array: Array) -> dict[str, Any]:
    """``min``, ``max`` and ``mean`` of the finite elements, None where there are none, or no numbers; of an
    array of few numbers its ``values``, too."""
    if array.dtype.kind in "biuf" and 0 < array.size <= FEW:
        return {**_bounds(array), "values": _plain(array)}
    return _bounds(array)


def _plain(array: Array) -> Any:
    """What JSON has of it: of a ``longdouble``, ``tolist`` would make no floats."""
    return (array.astype(numpy.float64) if array.dtype.kind == "f" else array).tolist()


def _bounds(array: Array) -> dict[str, float | None]:
    if array.dtype.kind not in "biuf" or array.size == 0:
        return {"min": None, "max": None, "mean": None}
    finite = array if array.dtype.kind != "f" else array[numpy.isfinite(array)]
    if finite.size == 0:
        return {"min": None, "max": None, "mean": None}
    return {
        "min": float(finite.min()),
        "max": float(finite.max()),
        "mean": float(finite.mean(dtype=numpy.float64)),
    }
