"""What an episode's folder keeps for those who score it later, and how it is read back."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from engine.scoring.context import Evidence, case_of
from engine.store.records import EpisodeRow
from engine.store.strict_json import encode

SNAPSHOT, TRACE = "snapshot.json", "trace.jsonl"
MATERIALISED = Path("assets", "snapshot.bin")
"""The bytes that a snapshot names by ``screenshotRef``: fetched while the environment was there."""


def correlation_id(run_id: str, folder: Path) -> str:
    """By what a platform knows the episode: the value of its tag ``evaltower.run_id``."""
    return f"{run_id}/{folder.name}"


def read_evidence(row: EpisodeRow, folder: Path) -> Evidence:
    """What there is of the episode, from its folder. Raises OSError but for what is not there."""
    snapshot = _read_snapshot(folder)
    return Evidence(case_of(row, snapshot), read_events(folder), snapshot, folder)


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The trace's events in order, with ``t``, milliseconds from the first; broken lines are left out."""
    events = [event for _, event in _lines(folder / TRACE)]
    began = next((at for event in events if (at := _at_ms(event)) is not None), None)
    for event in events:
        if "t" not in event and began is not None and (at := _at_ms(event)) is not None:
            event["t"] = round(at - began, 3)
    return events


def trace_on_platform(events: Iterable[Mapping[str, Any]]) -> str:
    """The id by which the platform that the trace was collected from knows it; empty where none was."""
    found = (event.get("trace_id") for event in events if event.get("collected"))
    return next((str(trace) for trace in found if trace), "")


def with_collected(folder: Path, events: Sequence[dict[str, Any]]) -> bytes:
    """The trace file's new content: the run's own lines, then what a platform has, once."""
    own = [line for line, event in _lines(folder / TRACE) if not event.get("collected")]
    return b"".join([*own, *(_line({**event, "collected": True}) for event in events)])


def _read_snapshot(folder: Path) -> dict[str, Any] | None:
    try:
        snapshot = json.loads((folder / SNAPSHOT).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(snapshot, dict):
        return None
    with suppress(FileNotFoundError):
        snapshot["screenshot"] = b64encode((folder / MATERIALISED).read_bytes()).decode()
    return snapshot


def _lines(path: Path) -> Iterable[tuple[bytes, dict[str, Any]]]:
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            with suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and line.endswith(b"\n"):
                    yield line, event


def _line(event: dict[str, Any]) -> bytes:
    return encode(event) + b"\n"


def _at_ms(event: dict[str, Any]) -> float | None:
    try:
        return datetime.fromisoformat(event["timestamp"]).timestamp() * 1000
    except (KeyError, TypeError, ValueError):
        return None
