"""A checkout of Matterport3DSimulator with one made-up scan, in the files' real formats."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.nodesets.adapter_host import SIMULATORS

#   e     a, b, c, d lie 4 m apart along +y, e 3 m east of b and 1 m up; x is left out of the simulator,
#  /      and i is an island.
PLACES = {"a": (0, 0, 1.5), "b": (0, 4, 1.5), "c": (0, 8, 1.5), "d": (0, 12, 1.5), "e": (3, 4, 2.5)}
PLACES |= {"x": (1, 1, 1.5), "i": (90, 90, 1.5)}
EDGES = {"ab", "bc", "cd", "be", "ax", "xc"}
SCAN = "17DRP5sb8fy"


def make_world(root: Path, images: bool = True) -> dict[str, str]:
    """The folder's files, and the variable that points at it."""
    shutil.copytree(SIMULATORS / "mp3d", root / "build", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "connectivity").mkdir()
    (root / "connectivity" / f"{SCAN}_connectivity.json").write_text(json.dumps(_connectivity()))
    data = root / "tasks" / "R2R" / "data"
    data.mkdir(parents=True)
    (data / "R2R_val_unseen.json").write_text(json.dumps(_paths()))
    if images:
        (root / "data" / "v1" / "scans").mkdir(parents=True)
    return {"EVALTOWER_MP3D_ROOT": str(root)}


def _connectivity() -> list[dict[str, object]]:
    def free(one: str, other: str) -> bool:
        return one + other in EDGES or other + one in EDGES

    return [
        {
            "image_id": name,
            "pose": [1, 0, 0, place[0], 0, 1, 0, place[1], 0, 0, 1, place[2], 0, 0, 0, 1],
            "included": name != "x",
            "visible": [True] * len(PLACES),
            "unobstructed": [free(name, other) for other in PLACES],
            "height": 1.5,
        }
        for name, place in PLACES.items()
    ]


def _paths() -> list[dict[str, object]]:
    said = ["Go straight on.", "Walk to the far end.", "Keep going."]
    shared = {"scan": SCAN, "heading": 0.5, "instructions": said}
    return [
        {"path_id": 4332, "path": ["a", "b", "c", "d"], "distance": 12.0, **shared},
        {"path_id": 21, "path": ["e", "b", "a"], "distance": 7.16, **shared},
    ]
