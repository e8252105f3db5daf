"""One byte string for one value, whoever produced it: what the digests of the log are made of.

MessagePack with sorted keys. A numpy scalar is its Python number, a tuple a list; an array enters by dtype,
shape and a digest of its little-endian, row-major bytes; a lone surrogate is U+FFFD, as on the wire. Any
other object enters by the name of its type alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
import numpy

ARRAY, OBJECT, BIG_INT = 1, 2, 3
"""MessagePack extension codes."""

UNENCODABLE = (TypeError, UnicodeEncodeError, OverflowError, RecursionError)
"""What msgspec raises for a value that :func:`plain` has to prepare."""

_DEEPEST = 100
_SURROGATE = re.compile("[\ud800-\udfff]")


def array_digest(array: numpy.ndarray[Any, Any]) -> bytes:
    """BLAKE2b-128 of an array's dtype, shape and content."""
    if array.dtype.hasobject:
        return blake2b(Canonical().encode(array.tolist()), digest_size=16).digest()
    little = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    digest = blake2b(f"{little.dtype.str}{array.shape}".encode(), digest_size=16)
    try:
        digest.update(little.data)
    except ValueError:  # dates and times export no buffer
        digest.update(little.tobytes())
    return digest.digest()


class Canonical:
    """Encodes values. ``array_digest`` may be a remembering version of :func:`array_digest`."""

    def __init__(self, array_digest: Callable[[numpy.ndarray[Any, Any]], bytes] = array_digest) -> None:
        self._array_digest = array_digest
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._reduce, order="deterministic")

    def encode(self, value: Any) -> bytes:
        """The canonical bytes; never raises."""
        try:
            return self._encoder.encode(value)
        except UNENCODABLE:
            return self._encoder.encode(plain(value))

    def digest(self, value: Any) -> str:
        """BLAKE2b-128 of the canonical bytes, in hex."""
        return blake2b(self.encode(value), digest_size=16).hexdigest()

    def _reduce(self, value: Any) -> Any:
        if isinstance(value, numpy.ndarray):
            return msgspec.msgpack.Ext(ARRAY, self._array_digest(value))
        simple = simplified(value)
        if simple is value:
            return msgspec.msgpack.Ext(OBJECT, type_name(value).encode())
        return simple


def simplified(value: Any) -> Any:
    """A numpy scalar, or a subclass of a plain type, as the plain value; anything else as it is."""
    if isinstance(value, numpy.generic):
        item = value.item()
        return str(value) if isinstance(item, numpy.generic) else item
    for plain_type in (str, int, float):
        if isinstance(value, plain_type):
            return plain_type(value)
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value


def type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def plain(value: Any, above: tuple[int, ...] = ()) -> Any:
    """The same value made of what MessagePack and JSON both hold; arrays and other objects stay as they are.

    Keys become text, lone surrogates U+FFFD, an int beyond 64 bits an extension; what is nested within
    itself, or deeper than 100 levels, is cut off. ``above``: the ids of the collections that hold it.
    """
    if len(above) > _DEEPEST or id(value) in above:
        return "(nested too deep)"
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        fits = -(1 << 63) <= value < 1 << 64
        return int(value) if fits else msgspec.msgpack.Ext(BIG_INT, str(int(value)).encode())
    above = (*above, id(value))
    if isinstance(value, dict):
        return {plain(str(key)): plain(item, above) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, above) for item in value]
    if isinstance(value, set | frozenset):
        return [plain(item, above) for item in sorted(value, key=repr)]
    return value
