"""The simulator of this process, and the episode in it."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import Any

import numpy as np

from engine.components.navigation import NavigationStage
from engine.statistics.trajectory import Trajectory

from .tasks import TASKS, Settings


class HabitatStage(NavigationStage):
    """Keeps the simulator for the next episode, as long as its settings are the same. Positions are in
    metres, y up; rotations are (x, y, z, w) quaternions."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: tuple[str, ...] = ()
        self.episode: Any = None

    def options(self, field: str) -> list[str]:
        return list(TASKS[self.choice("dataset")][1]) if field == "split" else list(TASKS)

    def episode_counts(self) -> dict[str, int]:
        """Of the chosen split: that takes reading its episodes, but no scene."""
        settings = Settings(*self._wanted())
        from habitat.datasets import make_dataset

        return {self.choice("split"): len(make_dataset(settings.kind, config=settings.data).episodes)}

    def set_up(self) -> None:
        if self._wanted() != self._opened:
            settings = Settings(*self._wanted())
            import habitat

            self.close()
            self.env, self.settings, self._opened = habitat.Env(settings.config), settings, self._wanted()
        self.episode = self.env.episodes[self.index(len(self.env.episodes))]
        self.restart()

    def restart(self) -> None:
        """Put the agent at the start of the episode."""
        self.env.seed(self.number("seed") % 2**32)
        self.env.episode_iterator = iter([self.episode])  # the one way to choose, in every version
        self.observations = dict(self.env.reset())
        described = getattr(self.episode, "reference_path", None)
        true_path = self.settings.paths.get(str(self.episode.episode_id), described)
        self.walked = Trajectory(self.settings.radius, true_path)
        self._visit()

    def act(self, action: int) -> None:
        """A number in ACTIONS. Once habitat has ended the episode at its limit nothing moves any more."""
        self.refuse_after_stop()
        if not self.env.episode_over:
            self.observations = dict(self.env.step({"action": self.settings.actions[action]}))
            self._visit()
            self.walked.stopped = action == 0

    def expert(self) -> int:
        """What habitat's follower of shortest paths does, on its way to the first goal or view point."""
        from habitat.tasks.nav.shortest_path_follower import ShortestPathFollower

        goal, radius = self.episode.goals[0], min(0.5, self.settings.radius)
        views = getattr(goal, "view_points", None)
        target = np.asarray(views[0].agent_state.position if views else goal.position)
        return int(ShortestPathFollower(self.env.sim, radius, False).get_next_action(target) or 0)

    def facts(self) -> dict[str, str]:
        """``scene_id``: zsNo4HB9uLZ of data/scene_datasets/mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb."""
        if self.episode is None:
            return {}
        episode, told = self.episode, getattr(self.episode, "instruction", None)
        scene = PurePath(episode.scene_id).name.partition(".")[0]
        wanted = told.instruction_text if told else f"find a {episode.object_category}".replace("_", " ")
        return {"episode_id": str(episode.episode_id), "scene_id": scene, "instruction": wanted}

    def step_budget(self) -> int:
        return int(self.settings.max_steps)

    def pose(self, yaw: float = 0.0) -> tuple[list[float], list[float]]:
        """Position, and rotation once turned left by ``yaw`` radians."""
        now = self.env.sim.get_agent_state()
        sine, cosine, q = math.sin(yaw / 2), math.cos(yaw / 2), now.rotation
        x, y = q.x * cosine - q.z * sine, q.y * cosine + q.w * sine
        z, w = q.z * cosine + q.x * sine, q.w * cosine - q.y * sine
        return [float(v) for v in now.position], [float(v) for v in (x, y, z, w)]

    def close(self) -> None:
        super().close()
        self.episode, self._opened = None, ()

    def _visit(self) -> None:
        self.walked.visit(self.pose()[0], self.env.get_metrics()["distance_to_goal"])

    def _wanted(self) -> tuple[str, ...]:
        return self.choice("dataset"), self.choice("split"), self.text("overrides")
