"""Trace events that a harness wrote to a file itself."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from engine.scoring.attributes import load_json
from engine.scoring.errors import CollectError
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


def read_events(data: bytes) -> list[Event]:
    """The events in JSON, a list or one, or in JSONL. What is no event is left out."""
    try:
        whole = load_json(data)
    except ValueError:
        lines = (_line(line) for line in data.split(b"\n"))
        return [event for event in lines if _is_event(event)]
    return [event for event in (whole if isinstance(whole, list) else [whole]) if _is_event(event)]


def is_inside(path: str) -> bool:
    """Whether a path leads into the folder that it begins in, whatever that is."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] not in ("/", "//", "~") and ".." not in parts and path.isprintable()


def read_file(folder: Path, path: str) -> bytes:
    """A file of an episode's folder. CollectError for one that is elsewhere, or cannot be read."""
    try:
        whole = (folder / path).resolve(strict=True)
        if not whole.is_relative_to(folder.resolve()):
            raise CollectError(f"{path} leads out of the episode's folder")
        return whole.read_bytes()
    except FileNotFoundError:
        raise CollectError(f"{path} is no file of the episode's folder, {folder}") from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
        raise CollectError(f"{path} cannot be read: {error}") from None


def _line(line: bytes) -> Any:
    try:
        return load_json(line)
    except ValueError:
        return None


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") in KINDS
