"""Filling ``{name}`` in a prompt. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from re import Match
from typing import Any

from engine.components.builtin_checks import PLACEHOLDER
from engine.components.context import ContainerAccess


def fill(
    template: str, values: Mapping[str, Any], state: ContainerAccess | None, known: Collection[str]
) -> str:
    """The template with each ``{name}`` replaced, once: what a value itself holds stays as it is.

    A name is looked up in ``values``, then in ``state``, whose lists become lines. One that has no value but
    is in ``known``, or in the state, becomes ``(no name)``. Raises ValueError that lists all other names.
    """
    unknown: list[str] = []

    def found(match: Match[str]) -> str:
        name = match[1]
        value, declared = values.get(name), name in known
        if value is None and state is not None:
            try:
                value, declared = state.read(name), True
            except KeyError:
                pass
            if isinstance(value, list | tuple):
                value = "\n".join(map(str, value))
        if value is None and not declared:
            unknown.append(name)
        return f"(no {name})" if value is None else str(value)

    filled = PLACEHOLDER.sub(found, template)
    if unknown:
        named = ", ".join(f"{{{name}}}" for name in dict.fromkeys(unknown))
        raise ValueError(
            f"config.template: {named} is no input port and no state of a granted graph_state: mend the"
            " template, declare the port, or grant the container"
        )
    return filled


def pose_values(pose: Any) -> dict[str, str]:
    """``pos`` and ``position`` ("x, y, z" in m) and ``heading`` (degrees, 0 to 360) of a POSE.

    The heading is the rotation about the y axis, which points up. Empty where there is no pose.
    """
    if not isinstance(pose, Mapping):
        return {}
    place = [float(part) for part in pose.get("position", (0, 0, 0))]
    position = ", ".join(f"{part:.2f}" for part in place[:3])
    return {"pos": position, "position": position, "heading": str(_heading(pose.get("orientation", ())))}


def _heading(orientation: Any) -> float:
    quaternion = [float(part) for part in orientation]
    if len(quaternion) < 4:
        return 0.0
    x, y, z, w = quaternion[:4]
    yaw = math.atan2(2.0 * (w * y + x * z), 1.0 - 2.0 * (y * y + z * z))
    return round(math.degrees(yaw) % 360, 1)
