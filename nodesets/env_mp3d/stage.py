"""The simulator of this process, and the episode in it."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from engine.components import below, foreign_imports
from engine.components.navigation import NavigationStage
from engine.statistics.navigation import ndtw_of
from engine.statistics.trajectory import Trajectory

from .scans import DATASETS, MATTERSIM, ROOT, SPLITS, Scan, episodes

RADIUS_M = 3.0
STEP_BUDGET = 30


class Mp3dStage(NavigationStage):
    """Headings are in radians, clockwise from +y; elevations from the horizon up."""

    def __init__(self) -> None:
        super().__init__()
        self._scans: dict[str, Scan] = {}
        self.episode: dict[str, Any] = {}

    def options(self, field: str) -> list[str]:
        return list(DATASETS if field == "dataset" else SPLITS)

    def episode_counts(self) -> dict[str, int]:
        """Of the splits whose file is there."""
        dataset = self.choice("dataset")
        files = {name: below(ROOT, f"tasks/{dataset}/data/{dataset}_{name}.json") for name in SPLITS}
        return {name: len(episodes(dataset, name)) for name, file in files.items() if os.path.exists(file)}

    def set_up(self) -> None:
        found = episodes(self.choice("dataset"), self.choice("split"))
        episode = found[self.index(len(found))]
        self.env = self.env or _simulator()
        self.episode, name = episode, episode["scan"]
        self.scan = self._scans[name] = self._scans.get(name) or Scan(name)
        self.restart()

    def restart(self) -> None:
        """Put the agent at the start of the episode."""
        path, heading = self.episode["path"], float(self.episode["heading"])
        self.env.newEpisode([self.episode["scan"]], [path[0]], [heading], [0.0])
        self.visited, self.walked = [], Trajectory(RADIUS_M)
        self._visit()

    def now(self) -> Any:
        """MatterSim's state: location.viewpointId, heading, elevation, navigableLocations, rgb."""
        return self.env.getState()[0]

    def here(self) -> str:
        return str(self.now().location.viewpointId)

    def go(self, target: str) -> None:
        """To any viewpoint that there is a way to, over those between, each time looking where it goes."""
        for name in self.scan.route(self.here(), target):
            self.look(self.bearing(name))
            names = [location.viewpointId for location in self.now().navigableLocations]
            self.env.makeAction([names.index(name)], [0.0], [0.0])
            self._visit()

    def look(self, towards: tuple[float, float]) -> None:
        """Turn on the spot to this heading and elevation."""
        state = self.now()
        turn = math.remainder(towards[0] - state.heading, 2 * math.pi)
        self.env.makeAction([0], [turn], [towards[1] - state.elevation])

    def bearing(self, name: str) -> tuple[float, float]:
        """Heading and elevation of a viewpoint from here."""
        x, y, z = np.subtract(self.scan.position[name], self.scan.position[self.here()]).tolist()
        return math.atan2(x, y) % (2 * math.pi), math.atan2(z, math.hypot(x, y))

    def metrics(self) -> dict[str, float]:
        """Distances are along the graph, in nDTW too."""
        found, path = super().metrics(), self.episode["path"]
        far = [self.scan.distances(wanted) for wanted in path]
        found["ndtw"] = ndtw_of([[column[name] for column in far] for name in self.visited], RADIUS_M)
        return dict(found, sdtw=found["success"] * found["ndtw"])

    def expert(self) -> str:
        """The next viewpoint on a shortest path, or STOP."""
        route = self.scan.route(self.here(), self.episode["path"][-1])
        return route[0] if route else "STOP"

    def step_budget(self) -> int:
        return STEP_BUDGET

    def facts(self) -> dict[str, Any]:
        if not self.episode:
            return {}
        scan, dataset = self.episode["scan"], self.choice("dataset")
        told = {"scene_id": scan, "scan_id": scan, "dataset": dataset, "extras_json": "{}"}
        return dict(told, episode_id=self.episode["instr_id"], instruction=self.episode["instruction"])

    def _visit(self) -> None:
        name = self.here()
        self.visited.append(name)
        self.walked.visit(self.scan.position[name], self.scan.distances(self.episode["path"][-1])[name])


def _simulator() -> Any:
    with foreign_imports(MATTERSIM):
        import MatterSim
    simulator, scans = MatterSim.Simulator(), below(ROOT, "data/v1/scans")
    simulator.setDatasetPath(scans)
    simulator.setNavGraphPath(below(ROOT, "connectivity"))
    simulator.setRenderingEnabled(os.path.isdir(scans))  # who has no images can still walk
    simulator.setCameraResolution(640, 480)
    simulator.setCameraVFOV(math.radians(60))
    simulator.setRestrictedNavigation(False)  # any neighbour, not only one in view
    simulator.initialize()
    return simulator
