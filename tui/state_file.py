"""What the operator left as it was: restored on return, lost without harm."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.store.atomic import write_json

_MAX_BYTES = 1 << 20


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A view on the stack. name: the screen's; target: what it shows (a run, ``run/episode``), or empty."""

    name: str
    target: str = ""


class TableState(msgspec.Struct, frozen=True, kw_only=True):
    """How a table is shown. sort: column names, the first decides; ``-`` before one is descending."""

    filter: str = ""
    sort: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


class LogPosition(msgspec.Struct, frozen=True, kw_only=True):
    """Where a log was left: by byte, which holds while it grows, and the attempt that wrote it."""

    attempt: int
    offset: int


class UiState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything kept, for one root.

    tables: by view name. panes: sizes in cells, by pane name. marks: run ids or ``run/episode``, by view.
    logs: by ``run/episode``. forms: the last values of a form, by graph. left_at: when the screen was left
    (ISO 8601), for "while you were away". theme, bandwidth: empty is what the settings say.
    """

    views: tuple[View, ...] = ()
    tables: dict[str, TableState] = {}
    panes: dict[str, int] = {}
    marks: dict[str, tuple[str, ...]] = {}
    compare: tuple[str, ...] = ()
    logs: dict[str, LogPosition] = {}
    forms: dict[str, dict[str, Any]] = {}
    theme: str = ""
    bandwidth: str = ""
    left_at: str = ""


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """``$XDG_STATE_HOME/evaltower``."""
    base = environ.get("XDG_STATE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state") / "evaltower"


def state_path(root: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The state file of one root: two screens on two roots do not overwrite each other's."""
    name = hashlib.blake2b(os.fsencode(root.resolve()), digest_size=6).hexdigest()
    return state_folder(environ) / f"ui-{name}.json"


def load_state(path: Path) -> UiState:
    """The state as it was saved. What cannot be read has its default: a field, or all of it."""
    try:
        with open(path, "rb") as file:
            fields = msgspec.json.decode(file.read(_MAX_BYTES))
    except (OSError, msgspec.DecodeError, RecursionError):
        return UiState()
    if not isinstance(fields, dict):
        return UiState()
    kept = {}
    for field in msgspec.structs.fields(UiState):
        if field.name in fields:
            try:
                kept[field.name] = msgspec.convert(fields[field.name], field.type)
            except msgspec.ValidationError:
                continue
    return UiState(**kept)


def save_state(path: Path, state: UiState) -> bool:
    """Replace the file. False where the disk will not have it: a screen does not fail over that."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_json(path, state, durable=False)
    except OSError:
        return False
    return True
