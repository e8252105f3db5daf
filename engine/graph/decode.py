"""A file's bytes as JSON data, with every reason why they are not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from engine.graph.model import Problem

MAX_DEPTH = 100
"""Levels of arrays and objects; a composite in a composite takes four."""


def decode(data: bytes) -> tuple[Any, list[Problem]]:
    """UTF-8 JSON as Python data. Where the problems are not empty, the data is not to be used."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        return None, [Problem("not-utf8", "file", message, "save it as UTF-8")]
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.extend(key for key in found if keys.count(key) > 1)
        return found

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except RecursionError:
        return None, [_too_deep("file")]
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        return None, [Problem("not-json", "file", message)]
    except ValueError as error:
        return None, [Problem("not-json", "file", f"not JSON: {error}")]
    return value, [
        *(Problem("duplicate-key", "file", f"an object has the key {key!r} twice") for key in repeated),
        *data_problems(value),
    ]


def data_problems(value: Any) -> list[Problem]:
    """What in ``value`` cannot be JSON in UTF-8: NaN, lone surrogates, foreign types, deep nesting."""
    problems: list[Problem] = []
    stack = [(value, "", 0)]
    while stack:
        item, path, depth = stack.pop()
        if depth > MAX_DEPTH:
            return [*problems, _too_deep(path)]
        reason = _not_json(item)
        if reason:
            problems.append(Problem("not-json", path or "file", reason))
        stack.extend((child, f"{path}{step}", depth + 1) for step, child in _children(item))
    return problems


def _children(item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, dict):
        for key, child in item.items():
            yield f".{key}", child
    elif isinstance(item, list):
        for index, child in enumerate(item):
            yield f"[{index}]", child


def _not_json(item: Any) -> str | None:
    if isinstance(item, str):
        return _not_text(item)
    if isinstance(item, dict):
        if not all(isinstance(key, str) for key in item):
            return "an object key is not a string"
        return next(filter(None, map(_not_text, item)), None)
    if isinstance(item, float) and not math.isfinite(item):
        return f"{item} is not a JSON number"
    if item is None or isinstance(item, bool | int | float | list):
        return None
    return f"{type(item).__name__} is not JSON data"


def _not_text(text: str) -> str | None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return f"the text {text[:40]!r} has a lone surrogate, which UTF-8 cannot hold"
    return None


def _too_deep(where: str) -> Problem:
    message = f"nested deeper than {MAX_DEPTH} levels"
    return Problem("too-deep", _shortened(where), message, "flatten the composites or the config")


def _shortened(path: str) -> str:
    return path if len(path) <= 80 else f"{path[:77]}..."
