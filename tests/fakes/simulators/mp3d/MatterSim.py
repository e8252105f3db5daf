"""A stand-in for MatterSim: its calls, state and refusals, on whatever connectivity files there are.

Taken down from Matterport3DSimulator's sources (include/MatterSim.hpp, src/lib/MatterSim.cpp and
src/lib_python/MatterSimPython.cpp), not from a running simulator. Undiscretised viewing angles, one walk.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

MAX_ELEVATION = 0.94


class Simulator:
    def __init__(self) -> None:
        self._rendered, self._restricted, self._state = True, True, SimpleNamespace()
        self._scans: dict[str, Any] = {}

    def setDatasetPath(self, path: str) -> None:
        self._images = Path(path)

    def setNavGraphPath(self, path: str) -> None:
        self._connectivity = Path(path)

    def setRenderingEnabled(self, value: bool) -> None:
        self._rendered = value

    def setRestrictedNavigation(self, value: bool) -> None:
        self._restricted = value

    def setCameraResolution(self, width: int, height: int) -> None:
        self._size = height, width

    def setCameraVFOV(self, vfov: float) -> None:
        self._vfov = vfov

    def initialize(self) -> None:
        assert not self._restricted, "the stand-in has no field of view"

    def newEpisode(self, scans: Any, viewpoints: Any, headings: Any, elevations: Any) -> None:
        (scan,), (name,), (heading,), (elevation,) = scans, viewpoints, headings, elevations
        if scan not in self._scans:
            self._scans[scan] = json.loads((self._connectivity / f"{scan}_connectivity.json").read_text())
        self._state.scanId, self._state.step = scan, 0
        self._place(name, heading, elevation)

    def getState(self) -> list[Any]:
        """The one live state, as pybind gives it."""
        return [self._state]

    def makeAction(self, index: Any, heading: Any, elevation: Any) -> None:
        (chosen,), (turn,), (tilt,) = index, heading, elevation
        if not 0 <= chosen < len(self._state.navigableLocations):
            raise ValueError(f"MatterSim: Invalid action index: {chosen} in environment 0 of 1")
        self._state.step += 1
        name = self._state.navigableLocations[chosen].viewpointId
        self._place(name, self._state.heading + turn, self._state.elevation + tilt)

    def close(self) -> None:
        self._state = None

    def _place(self, name: str, heading: float, elevation: float) -> None:
        state, items = self._state, self._scans[self._state.scanId]
        state.heading = heading % (2 * math.pi)
        state.elevation = max(-MAX_ELEVATION, min(MAX_ELEVATION, elevation))
        here = next(item for item in items if item["image_id"] == name and item["included"])
        state.location = self._seen(here, here)
        near = [
            self._seen(here, other)
            for number, other in enumerate(items)
            if here["unobstructed"][number] and other["included"]
        ]
        near.sort(key=lambda location: math.hypot(location.rel_heading, location.rel_elevation))
        state.navigableLocations = [state.location, *near]
        shade = round(state.heading / (2 * math.pi) * 255)
        state.rgb = (
            np.full((*self._size, 3), (shade, 0, 200), np.uint8) if self._rendered else np.zeros((0, 0, 3))
        )

    def _seen(self, here: Any, there: Any) -> Any:
        """Relative to where the camera looks; for where it stands, nothing."""
        x, y, z = (there["pose"][column] - here["pose"][column] for column in (3, 7, 11))
        same = there is here
        turn = 0.0 if same else math.remainder(math.atan2(x, y) - self._state.heading, 2 * math.pi)
        tilt = 0.0 if same else math.atan2(z, math.hypot(x, y)) - self._state.elevation
        place = {axis: there["pose"][column] for axis, column in (("x", 3), ("y", 7), ("z", 11))}
        far = math.sqrt(x * x + y * y + z * z)
        return SimpleNamespace(
            viewpointId=there["image_id"], rel_heading=turn, rel_elevation=tilt, rel_distance=far, **place
        )
