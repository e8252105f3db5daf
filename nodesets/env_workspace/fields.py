"""What a case may say, and of which type."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Any, Mapping

_KINDS = {
    "id": "text",
    "instruction": "text",
    "files": "an object of texts by path",
    "repo": 'an object {"url", "commit"}',
    "archive": "text: the path of a tar or zip file",
    "setup": "text: a shell command",
    "expected": "",
    "params": "an object",
    "timeout_sec": "seconds above 0",
}


def check_fields(given: Mapping[str, Any], where: str) -> None:
    """Raises ValueError for what is missing, unknown, or of another type."""
    for name in ("id", "instruction"):
        if not given.get(name):
            raise ValueError(f"{where}: a case needs {name!r}")
    for name, value in given.items():
        if name not in _KINDS:
            near = get_close_matches(str(name), _KINDS, 1)
            hint = f"do you mean {near[0]}?" if near else f"a case has {', '.join(_KINDS)}"
            raise ValueError(f"{where}: no field {name!r}; {hint}")
        if not _fits(name, value):
            raise ValueError(f"{where}: {name} must be {_KINDS[name]}, not {value!r:.80}")


def is_seconds(value: Any) -> bool:
    """Whether it is a length of time that something may take."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def _fits(name: str, value: Any) -> bool:
    if name == "expected":
        return True
    if name == "timeout_sec":
        return is_seconds(value)
    if name == "params":
        return isinstance(value, dict)
    if name == "files":
        return _are_texts(value)
    if name == "repo":
        return _are_texts(value) and set(value) == {"url", "commit"} and all(value.values())
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
