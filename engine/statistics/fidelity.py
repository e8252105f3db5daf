"""How faithfully an agent followed a reference path, and how often it bumped into things.

Arrays in, floats out, lengths in metres, as in :mod:`engine.statistics.navigation`: a *path* is an (N, D)
array of positions, N >= 1; distances are straight lines.

Sources:
    Ilharco et al. 2019, "General Evaluation for Instruction Conditioned Navigation using Dynamic Time
        Warping", arXiv:1907.05446 (SDTW)
    Jain et al. 2019, "Stay on the Path: Instruction Fidelity in Vision-and-Language Navigation",
        arXiv:1905.12255 (CLS)
    Savva et al. 2019, "Habitat: A Platform for Embodied AI Research", arXiv:1904.01201 (collisions)

Runs under foreign interpreters (Python 3.8+); numpy only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from engine.statistics.navigation import ndtw, path_length

if TYPE_CHECKING:
    import numpy.typing as npt


def sdtw(succeeded: float, path: npt.ArrayLike, reference: npt.ArrayLike, radius: float) -> float:
    """Success weighted by normalised DTW, S * nDTW, in [0, 1] (Ilharco et al. 2019).

    ``succeeded``: S in [0, 1]; the paper's is 1 where the path ends within ``radius`` metres of where the
    reference does. Raises ValueError as :func:`engine.statistics.navigation.ndtw` does.
    """
    if not 0 <= succeeded <= 1:
        raise ValueError(f"succeeded is {succeeded}; it must lie between 0 and 1")
    return float(succeeded) * ndtw(path, reference, radius)


def cls(path: npt.ArrayLike, reference: npt.ArrayLike, radius: float) -> float:
    """Coverage weighted by length score, in [0, 1]; 1 where the paths are the same (Jain et al. 2019).

    Coverage PC is the mean over the reference's positions of exp(-d / radius), d being the distance to the
    nearest position of the path. The length score compares the path's length with what that coverage leads
    one to expect, EPL = PC * PL(reference): EPL / (EPL + |EPL - PL(path)|); it is 1 where both are 0.
    ``radius``: the paper's d_th, the success threshold in metres, above 0. Raises ValueError for a radius or
    a path that is none. O(N * M).
    """
    if not 0 < radius < math.inf:
        raise ValueError(f"radius is {radius}; it must be a length in metres, above 0")
    travelled, wanted = path_length(path), path_length(reference)
    walked, points = np.asarray(path, np.float64), np.asarray(reference, np.float64)
    if walked.shape[1] != points.shape[1]:
        raise ValueError(
            f"path has {walked.shape[1]} coordinates and reference {points.shape[1]}; they must agree"
        )
    nearest = np.linalg.norm(points[:, None] - walked[None], axis=2).min(axis=1)
    coverage = float(np.exp(-nearest / radius).mean())
    expected = coverage * wanted
    excess = abs(expected - travelled)
    return coverage * (expected / (expected + excess) if expected + excess > 0 else 1.0)


def collision_rate(collided: npt.ArrayLike) -> float:
    """Share of steps, in [0, 1], in which the agent collided; NaN, that is not measured, without any step.

    ``collided``: (T,) of bool or 0 and 1, one for each step taken, such as Habitat's
    ``collisions.is_collision``. Raises ValueError for any other array.
    """
    steps = np.asarray(collided)
    if steps.ndim != 1 or not np.isin(steps, (0, 1)).all():
        raise ValueError(f"collided, of shape {steps.shape}, must be (T,) and hold only true and false")
    return float(steps.mean(dtype=np.float64)) if steps.size else math.nan
