"""Known rules on control tasks, against the reward that Gymnasium calls solved."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from tests.reference.figures import AT_LEAST, Figure, Published, Room, Rule, shown

_PPO = "CartPole-v1, PPO"
_SB3 = pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="wants the extra models")


def _figure(env_id: str, n: int, threshold: float, rule: Rule = AT_LEAST) -> Figure:
    run = ("control_rule", "--select", f"env_id={env_id}")
    return Figure(env_id, run, n, "return", Published(threshold, "threshold"), rule)


ROOM = Room(
    "Rules on control tasks",
    "Mean returns; `reward_threshold` of Gymnasium's spec. LunarLander by the heuristic that Gymnasium ships,"
    " the others by a rule of one line (`nodesets/env_gymnasium/rules.py`). PPO is the policy that comes with"
    " `policy_sb3` (extra `models`).",
    [
        _figure("CartPole-v1", 4, 475),
        Figure(_PPO, ("cartpole_sb3",), 4, "return", Published(475, "threshold"), AT_LEAST),
        _figure("Acrobot-v1", 20, -100),
        _figure("MountainCar-v0", 15, -110, shown("the rule falls short")),
        _figure("LunarLander-v3", 20, 200),
        _figure("LunarLanderContinuous-v3", 20, 200),
    ],
)


@pytest.mark.reference
@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(figure, marks=[_SB3] if figure.name == _PPO else [], id=figure.name)
        for figure in ROOM.figures
    ],
)
def test_the_threshold_is_reached(figure: Figure, reproduce: Any) -> None:
    reproduce(ROOM, figure)
