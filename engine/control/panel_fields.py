"""What a field of an environment's panel takes. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine.graph.names import near_or_all

NUMBERS = ("number", "slider")
"""Kinds of a field that takes a number."""
EMPTY = ("is empty", "give it a value, or leave it out")
"""(What is wrong, the remedy) of a value that is none: what would be played is the default."""


def is_empty(value: Any) -> bool:
    """Whether it is no value at all, as what a script's unset variable leaves."""
    return value is None or (isinstance(value, str) and not value.strip())


def value_problem(field: Mapping[str, Any], value: Any, owner: str) -> tuple[str, str] | None:
    """(What is wrong with a value, the remedy); None where nothing is known against it. A ``select`` takes
    what it offers and nothing else, where its schema says what that is; a text's placeholder only suggests.
    """
    if is_empty(value):
        return None if field.get("optional") else EMPTY
    if field.get("kind") in NUMBERS and _number(field, value) is None:
        return f"is {value!r}", f"it takes {_numbers(field)}"
    offered = [str(option) for option, _ in panel_options(field)]
    if field.get("kind") == "select" and offered and not _is_one_of(value, offered):
        return f"is {value!r}, which {owner} does not have", near_or_all(str(value), offered, "it has")
    return None


def panel_options(field: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """(value, label) of what a select field offers; a nodeset may give bare values."""
    options = field.get("options")
    pairs = []
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict):
            value = option.get("value", option.get("label", ""))
            label = str(option.get("label", value))
            pairs.append((value, "" if label == str(value) else label))
        else:
            pairs.append((option, ""))
    return pairs


def panel_number(field: Mapping[str, Any], typed: str) -> float:
    """What was typed, as a number that the field takes; ValueError says what it takes."""
    number = _number(field, typed)
    if number is None:
        raise ValueError(f"{typed!r} is not {_numbers(field)}")
    return int(typed) if number.is_integer() and not set(typed.lower()) & set(".e") else number


def bounds_text(field: Mapping[str, Any]) -> str:
    """``0 to 1``; what is known of a number's bounds."""
    low, high = field.get("min"), field.get("max")
    if low is not None and high is not None:
        return f"{_figure(low)} to {_figure(high)}"
    if low is not None:
        return f"at least {_figure(low)}"
    return f"at most {_figure(high)}" if high is not None else ""


def _number(field: Mapping[str, Any], value: Any) -> float | None:
    """A number, or the text of one; None where it is none that the field takes."""
    low, high = field.get("min"), field.get("max")
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if (low is not None and number < low) or (high is not None and number > high):
        return None
    return number if math.isfinite(number) and not (_is_whole(field) and number % 1) else None


def _is_whole(field: Mapping[str, Any]) -> bool:
    return field.get("kind") == "number" and field.get("step") == 1


def _numbers(field: Mapping[str, Any]) -> str:
    """``a whole number, at least 0``."""
    kind, bounds = "a whole number" if _is_whole(field) else "a number", bounds_text(field)
    return f"{kind}, {bounds}" if bounds else kind


def _figure(bound: float) -> str:
    return str(int(bound)) if float(bound).is_integer() else f"{bound:g}"


def _is_one_of(value: Any, offered: list[str]) -> bool:
    """A truth value, as a command line reads ``true``, is a yes or a no."""
    if isinstance(value, bool) and {"yes", "no"} <= set(offered):
        return True
    return str(value).strip() in offered
