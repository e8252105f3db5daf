"""Uniform random actions in MuJoCo tasks: mean returns of JAT, whose tasks are v4."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference.figures import AGREES, Figure, Published, Room, shown

_STEPS = 1_000_000
# task: step limit, JAT's mean and sd, our episodes
_JAT: dict[str, tuple[int, float, float, int]] = {
    "Ant": (1000, -59.945360, 99.618959, 20),
    "HalfCheetah": (1000, -284.969207, 79.834835, 8),
    "Hopper": (1000, 18.380234, 17.088564, 60),
    "Humanoid": (1000, 122.024744, 35.282504, 60),
    "InvertedDoublePendulum": (1000, 57.455089, 17.543463, 60),
    "InvertedPendulum": (1000, 6.070226, 3.470639, 60),
    "Pusher": (100, -149.686492, 7.406377, 20),
    "Reacher": (50, -43.002007, 3.912440, 30),
    "Swimmer": (1000, 0.804966, 10.710646, 4),
    "Walker2d": (1000, 2.681313, 6.059960, 60),
}
_REFUSED = ("Pusher", "v4")
"""Gymnasium has it for mujoco < 3 alone."""
_V5_LACKS = {"Hopper": 1.0, "InvertedPendulum": 1.0, "InvertedDoublePendulum": 10.0}
"""What v4 pays for the step on which the task ends, and v5 does not."""
_VERSIONS = ("v4", "v5")


def _figure(task: str, version: str) -> Figure:
    limit, mean, sd, n = _JAT[task]
    run = ("mujoco_random", "--select", f"env_id={task}-{version}")
    rule = AGREES if version == "v4" else shown("v5 is another task")
    return Figure(
        f"{task}-{version}", run, n, "return", Published(mean, "JAT, v4", sd, _STEPS // limit), rule
    )


ROOM = Room(
    "MuJoCo, random agent",
    "Mean returns, JAT's as above. It has v4 tasks; the same seeds pay exactly 1 less in v5 of Hopper and"
    " InvertedPendulum, and 10 less in InvertedDoublePendulum: asserted. Pusher-v4 wants mujoco < 3.",
    [_figure(task, version) for task in _JAT for version in _VERSIONS if (task, version) != _REFUSED],
)


@pytest.mark.reference
@pytest.mark.parametrize("task", _JAT)
def test_returns_are_the_published_ones_and_seeds_tell_the_versions_apart(task: str, reproduce: Any) -> None:
    returns = {
        version: {
            row["episode_index"]: row["metrics"]["return"]
            for row in reproduce(ROOM, ROOM[f"{task}-{version}"])["episodes"]
        }
        for version in _VERSIONS
        if (task, version) != _REFUSED
    }
    if task in _V5_LACKS:
        less = [returns["v4"][episode] - got for episode, got in returns["v5"].items()]
        assert less == pytest.approx([_V5_LACKS[task]] * len(less), abs=1e-9)
