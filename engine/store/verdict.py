"""What ended an episode that failed without an error: the firing that measured it, and what it said."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from engine.figures import number
from engine.store.outcomes import outcome_of
from engine.store.records import EpisodeRow

TAIL_BYTES = 1 << 20
"""Of the log's end, in which it is looked for: what measures fires last."""

_METRIC = "success"


@dataclass(frozen=True)
class Verdict:
    """offset: of the first byte of its line in the log. text: what it says, else its measure."""

    offset: int
    text: str


class _Firing(msgspec.Struct):
    step: int = -1
    node_id: str = ""
    outputs: Mapping[str, Any] = {}


def verdict_of(log: Path, row: EpisodeRow) -> Verdict | None:
    """The first firing of the last step that gave the failed measure; None where the episode did not fail so.

    Raises OSError.
    """
    if row.error or outcome_of(row) != "failure" or row.metrics.get(_METRIC):
        return None
    wanted = row.metrics.get(_METRIC)
    found: tuple[int, _Firing] | None = None
    for offset, firing in _last_firings(log):
        gave = any(_measure(value) == wanted for value in (firing.outputs, *firing.outputs.values()))
        if gave and (found is None or firing.step != found[1].step):
            found = offset, firing
    if found is None:
        return None
    offset, firing = found
    said = [value for value in firing.outputs.values() if isinstance(value, str) and value.strip()]
    told = "; ".join(said) or f"{_METRIC} {number(float(wanted or 0))}"
    return Verdict(offset, f"{firing.node_id}: {told}" if firing.node_id else told)


def _measure(value: Any) -> float | None:
    found = value.get(_METRIC) if isinstance(value, Mapping) else None
    return float(found) if isinstance(found, int | float) else None


def _last_firings(log: Path) -> list[tuple[int, _Firing]]:
    """Of the whole lines at the log's end that can be read, with their offsets."""
    with log.open("rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES)
        file.seek(start)
        tail = file.read(TAIL_BYTES)
    found = []
    decoder = msgspec.json.Decoder(_Firing)
    for place, line in enumerate(tail.split(b"\n")[:-1]):
        if place or not start:
            try:
                found.append((start, decoder.decode(line)))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                pass  # no firing of ours
        start += len(line) + 1
    return found
