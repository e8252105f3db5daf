"""Any environment with a Gym interface, by id or entry string: one a process, one episode at a time.

Imports numpy alone; the environment's own library is imported when an episode needs it, by the interpreter
that runs this nodeset: ``$EVALTOWER_GYM_PYTHON``, conda environment ``evaltower-gym``, or Evaltower's own.
"""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, BaseNodeSet, Package, conda_env_python, extra
from engine.components.drawing import mujoco_draws

from .agents import BabyAIBotAction, OptimalAction, RandomAction
from .describe import Describe
from .panel import GymnasiumPanel
from .rules import RuleAction
from .session import METRICS, Session
from .tools import Evaluate, Render, Reset, StepContinuous, StepDiscrete

EPISODES = 1000
"""Seeded environments have no end; this many are what ``--all`` (episode_count -1) means here."""


_PYTHON = "EVALTOWER_GYM_PYTHON"
_MUJOCO = "(Ant|HalfCheetah|Hopper|Humanoid|Inverted|Pusher|Reacher|Swimmer|Walker2d)[A-Za-z]*-v[45]"
PACKAGES = tuple(
    Package(modules, extra(brought_by, _PYTHON), {"env_id": ids}, only_for, stands_on=tuple(more))
    for modules, brought_by, ids, only_for, *more in (
        (("gymnasium", "gym"), "gym", "[^:]*", "registered ids"),
        (("minigrid",), "gym", "(BabyAI|MiniGrid)-.*", "MiniGrid and BabyAI"),
        (("mujoco",), "simulators", _MUJOCO, "MuJoCo's tasks"),
        (("Box2D",), "simulators", "(LunarLander|BipedalWalker|CarRacing).*", "Box2D's tasks"),
        (("ale_py",), "simulators", "ALE/.*", "Atari"),
        (("miniworld",), "simulators", "MiniWorld-.*", "MiniWorld", "pyglet"),
    )
)


class EnvGymnasium(BaseNodeSet):
    """Gymnasium and old Gym environments, MiniGrid and BabyAI among them."""

    name = "env_gymnasium"
    description = (
        "Any Gymnasium or old Gym environment by id or entry string (MuJoCo, Box2D, Atari, MiniGrid,"
        " MiniWorld); random, optimal and rule agents, the BabyAI bot"
    )
    parallelism = "replicated"
    server_python = conda_env_python("evaltower-gym", _PYTHON)
    packages = PACKAGES
    conditions = mujoco_draws({"env_id": _MUJOCO}, "MuJoCo's tasks")
    expected_vram_mb = 0
    # Between BabyAI's 50 and the 250 to 320 of what draws in 3D.
    expected_ram_mb = 300
    # Some renderers leak tens of MB an environment (MiniWorld: 36). Episodes do not notice a restart.
    recycle_above_mb = 768
    env_panel = GymnasiumPanel
    scenes_are_tasks = True  # the environment's id

    def __init__(self) -> None:
        self.session = Session()

    def get_tools(self) -> list[BaseCanvasNode]:
        kinds = (
            Reset,
            StepDiscrete,
            StepContinuous,
            Render,
            Evaluate,
            RandomAction,
            BabyAIBotAction,
            OptimalAction,
            RuleAction,
        )
        return [Describe(), *(kind(self.session) for kind in kinds)]

    async def shutdown(self) -> None:
        self.session.close()

    async def get_eval_metadata(self) -> dict[str, Any]:
        """``step_budget`` is None: it is the chosen environment's own, and comes with each episode."""
        return {
            "env_name": "Gymnasium",
            "splits": ["default"],
            "episode_counts": {"default": EPISODES},
            "metrics": list(METRICS),
            "supports_set_episode": True,
            "step_budget": None,
        }
