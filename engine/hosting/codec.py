"""The wire format between a run and its hosts: MessagePack, a numpy array as one extension value.

Runs under foreign interpreters (Python 3.8+, msgspec 0.18+).

Tuples and sets arrive as lists, numpy scalars as Python's, a lone surrogate as U+FFFD. Arrays arrive
read-only: they are views of the message wherever their alignment allows it. AgentCanvas's own way of sending
arrays is read as well, and written where it is asked for.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import msgspec
import numpy as np

from engine.hosting import blobs

_ARRAY = (
    1  # extension type; its data: length of dtype.str, ndim, dtype.str, shape as int64s, items in C order
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN: tuple[type[Any], ...] = (str, bytes, int, float)  # their subclasses: numpy's scalars among others
_REFUSALS = (TypeError, ValueError, OverflowError, RecursionError)


def encode(obj: Any) -> bytes:
    """``obj`` as a message. TypeError names the place in it of what cannot be sent."""
    try:
        return _encoder.encode(obj)
    except _REFUSALS:
        return _encoder.encode(_sendable(obj, ""))


def encode_for_agentcanvas(obj: Any) -> bytes:
    """As :func:`encode`, with arrays as AgentCanvas sends them."""
    try:
        return _blob_encoder.encode(obj)
    except _REFUSALS:
        return _blob_encoder.encode(_sendable(obj, ""))


def decode(data: bytes) -> Any:
    """The object in a message. Raises one of ``NOT_A_MESSAGE`` for anything else."""
    return _decoder.decode(data)


def decode_writable(data: bytes) -> Any:
    """As :func:`decode`, with arrays of their own, which a node's author may change in place."""
    return _writable_decoder.decode(data)


def encode_json(obj: Any) -> bytes:
    """As :func:`encode`, for a person to read: arrays as nested lists, bytes in base64, NaN as null."""
    return msgspec.json.encode(decode(encode(obj)), enc_hook=np.ndarray.tolist)


NOT_A_MESSAGE = (msgspec.MsgspecError, TypeError, ValueError, RecursionError)


def ext_hook(code: int, data: memoryview) -> np.ndarray:
    """The array in an extension value; for decoders of a given type."""
    if code != _ARRAY:
        raise ValueError(f"unknown extension type {code}")
    try:
        return _aligned(blobs.read(data) if blobs.is_blob(data) else _read_array(data))
    except Exception as error:  # numpy and struct raise many kinds
        raise ValueError(f"a damaged array: {error}") from None


def _read_array(data: memoryview) -> np.ndarray:
    name_end = 2 + data[0]
    dtype = np.dtype(bytes(data[2:name_end]).decode("ascii"))
    if dtype.hasobject:
        raise ValueError("an array of Python objects cannot be received")
    shape = struct.unpack_from(f"<{data[1]}q", data, name_end)
    array: np.ndarray = np.ndarray(shape, dtype, data, name_end + 8 * len(shape))
    return array


def _aligned(array: np.ndarray) -> np.ndarray:
    if not array.flags.aligned:
        array = array.copy()
        array.flags.writeable = False
    return array


def _writable_ext_hook(code: int, data: memoryview) -> np.ndarray:
    return ext_hook(code, data).copy()


def _enc_hook(obj: Any) -> Any:
    if isinstance(obj, np.ndarray):
        return _array(_sendable_array(obj))
    return _plain(obj)


def _blob_enc_hook(obj: Any) -> Any:
    if isinstance(obj, np.ndarray):
        return blobs.write(_sendable_array(obj))
    return _plain(obj)


def _plain(obj: Any) -> Any:
    for plain in _PLAIN:
        if isinstance(obj, plain):
            return plain(obj)
    if isinstance(obj, np.floating):
        return float(obj)
    if isinstance(obj, np.generic):
        return obj.item()
    raise TypeError(f"a value of type {type(obj).__module__}.{type(obj).__qualname__} cannot be sent")


def _sendable_array(array: np.ndarray) -> np.ndarray:
    if array.dtype.hasobject or array.dtype.kind == "V":
        raise TypeError(f"an array of dtype {array.dtype} cannot be sent; send numbers, or a list")
    return array


def _array(array: np.ndarray) -> msgspec.msgpack.Ext:
    name = array.dtype.str.encode("ascii")
    head = struct.pack(f"<BB{len(name)}s{array.ndim}q", len(name), array.ndim, name, *array.shape)
    items = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return msgspec.msgpack.Ext(_ARRAY, b"".join((head, items.data)))


def _sendable(value: Any, path: str) -> Any:
    """``value`` with its text repaired; TypeError with the path of the first part that cannot be sent."""
    try:
        if isinstance(value, dict):
            return {_sendable(k, path): _sendable(v, f"{path}.{k}".lstrip(".")) for k, v in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [_sendable(item, f"{path}[{index}]") for index, item in enumerate(value)]
    except RecursionError:
        raise TypeError(f"{path[:80]}: nested too deeply, or inside itself") from None
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    try:
        _encoder.encode(value)
    except _REFUSALS as error:
        raise TypeError(f"{path or 'the value'}: {error}") from None
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_enc_hook)
_blob_encoder = msgspec.msgpack.Encoder(enc_hook=_blob_enc_hook)
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(ext_hook=ext_hook)
_writable_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(ext_hook=_writable_ext_hook)
