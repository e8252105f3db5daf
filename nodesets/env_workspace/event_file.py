"""Trace events that a harness left in a file: JSON (a list, or ``{"events": [...]}``) or JSONL."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any, Iterator

_NEEDED = {
    "message": {"role": str, "text": str},
    "llm_call": {"model": str},
    "tool_call": {"id": str, "name": str},
    "tool_result": {"id": str},
    "env_action": {"action": str},
    "error": {"message": str},
    "log": {"text": str},
    "artifact": {"name": str},
    "span": {"name": str},
}
_OURS = ("timestamp", "step", "node_id", "self")


def read_events(data: bytes, began: float) -> tuple[list[dict[str, Any]], int]:
    """(events, how many entries were none and were dropped). ``t``, where an event has it, is milliseconds
    from ``began``, and becomes its timestamp."""
    events: list[dict[str, Any]] = []
    dropped = 0
    for entry in _entries(data):
        event = _event(entry, began)
        if event is None:
            dropped += 1
        else:
            events.append(event)
    return events, dropped


def at(seconds: float) -> str:
    """A moment as trace events have it."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="microseconds")


def _entries(data: bytes) -> Iterator[Any]:
    whole = _parsed(data)
    if isinstance(whole, dict) and isinstance(whole.get("events"), list):
        whole = whole["events"]
    if isinstance(whole, list):
        yield from whole
        return
    for line in data.split(b"\n"):
        if line.strip():
            yield _parsed(line)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def _event(entry: Any, began: float) -> dict[str, Any] | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
        return None
    needed = _NEEDED.get(entry["kind"])
    if needed is None or not all(isinstance(entry.get(name), kind) for name, kind in needed.items()):
        return None
    event = {name: value for name, value in entry.items() if name not in _OURS and name != "t"}
    try:
        moment = datetime.fromtimestamp(began, timezone.utc) + timedelta(milliseconds=entry["t"])
        event["timestamp"] = moment.isoformat(timespec="microseconds")
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    return event
