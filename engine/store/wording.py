"""What msgspec says of a value that does not fit, in words for whoever wrote it."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin

import msgspec

_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
    "null": "nothing",
}


def told(error: msgspec.ValidationError, record: type[msgspec.Struct]) -> str:
    """``price.input must be a number >= 0.0``; ``record``: what it was to be."""
    what, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    if what.startswith("Invalid enum value"):
        options = ", ".join(_options(record, path)) or "those of its kind"
        what = f"must be one of {options}, not {what.removeprefix('Invalid enum value ')}"
    what = re.sub(r"`([^`]*)`", _kinds, what)
    what = re.sub(r"^Expected (.*?)(?:, got (.*))?$", _must_be, what)
    return f"{path} {what}".strip()


def _must_be(match: re.Match[str]) -> str:
    return f"must be {match[1]}" + (f", not {match[2]}" if match[2] else "")


def _kinds(match: re.Match[str]) -> str:
    return " or ".join(_KINDS.get(name, name) for name in match[1].split(" | "))


def _options(record: Any, path: str) -> list[str]:
    """The values that the field at ``path`` may have; empty where that is not known."""
    for name in path.split("."):
        fields = {field.name: field.type for field in msgspec.structs.fields(record)}
        if name not in fields:
            return []
        record = _inner(fields[name])
    return [str(option) for option in get_args(record)] if get_origin(record) is Literal else []


def _inner(kind: Any) -> Any:
    """A type without ``Annotated`` and ``None`` around it."""
    found = [part for part in get_args(kind) if part is not type(None)]
    return _inner(found[0]) if found and get_origin(kind) is not Literal else kind
