"""What the config of a built-in node may hold. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MODES = ("single_turn", "conversation")
PARSERS = ("choice", "regex", "json_field")
IMAGE_DETAILS = ("low", "high", "auto")
MOST_SAMPLES = 128
"""As many as any server that we know draws for one question."""

_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class _Field:
    """``what``: in words, what a value must be that ``fits``."""

    what: str
    fits: Callable[[Any], bool]


def field_problems(node_type: str, config: Mapping[str, Any]) -> Iterator[str]:
    """``config.n is 'abc', not a whole number from 1 to 128``, for each field; one that is null or empty is
    not set."""
    for name, field in _FIELDS.get(node_type, {}).items():
        value = config.get(name)
        if value not in (None, "") and not field.fits(value):
            yield f"config.{name} is {_shown(value)}, not {field.what}"


def require_fields(node_type: str, config: Mapping[str, Any]) -> None:
    """Raise ValueError with every problem."""
    if problems := list(field_problems(node_type, config)):
        raise ValueError("; ".join(problems))


def fields_of(node_type: str) -> Collection[str]:
    """The names of all fields; empty where they are not told apart from a drawing's own."""
    return _FIELDS.get(node_type, {}).keys()


def number(value: Any) -> float | None:
    """A field's number, which a form may have saved as text; None where it is not set, or is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _at_least(least: float) -> Callable[[Any], bool]:
    return lambda value: (found := number(value)) is not None and found >= least


def _whole(least: int, most: float = math.inf) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        found = number(value)
        return found is not None and found.is_integer() and least <= found <= most

    return fits


def _one_of(options: tuple[str, ...]) -> _Field:
    return _Field(f"one of {', '.join(options)}", lambda value: value in options)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_stop(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(v, str) and v for v in value)
    )


def _is_pattern(value: Any) -> bool:
    try:
        return bool(re.compile(value))
    except (TypeError, re.error, RecursionError, OverflowError):
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


_TEXT = _Field("text", _is_text)
_NUMBER = _Field("a number from 0 on", _at_least(0))
_ANY = _Field("", lambda value: True)  # checked where ports are
_SCALAR = _Field("text or a number", lambda value: isinstance(value, str | int | float))

_FIELDS: dict[str, dict[str, _Field]] = {
    "llmCall": {
        "template": _TEXT,
        "system_prompt": _TEXT,
        "profile": _TEXT,
        "provider": _TEXT,
        "model": _TEXT,
        "temperature": _NUMBER,
        "max_tokens": _Field("a whole number from 1 on", _whole(1)),
        "stop": _Field("text, or a list of texts", _is_stop),
        "schema": _Field("a JSON schema, as an object", lambda value: isinstance(value, dict)),
        "n": _Field(f"a whole number from 1 to {MOST_SAMPLES}", _whole(1, MOST_SAMPLES)),
        "mode": _one_of(MODES),
        "image_detail": _one_of(IMAGE_DETAILS),
        "image_mime": _TEXT,
        "write_to_state": _TEXT,
        "ports": _ANY,
        "hooks": _ANY,
    },
    "textParse": {
        "mode": _one_of(PARSERS),
        "choices": _Field("text such as LEFT,RIGHT,STOP", _is_text),
        "scan": _one_of(("last_line_first", "full_text")),
        "pattern": _Field("a regular expression", _is_pattern),
        "json_key": _TEXT,
        "default": _SCALAR,
        "hooks": _ANY,
    },
    "historyLog": {
        "template": _TEXT,
        "max_entries": _Field("a whole number from 1 on", _whole(1)),
        "hooks": _ANY,
    },
}
