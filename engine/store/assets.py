"""The images and large values that a record names, found inside the episode's folder and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Asset:
    """port: where the record names it, ``outputs.rgb``, ``inputs.views.0``. shape, dtype: as the log says."""

    port: str
    path: Path
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_image(self) -> bool:
        return self.path.suffix.lower() == ".png"


def assets_of(fields: Mapping[str, Any], folder: Path) -> list[Asset]:
    """Every asset that a record's inputs and outputs name, outputs first.

    A path that leads out of ``folder`` (the log may be somebody else's) is passed over.
    """
    top = folder.resolve()
    found = []
    for port, value in _named(fields):
        path = (top / value["$asset"]).resolve()
        if path.is_relative_to(top):
            found.append(Asset(port, path, _shape(value.get("shape")), str(value.get("dtype", ""))))
    return found


def _named(fields: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    waiting = [(side, fields.get(side)) for side in ("inputs", "outputs")]
    while waiting:
        port, value = waiting.pop()
        if isinstance(value, dict):
            name = value.get("$asset")
            if isinstance(name, str) and "\0" not in name and len(os.fsencode(name)) < 4096:
                yield port, value
            else:
                waiting += [(f"{port}.{key}", item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [(f"{port}.{at}", item) for at, item in reversed(list(enumerate(value)))]


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list) and all(isinstance(n, int) for n in value) else ()
