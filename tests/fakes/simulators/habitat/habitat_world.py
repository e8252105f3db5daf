"""A stand-in for habitat-lab and habitat-sim: their calls, values, shapes and refusals, and an empty floor.

Taken down from the sources of habitat-lab v0.1.7 and v0.3.4 (core/env.py, core/embodied_task.py,
sims/habitat_simulator, tasks/nav, tasks/vln, datasets) and VLN-CE (habitat_extensions), not from a running
simulator. Walls there are none, so that a geodesic distance is a straight line.
"""

from __future__ import annotations

import math
import sys
import types
from types import SimpleNamespace
from typing import Any

import numpy as np


class Quaternion(SimpleNamespace):
    """As numpy-quaternion's, which habitat-sim gives: attributes x, y, z, w."""


class Sim:
    def __init__(self, forward: float, turn_degrees: float) -> None:
        self._forward, self._turn = forward, math.radians(turn_degrees)
        self.previous_step_collided = False
        self.set_agent_state([0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0])

    def seed(self, seed: int) -> None:
        assert isinstance(seed, int)

    def get_agent_state(self, agent_id: int = 0) -> Any:
        x, y, z, w = self._rotation
        return SimpleNamespace(position=self._position.copy(), rotation=Quaternion(x=x, y=y, z=z, w=w))

    def set_agent_state(
        self, position: list[float], rotation: list[float], agent_id: int = 0, reset_sensors: bool = True
    ) -> bool:
        assert len(position) == 3
        assert len(rotation) == 4
        self._position, self._rotation = np.array(position, np.float32), [np.float32(v) for v in rotation]
        return True

    def get_observations_at(
        self, position: Any = None, rotation: Any = None, keep_agent_at_new_pose: bool = False
    ) -> dict[str, Any]:
        before = self._position.tolist(), list(self._rotation)
        self.set_agent_state(position, rotation)
        seen = self.see()
        self.set_agent_state(*before)
        return seen

    def see(self) -> dict[str, Any]:
        """What a pixel holds tells where one looks: red grows with the yaw."""
        rgb = np.zeros((24, 32, 3), np.uint8)
        rgb[..., 0] = round(self.yaw() / (2 * math.pi) * 255)
        depth = np.linspace(0, 1, 24 * 32, dtype=np.float32).reshape(24, 32, 1)
        return {"rgb": rgb, "depth": depth}

    def yaw(self) -> float:
        """To the left of -z, in [0, 2 pi)."""
        return 2 * math.atan2(float(self._rotation[1]), float(self._rotation[3])) % (2 * math.pi)

    def move(self, name: str) -> None:
        if name == "move_forward":
            ahead = np.array([-math.sin(self.yaw()), 0, -math.cos(self.yaw())], np.float32)
            self._position = self._position + np.float32(self._forward) * ahead
        elif name in ("turn_left", "turn_right"):
            yaw = self.yaw() + (self._turn if name == "turn_left" else -self._turn)
            self._rotation = [np.float32(v) for v in (0, math.sin(yaw / 2), 0, math.cos(yaw / 2))]


class Env:
    """``habitat.Env``; ``facts`` says what its configuration comes to."""

    def __init__(self, config: Any, dataset: Any = None) -> None:
        self.facts = config.facts
        self.episodes = make_dataset(config.facts.kind, config.facts.data).episodes
        self.episode_iterator: Any = iter(self.episodes)
        self.sim = Sim(config.facts.forward, config.facts.turn)
        self.current_episode: Any = None
        self.episode_over = False

    def seed(self, seed: int) -> None:
        np.random.seed(seed)  # refuses what is no uint32
        self.sim.seed(seed)

    def reset(self) -> dict[str, Any]:
        self.current_episode = next(self.episode_iterator)
        self.episode_over, self._steps = False, 0
        start = self.current_episode
        self.sim.set_agent_state(start.start_position, start.start_rotation)
        return self._observe()

    def step(self, action: Any) -> dict[str, Any]:
        assert self.current_episode is not None, "Cannot call step before calling reset"
        assert self.episode_over is False, "Episode over, call reset before calling step"
        name = action["action"]
        assert name in self.facts.actions, f"Can't find '{name}' action in {self.facts.actions}."
        self.sim.move(name.lower())
        self._steps += 1
        self.episode_over = name.lower() == "stop" or self._steps >= self.facts.max_steps
        return self._observe()

    def get_metrics(self) -> dict[str, Any]:
        here = self.sim.get_agent_state().position
        goals = [np.array(view.agent_state.position) for goal in self.current_episode.goals
                 for view in getattr(goal, "view_points", None) or []]  # fmt: skip
        goals = goals or [np.array(goal.position) for goal in self.current_episode.goals]
        return {"distance_to_goal": np.float64(min(np.linalg.norm(goal - here) for goal in goals))}

    def close(self) -> None:
        self.sim = None

    def _observe(self) -> dict[str, Any]:
        seen = self.sim.see()
        told = getattr(self.current_episode, "instruction", None)
        if told is not None:
            seen["instruction"] = {"text": told.instruction_text, "tokens": [1, 2, 0], "trajectory_id": 7}
        else:
            seen.update(
                objectgoal=np.array([3]), gps=np.zeros(2, np.float32), compass=np.zeros(1, np.float32)
            )
        return seen


def make_dataset(id_dataset: str, config: Any) -> Any:
    """Three episodes a split, each with its goal a little farther ahead."""
    make = _object if id_dataset == "ObjectNav-v1" else _vln
    return SimpleNamespace(episodes=[make(index, config.split) for index in range(3)])


def _vln(index: int, split: str) -> Any:
    goal = [0.5 * index, 0.0, -4.0 - index]
    return _episode(
        index,
        f"data/scene_datasets/mp3d/scene{index}/scene{index}.glb",
        [SimpleNamespace(position=goal, radius=3.0)],
        reference_path=[[0.0, 0.0, 0.0], [goal[0] / 2, 0.0, goal[2] / 2], goal],
        instruction=SimpleNamespace(instruction_text=f"Walk ahead, {split}.", instruction_tokens=[1, 2, 0]),
        trajectory_id=7,
    )


def _object(index: int, split: str) -> Any:
    view = SimpleNamespace(agent_state=SimpleNamespace(position=[0.0, 0.0, -2.0 - index]), iou=0.5)
    goal = SimpleNamespace(position=[0.0, 1.0, -3.0 - index], object_id="9", view_points=[view])
    scene = f"data/scene_datasets/hm3d/val/00800-scene{index}/scene{index}.basis.glb"
    return _episode(index, scene, [goal], object_category="tv_monitor")


def _episode(index: int, scene: str, goals: list[Any], **more: Any) -> Any:
    start = {"start_position": [0.0, 0.0, 0.0], "start_rotation": [0.0, 0.0, 0.0, 1.0]}
    return SimpleNamespace(episode_id=str(100 + index), scene_id=scene, goals=goals, **start, **more)


class ShortestPathFollower:
    def __init__(
        self, sim: Sim, goal_radius: float, return_one_hot: bool = True, stop_on_error: bool = True
    ) -> None:
        assert not return_one_hot
        self._sim, self._radius = sim, goal_radius

    def get_next_action(self, goal_pos: Any) -> int:
        """0 stop, 1 forward, 2 left, 3 right."""
        away = np.asarray(goal_pos) - self._sim.get_agent_state().position
        if math.hypot(away[0], away[2]) <= self._radius:
            return 0
        bearing = (math.atan2(-away[0], -away[2]) - self._sim.yaw() + math.pi) % (2 * math.pi) - math.pi
        if abs(bearing) <= self._sim._turn / 2 + 1e-6:
            return 1
        return 2 if bearing > 0 else 3


def install(get_config: Any, package: str = "habitat") -> None:
    """The modules that an import finds once ``package`` is imported."""
    parts = {
        "habitat.config": {},
        "habitat.config.default": {"get_config": get_config},
        "habitat.datasets": {"make_dataset": make_dataset},
        "habitat.tasks": {},
        "habitat.tasks.nav": {},
        "habitat.tasks.nav.shortest_path_follower": {"ShortestPathFollower": ShortestPathFollower},
        "habitat_extensions.config": {},
        "habitat_extensions.config.default": {"get_extended_config": get_config},
    }
    for name, content in parts.items():
        if name.startswith(package + "."):
            module = sys.modules[name] = types.ModuleType(name)
            module.__dict__.update(content, __path__=[])
