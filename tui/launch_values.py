"""What is typed into the launch form, as a request's values. Pure; ValueError says what to type."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.control.panel_fields import NUMBERS, panel_number, panel_options

LONGEST_LIST = 100_000

EPISODES = "all, 24, 24 from 100, or only 0,3,7-9"
"""How episodes are named."""


class Episodes(NamedTuple):
    """number: -1 is all, from ``start`` on. indices: exactly these instead."""

    number: int = -1
    start: int = 0
    indices: list[int] | None = None


def parse_episodes(typed: str) -> Episodes:
    """``all``, ``all from 100``, ``24``, ``24 from 100``, ``only 0,3,7-9``."""
    text = " ".join(typed.lower().split())
    match = re.fullmatch(r"(all|\d{1,9})(?: from (\d{1,9}))?", text)
    if match:
        count = -1 if match[1] == "all" else int(match[1])
        if count == 0:
            raise ValueError(f"at least one: {EPISODES}")
        return Episodes(count, int(match[2] or 0))
    listed = text.removeprefix("only ")
    if text.startswith("only ") or "," in text:
        return Episodes(indices=_indices(listed))
    raise ValueError(f"{typed!r} is not {EPISODES}")


def episodes_text(count: int, start: int, indices: Sequence[int] | None) -> str:
    """What :func:`parse_episodes` reads as these; empty for all from the first."""
    if indices is not None:
        return "only " + ",".join(_ranges(indices))
    if count == -1:
        return f"all from {start}" if start else ""
    return f"{count} from {start}" if start else str(count)


def whole(typed: str, least: int) -> int:
    """A whole number of at least ``least``."""
    if not re.fullmatch(r"\s*-?\d{1,18}\s*", typed) or int(typed) < least:
        raise ValueError(f"{typed!r} is not a whole number of at least {least}")
    return int(typed)


def panel_value(field: dict[str, Any], typed: str) -> Any:
    """A value of an environment's panel: a number within its bounds, or one of those that it offers. For a
    field that is not known, a JSON scalar where it reads as one, as on the command line."""
    if "kind" not in field:
        return _scalar(typed)
    if field["kind"] in NUMBERS:
        return panel_number(field, typed)
    offered = [value for value, _ in panel_options(field)]
    return next((value for value in offered if str(value) == typed), typed)


def _scalar(typed: str) -> Any:
    try:
        return json.loads(typed, parse_constant=str)
    except (ValueError, RecursionError):
        return typed


def _indices(typed: str) -> list[int]:
    found: list[int] = []
    for part in typed.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", part)
        if match is None:
            raise ValueError(f"{part.strip()!r} is neither an episode nor a range such as 7-9")
        low, high = int(match[1]), int(match[2] or match[1])
        if high < low or high - low + len(found) >= LONGEST_LIST:
            raise ValueError(f"{part.strip()!r} is no range of at most {LONGEST_LIST} episodes")
        found.extend(range(low, high + 1))
    return found


def _ranges(indices: Sequence[int]) -> list[str]:
    """Neighbours together: 7, 8, 9 are ``7-9``."""
    parts: list[list[int]] = []
    for index in indices:
        if parts and index == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], index]
        else:
            parts.append([index])
    return ["-".join(map(str, part)) for part in parts]
