"""Paths as others give them, kept inside a folder."""

from __future__ import annotations

import os
from pathlib import Path


def inside(folder: Path, path: str, what: str = "path") -> Path:
    """``path``, relative to ``folder``, with every link followed; ValueError where it leads out of it."""
    if "\0" in path:
        raise ValueError(f"{what} {path!r} has a NUL in it")
    home = os.path.realpath(folder)
    found = os.path.realpath(os.path.join(home, path))
    if os.path.commonpath([home, found]) != home:
        raise ValueError(f"{what} {path!r} leads out of the episode's folder; give one below it")
    return Path(found)
