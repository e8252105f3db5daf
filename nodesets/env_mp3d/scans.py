"""What Matterport3DSimulator's checkout holds: scans' graphs of viewpoints, and the episodes in them."""

from __future__ import annotations

import heapq
import json
import math
from functools import lru_cache
from typing import Any

from engine.components import Package, below

ROOT = "EVALTOWER_MP3D_ROOT"
CHECKOUT = f"set {ROOT} to a checkout of Matterport3DSimulator"
DOWNLOAD = f"{CHECKOUT}, and run its tasks/R2R/data/download.sh"
MATTERSIM = Package(
    ("MatterSim",), f"{CHECKOUT}, and build it (cmake -DEGL_RENDERING=ON ..)", beside=f"{ROOT}/build"
)
DATASETS = ("R2R", "R4R")
SPLITS = ("val_unseen", "val_seen", "train")  # of test nobody knows the goals


class Scan:
    """Viewpoints by id: ``position`` [x, y, z] in metres, z up, and ``edges`` {neighbour: metres}."""

    def __init__(self, name: str) -> None:
        items = _read(f"connectivity/{name}_connectivity.json", CHECKOUT)
        found = [item if item["included"] else None for item in items]
        self.position: dict[str, list[float]] = {}
        self.edges: dict[str, dict[str, float]] = {}
        for item in filter(None, found):
            self.position[item["image_id"]] = [item["pose"][column] for column in (3, 7, 11)]
        for item in filter(None, found):
            open_to = [
                other["image_id"] for other, free in zip(found, item["unobstructed"]) if free and other
            ]
            here = self.position[item["image_id"]]
            self.edges[item["image_id"]] = {name: math.dist(here, self.position[name]) for name in open_to}
        self._known: dict[str, dict[str, float]] = {}

    def distances(self, goal: str) -> dict[str, float]:
        """Metres to ``goal`` along the edges, from wherever there is a way; to an unknown one none."""
        if goal not in self._known:
            far, queue = {goal: 0.0}, [(0.0, goal)]
            while queue:
                walked, here = heapq.heappop(queue)
                for name, length in self.edges.get(here, {}).items():
                    if walked + length < far.get(name, math.inf):
                        far[name] = walked + length
                        heapq.heappush(queue, (far[name], name))
            self._known[goal] = far
        return self._known[goal]

    def route(self, here: str, goal: str) -> list[str]:
        """The viewpoints of a shortest path after ``here``; empty where there is none, or nothing to go."""
        far, steps = self.distances(goal), []
        while here != goal and here in far:
            edges = self.edges[here]
            here = min(edges, key=lambda name: edges[name] + far[name])
            steps.append(here)
        return steps


@lru_cache(maxsize=4)
def episodes(dataset: str, split: str) -> list[dict[str, Any]]:
    """One for each instruction of each path, in the file's order, with ``instr_id`` and ``instruction``."""
    paths = _read(f"tasks/{dataset}/data/{dataset}_{split}.json", DOWNLOAD)
    return [
        {**path, "instr_id": f"{path['path_id']}_{number}", "instruction": text}
        for path in paths
        for number, text in enumerate(path["instructions"])
    ]


def _read(path: str, remedy: str) -> Any:
    """A file of the checkout. ValueError where it is not there, with what brings it."""
    try:
        with open(below(ROOT, path)) as stream:
            return json.load(stream)
    except FileNotFoundError as error:
        raise ValueError(f"there is no {error.filename}: {remedy}") from None
