"""AgentCanvas's MessagePack values: an array, tensor or picture is one extension value, a "blob".

Its data: a tag, the length of what follows as uint32 (big endian), a MessagePack map ``{dtype, shape}``, the
items in C order. Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

import struct

import msgspec
import numpy as np

EXTENSION = 1
_ARRAY, _TENSOR, _PICTURE = range(3)
_HEAD = struct.Struct(">BI")


def is_blob(data: memoryview) -> bool:
    """Tells it from our own arrays, which are of the same extension type, and begin with a length above 2."""
    return data[0] in (_ARRAY, _TENSOR, _PICTURE)


def read(data: memoryview) -> np.ndarray:
    """The array in a blob; a tensor or a picture comes as one too."""
    _, length = _HEAD.unpack_from(data)
    start = _HEAD.size + length
    meta = msgspec.msgpack.decode(data[_HEAD.size : start])
    dtype = np.dtype(meta["dtype"])
    if dtype.hasobject:
        raise ValueError("an array of Python objects cannot be received")
    return np.frombuffer(data[start:], dtype).reshape(meta["shape"])


def write(array: np.ndarray) -> msgspec.msgpack.Ext:
    """The array as a blob."""
    meta = msgspec.msgpack.encode({"dtype": str(array.dtype), "shape": list(array.shape)})
    return msgspec.msgpack.Ext(EXTENSION, _HEAD.pack(_ARRAY, len(meta)) + meta + array.tobytes())
