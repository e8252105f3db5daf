"""Rooms of the screen that are imported when they are first entered."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(where: str) -> Any:
    """What ``module:name`` names."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
