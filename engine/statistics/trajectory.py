"""One navigation episode as it is walked, and all its measures, by the names that a run's tables know.

Sources: see :mod:`engine.statistics.navigation` and :mod:`engine.statistics.fidelity`.
Runs under foreign interpreters (Python 3.8+); numpy only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.statistics import navigation
from engine.statistics.fidelity import sdtw

if TYPE_CHECKING:
    import numpy.typing as npt

MEASURES = ("success", "spl", "soft_spl", "oracle_success", "navigation_error", "path_length", "ndtw", "sdtw")


class Trajectory:
    """``radius``: the success threshold in metres. ``reference``: (M, D) positions of the path that the
    instruction describes, or None, in which case ``ndtw`` and ``sdtw`` are not measured. ``stopped``: whether
    the agent itself said that it is there."""

    def __init__(self, radius: float, reference: npt.ArrayLike | None = None) -> None:
        self._radius, self._reference = radius, reference
        self.path: list[list[float]] = []
        self.distances: list[float] = []
        self.stopped = False

    def visit(self, position: npt.ArrayLike, distance_to_goal: float) -> None:
        """The agent is at ``position``, (D,) in metres, and the goal so far away along a shortest path."""
        self.path.append(np.asarray(position, np.float64).tolist())
        self.distances.append(float(distance_to_goal))

    @property
    def steps(self) -> int:
        """Places visited after the first; a place counts as often as it is visited."""
        return len(self.path) - 1

    def measures(self) -> dict[str, float]:
        """MEASURES, lengths in metres; ValueError where a position or distance is none."""
        success = navigation.success(self.distances, self._radius, self.stopped)
        travelled = navigation.path_length(self.path)
        found = {
            "success": success,
            "spl": navigation.spl(success, self.distances[0], travelled),
            "soft_spl": navigation.soft_spl(self.distances, travelled),
            "oracle_success": navigation.oracle_success(self.distances, self._radius),
            "navigation_error": navigation.navigation_error(self.distances),
            "path_length": travelled,
        }
        if self._reference is not None:
            # An agent that turns on the spot has not gone on; VLN-CE counts such places once, too.
            moved = [here for here, before in zip(self.path, [[], *self.path]) if here != before]
            found["ndtw"] = navigation.ndtw(moved, self._reference, self._radius)
            found["sdtw"] = sdtw(success, moved, self._reference, self._radius)
        return found
