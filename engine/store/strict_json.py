"""Strict JSON both ways: no NaN or Infinity, UTF-8 that every reader accepts."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

import msgspec

_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(value: Any) -> bytes:
    """One line of strict JSON. Non-finite floats become null, lone surrogates U+FFFD, numpy scalars
    numbers.

    Raises TypeError for what JSON cannot hold.
    """
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value, enc_hook=_plain)))


def encode_indented(value: Any) -> bytes:
    """The same, indented for people, with a newline at its end."""
    return msgspec.json.format(encode(value), indent=1) + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    item = getattr(value, "item", None)  # a numpy scalar, without importing numpy
    if callable(item) and getattr(value, "shape", None) == ():
        return item()
    raise TypeError(f"cannot write a {type(value).__name__} as JSON")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
