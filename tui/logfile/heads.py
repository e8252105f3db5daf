"""What is known of a log line without keeping it: who fired, when, for how long, and whether it failed."""

from __future__ import annotations

import re
from typing import Any

import msgspec

# A line longer than this is never decoded to be listed: its edges tell enough.
LONG_BYTES = 512 * 1024
EDGE_BYTES = 16 * 1024


class Head(msgspec.Struct, kw_only=True):
    """The small fields of a line (contract run-dir.md). problem: why the line could not be read, or empty."""

    timestamp: str = ""
    step: int = -1
    node_id: str = ""
    node_type: str = ""
    node_label: str = ""
    duration_ms: float = 0.0
    queue_wait_ms: float = 0.0
    compute_ms: float = 0.0
    transport_ms: float = 0.0
    transfer_bytes: int = 0
    error: str | None = None
    parent_node_id: str | None = None
    dynamic_index: int | None = None
    problem: str = ""


_decoder = msgspec.json.Decoder(Head)
_FIELD = re.compile(rb'"(\w+)"\s*:\s*(null|-?[\d.eE+]+|"(?:[^"\\]|\\.)*")')
_PAYLOAD = re.compile(rb'"(?:inputs|outputs)"\s*:')


def read_head(line: bytes) -> Head:
    """Of a whole line. What cannot be read is in ``problem``; nothing is raised."""
    try:
        head = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _coerced(line)
    head.problem = ""
    return head


def head_of_edges(start: bytes, end: bytes) -> Head:
    """Of a line too long to be decoded, by its first and last bytes (EDGE_BYTES of each).

    Its ``error`` is the last one in ``end``; if there is none there, the error itself must be what is long.
    """
    payload = _PAYLOAD.search(start)
    head = _of_fields(start[: payload.start()] if payload else start)
    errors = [match for match in _FIELD.finditer(end) if match[1] == b"error"]
    error = _plain(errors[-1][2]) if errors else "an error too long to be shown in a row"
    head.error = error if isinstance(error, str) else None
    return head


def _of_fields(text: bytes) -> Head:
    fields = {match[1].decode(): _plain(match[2]) for match in _FIELD.finditer(text)}
    return _from_mapping(fields)


def _coerced(line: bytes) -> Head:
    """Of a line of another writer's, whose fields may have other types."""
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Head(problem=f"not JSON: {error}")
    if not isinstance(fields, dict):
        return Head(problem="not a JSON object")
    return _from_mapping(fields)


def _from_mapping(fields: dict[str, Any]) -> Head:
    kept: dict[str, Any] = {}
    for field in msgspec.structs.fields(Head):
        value = fields.get(field.name)
        if value is None:
            continue
        try:
            kept[field.name] = msgspec.convert(value, field.type, strict=False)
        except msgspec.ValidationError:
            if field.name == "error":
                kept["error"] = msgspec.json.encode(value).decode("utf-8", "replace")
    kept["problem"] = ""
    return Head(**kept)


def _plain(value: bytes) -> Any:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
