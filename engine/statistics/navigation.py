"""Measures of one navigation episode: arrays in, floats out, lengths in metres.

A *path* is an (N, D) array of positions, N >= 1. *Distances to the goal* are an (N,) array, one for each
position of the path, measured along the shortest path that the agent could take (geodesic); infinity where
there is none.

Sources:
    Anderson et al. 2018a, "On Evaluation of Embodied Navigation Agents", arXiv:1807.06757: success, SPL
    Anderson et al. 2018b, "Vision-and-Language Navigation", arXiv:1711.07280: error, oracle success
    Datta et al. 2020, "Integrating Egocentric Localization for More Realistic Point-Goal Navigation Agents",
    arXiv:2009.03231: SoftSPL
    Ilharco et al. 2019, "General Evaluation for Instruction Conditioned Navigation using Dynamic Time
    Warping", arXiv:1907.05446: DTW, nDTW

Runs under foreign interpreters (Python 3.8+); numpy only.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def success(distances_to_goal: npt.ArrayLike, radius: float, stopped: bool = True) -> float:
    """1.0 where the agent stopped of its own accord within ``radius`` metres of the goal, else 0.0.

    Anderson et al. 2018a, section 3: reaching the goal counts only if the agent says that it has.
    """
    return float(stopped and navigation_error(distances_to_goal) <= _length("radius", radius))


def oracle_success(distances_to_goal: npt.ArrayLike, radius: float) -> float:
    """1.0 where any position of the path was within ``radius`` metres of the goal (Anderson et al. 2018b)."""
    return float(_distances(distances_to_goal).min() <= _length("radius", radius))


def navigation_error(distances_to_goal: npt.ArrayLike) -> float:
    """Metres from the last position to the goal (Anderson et al. 2018b)."""
    return float(_distances(distances_to_goal)[-1])


def path_length(path: npt.ArrayLike) -> float:
    """Metres travelled: the sum of the straight lines between positions."""
    return float(np.linalg.norm(np.diff(_path("path", path), axis=0), axis=1).sum())


def spl(succeeded: float, shortest: float, travelled: float) -> float:
    """Success weighted by path length, S * l / max(p, l), in [0, 1] (Anderson et al. 2018a, equation 1).

    ``succeeded``: S in [0, 1]; ``shortest``: l, metres from the start to the goal; ``travelled``: p, metres.
    An agent that starts at the goal and stays has an efficiency of 1; one that moves there, of 0.
    """
    if not 0 <= succeeded <= 1:
        raise ValueError(f"succeeded is {succeeded}; it must lie between 0 and 1")
    return float(succeeded) * _efficiency(_length("shortest", shortest), _length("travelled", travelled))


def soft_spl(distances_to_goal: npt.ArrayLike, travelled: float) -> float:
    """SPL with progress in place of success: max(0, 1 - d_end / d_start) * l / max(p, l), in [0, 1].

    Datta et al. 2020; l is d_start, ``travelled`` is p in metres. An agent that starts at the goal has
    progress 1 if it ends there, else 0.
    """
    distances = _distances(distances_to_goal)
    start, end = float(distances[0]), float(distances[-1])
    if not (math.isfinite(start) and math.isfinite(end)):
        return 0.0
    progress = max(0.0, 1 - end / start) if start > 0 else float(end == 0)
    return progress * _efficiency(start, _length("travelled", travelled))


def dtw(path: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Dynamic time warping: the least sum of distances over all monotone pairings of the two paths, in
    metres.

    Ilharco et al. 2019, equations 1 to 3, with straight-line distances. O(N * M).
    """
    walked, wanted = _path("path", path), _path("reference", reference)
    if walked.shape[1] != wanted.shape[1]:
        raise ValueError(
            f"path has {walked.shape[1]} coordinates and reference {wanted.shape[1]}; they must agree"
        )
    return _warped(np.linalg.norm(walked[:, None] - wanted[None], axis=2))


def _warped(costs: npt.NDArray[np.float64]) -> float:
    row = list(accumulate(costs[0].tolist()))
    for cost in costs[1:].tolist():
        entry = [row[0], *map(min, row, row[1:])]
        first = cost[0] + entry[0]
        steps = zip(cost[1:], entry[1:])
        row = list(accumulate(steps, lambda left, step: step[0] + min(left, step[1]), initial=first))
    return float(row[-1])


def ndtw(path: npt.ArrayLike, reference: npt.ArrayLike, radius: float) -> float:
    """Normalised DTW, exp(-DTW / (|reference| * radius)), in (0, 1]; 1 where the paths are the same.

    Ilharco et al. 2019, equation 4: |reference| is its number of positions, ``radius`` the success
    threshold in metres, above 0.
    """
    if not _length("radius", radius) > 0:
        raise ValueError("radius is 0; it must be above 0")
    return math.exp(-dtw(path, reference) / (_path("reference", reference).shape[0] * radius))


def ndtw_of(distances: npt.ArrayLike, radius: float) -> float:
    """As ``ndtw``, where the (N, M) distances between the two paths' positions are not straight lines: on a
    graph they are those of its shortest paths (Ilharco et al. 2019, section 4). ValueError for others."""
    costs = np.asarray(distances, np.float64)
    if costs.ndim != 2 or costs.size == 0 or not (costs >= 0).all():
        raise ValueError(f"distances has shape {costs.shape}; it must be (N, M), and hold lengths in metres")
    if not _length("radius", radius) > 0:
        raise ValueError("radius is 0; it must be above 0")
    return math.exp(-_warped(costs) / (costs.shape[1] * radius))


def _efficiency(shortest: float, travelled: float) -> float:
    if math.isinf(shortest):
        return 0.0
    longest = max(shortest, travelled)
    return shortest / longest if longest > 0 else 1.0


def _length(name: str, value: float) -> float:
    if not value >= 0:
        raise ValueError(f"{name} is {value}; it must be a length in metres, 0 or more")
    return float(value)


def _distances(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    distances = np.asarray(values, np.float64)
    if distances.ndim != 1 or distances.size == 0:
        raise ValueError(f"distances_to_goal has shape {distances.shape}; it must be (N,) with N >= 1")
    if not (distances >= 0).all():
        raise ValueError(
            "distances_to_goal holds a negative number or NaN; distances are 0 or more, or infinite"
        )
    return distances


def _path(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    path = np.asarray(values, np.float64)
    if path.ndim != 2 or path.size == 0:
        raise ValueError(f"{name} has shape {path.shape}; it must be (N, D) with N >= 1 and D >= 1")
    if not np.isfinite(path).all():
        raise ValueError(f"{name} holds a position that is not finite")
    return path
