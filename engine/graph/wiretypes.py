"""Wire types: what may flow along an edge. A type is one name, or ``LIST[name]``."""

from __future__ import annotations

WIRE_TYPES = (
    "IMAGE",
    "DEPTH",
    "POSE",
    "DISCRETE_ACTION",
    "CONTROL",
    "TEXT",
    "BOOL",
    "METRICS",
    "ANY",
    "ACTION",
    "OBSERVATION",
    "STEP_RESULT",
)
_OLD_NAMES = {"ACTION": "DISCRETE_ACTION"}


def is_list(wire_type: str) -> bool:
    return wire_type.startswith("LIST[") and wire_type.endswith("]")


def item_type(wire_type: str) -> str:
    """``T`` of ``LIST[T]``; any other type itself. Old names come back as the current ones."""
    inner = wire_type[len("LIST[") : -1] if is_list(wire_type) else wire_type
    return _OLD_NAMES.get(inner, inner)


def is_known(wire_type: str) -> bool:
    return item_type(wire_type) in WIRE_TYPES


def mismatch(source: str, target: str) -> str | None:
    """Why an edge may not join two ports, or None where it may.

    It may where either type is ``ANY``, both are equal, or a ``T`` goes into a ``LIST[T]``.
    """
    if "ANY" in (source, target):
        return None
    if item_type(source) == item_type(target) and (is_list(target) or not is_list(source)):
        return None
    if is_list(source) and not is_list(target):
        return f"{source} into {target} would lose all but one item"
    return f"{source} does not fit {target}"
