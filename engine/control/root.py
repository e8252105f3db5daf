"""Which folder holds ``outputs/``, ``workspace/`` and ``evaltower.toml``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

MARKS = ("evaltower.toml", "outputs")


def find_root(given: str | None, environ: Mapping[str, str] = os.environ, start: Path | None = None) -> Path:
    """The root, absolute: what was given, else ``EVALTOWER_ROOT``, else the nearest parent with a mark, else
    the root of the user's one live backend, else the current folder.

    A mark is ``evaltower.toml`` or ``outputs/``.
    """
    chosen = given or environ.get("EVALTOWER_ROOT")
    if chosen:
        return Path(chosen).expanduser().resolve()
    here = (start or Path.cwd()).resolve()
    marked = (folder for folder in (here, *here.parents) if any((folder / mark).exists() for mark in MARKS))
    return next(marked, None) or _root_of_the_one_backend() or here


def note_of_root(
    root: Path, given: str | None, environ: Mapping[str, str] = os.environ, start: Path | None = None
) -> str:
    """Where ``root`` is the live backend's though the current folder has a ``workspace/`` of its own, a
    sentence that says so; else nothing."""
    here = (start or Path.cwd()).resolve()
    named = given or environ.get("EVALTOWER_ROOT") or root in (here, *here.parents)
    if named or not (here / "workspace").is_dir():
        return ""
    return f"the root is {root}, of your one live backend; for the workspace/ here, give --root {here}"


def _root_of_the_one_backend() -> Path | None:
    """None where this user has none that lives, or several."""
    from engine.scheduling.ledger import own_backends

    roots = {entry.root for entry in own_backends()}
    return Path(roots.pop()) if len(roots) == 1 else None
