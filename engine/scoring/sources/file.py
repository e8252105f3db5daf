"""Trace events that a harness wrote to a file itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from engine.scoring.attributes import load_json
from engine.scoring.sources.base import CollectError, ProbeResult
from engine.scoring.spans import Event

KINDS = frozenset(
    (
        "message",
        "llm_call",
        "tool_call",
        "tool_result",
        "env_action",
        "error",
        "log",
        "artifact",
        "span",
    )
)
RUN_ID = "{run_id}"
"""In a path: the correlation id."""


def read_events(data: bytes) -> list[Event]:
    """The events in JSON, a list or one, or in JSONL. What is no event is left out."""
    try:
        whole = load_json(data)
    except ValueError:
        lines = (_line(line) for line in data.split(b"\n"))
        return [event for event in lines if _is_event(event)]
    return [event for event in (whole if isinstance(whole, list) else [whole]) if _is_event(event)]


class FileSource:
    """``path``: of a file; a ``{run_id}`` in it stands for the correlation id."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def fetch(self, run_id: str) -> list[Event]:
        if ".." in run_id.split("/") or "\0" in run_id:
            raise CollectError(f"{run_id!r} cannot be part of a path")
        path = Path(self._path.replace(RUN_ID, run_id))
        try:
            return read_events(await asyncio.to_thread(path.read_bytes))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CollectError(f"{path}: {error.strerror or error}") from None

    async def probe(self) -> ProbeResult:
        """Whether the nearest folder that no run has a part in is there."""
        folder = Path(self._path.partition(RUN_ID)[0] + "x").parent
        there = await asyncio.to_thread(folder.is_dir)
        return ProbeResult("reachable" if there else "unreachable", str(folder))


def _line(line: bytes) -> Any:
    try:
        return load_json(line)
    except ValueError:
        return None


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in KINDS
