"""What of a host's manifest decides the bits of its batched tools. Rows of two regimes do not compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

Regimes = dict[str, dict[str, Any]]
"""By tool, and by config where that is not the tool's default."""

DECISIVE = ("regime", "shape", "threads", "digest")


def regimes_of(manifest: Mapping[str, Any]) -> Regimes:
    """What of each batched tool's record decides bits."""
    return {
        label: {part: record.get(part) for part in DECISIVE}
        for label, record in manifest.get("batching", {}).items()
    }


def with_default_config(regimes: Mapping[str, Any]) -> dict[str, Any]:
    """Those that a host has from its start on; others come as some run needs them."""
    return {label: record for label, record in regimes.items() if not config_of(label)[1]}


def config_of(label: str) -> tuple[str, dict[str, Any]]:
    """(Tool, what of its config differs from the default)."""
    tool, _, config = label.partition(" ")
    return tool, json.loads(config) if config else {}


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Which tools run otherwise, and how; empty where none does."""
    changed = [label for label in before if before[label] != now.get(label)]
    return "; ".join(f"{label}: {now.get(label, 'not at all')} after {before[label]}" for label in changed)


def digest_of(manifest: Mapping[str, Any]) -> str:
    """Equal where all that is known to decide bits is: source, versions, regimes."""
    decisive = [
        manifest.get("source_hash"),
        manifest.get("versions"),
        with_default_config(regimes_of(manifest)),
    ]
    return blake2b(msgspec.json.encode(decisive, order="sorted"), digest_size=16).hexdigest()
