"""One episode under way: where the agent is, what it did, how it is scored."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from random import Random

import numpy as np

from engine.components.seeds import derive
from engine.statistics import navigation

from .episodes import Episode
from .eye import Eye
from .house import CELL_M, Cell, neighbours

STOP, FORWARD, LEFT, RIGHT = range(4)
METRICS = ("success", "spl", "oracle_success", "navigation_error", "path_length", "ndtw")
ACTIONS = ("stop", "forward", "turn_left", "turn_right")
_TURNED = {LEFT: 3, RIGHT: 1}
_YAW = ((-sqrt(0.5), sqrt(0.5)), (0.0, 1.0), (sqrt(0.5), sqrt(0.5)), (1.0, 0.0))
"""The quaternion's z and w for each heading."""
SUCCESS_RADIUS_M = 0.5
STEP_BUDGET = 120


@dataclass(frozen=True)
class StepResult:
    """``progress_m``: metres nearer the goal. ``executed``: the action as it came out, slips included."""

    terminated: bool
    progress_m: float
    collided: bool
    executed: int


def parse_action(action: int | str) -> int:
    """0 to 3 from an integer or a name; ValueError lists both."""
    if isinstance(action, str) and action.strip().lower() in ACTIONS:
        return ACTIONS.index(action.strip().lower())
    if isinstance(action, (int, np.integer)) and not isinstance(action, bool) and 0 <= action < len(ACTIONS):
        return int(action)
    valid = ", ".join(f"{number} {name}" for number, name in enumerate(ACTIONS))
    raise ValueError(f"action {action!r} does not exist; the actions are {valid}")


def expert_action(episode: Episode, x: int, y: int, heading: int) -> int:
    """The next action of a follower of a shortest path: straight on while that gets nearer, else a turn."""
    left = episode.to_goal[x, y]
    if left == 0:
        return STOP
    nearer = [episode.to_goal.get(cell, left) < left for cell in neighbours((x, y))]
    if nearer[heading]:
        return FORWARD
    return RIGHT if nearer[(heading + 1) % 4] else LEFT


class Simulator:
    """An episode from its start. ``slip``: the chance that a move comes out as another of the three."""

    def __init__(self, episode: Episode, slip: float = 0.0, seed: int = 0) -> None:
        self.episode = episode
        self._slip = slip
        self._seed = seed
        self._eye = Eye(episode.house)
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        self.x, self.y, self.heading = self.episode.start
        self.stopped = False
        self._chance = Random(derive("gridhouse", "slip", self._seed))
        self._cells: list[Cell] = [(self.x, self.y)]

    def frame(self) -> np.ndarray:
        """(64, 64, 3) uint8 RGB."""
        return self._eye.frame(self.x, self.y, self.heading)

    def distance_to_goal(self) -> float:
        """Metres along the shortest path."""
        return self.episode.to_goal[self.x, self.y] * CELL_M

    def pose(self) -> dict[str, list[float]]:
        """Metres and an xyzw unit quaternion; x east, y south, z down, yaw 0 looking east."""
        z, w = _YAW[self.heading]
        return {"position": [self.x * CELL_M, self.y * CELL_M, 0.0], "orientation": [0.0, 0.0, z, w]}

    def step(self, action: int) -> StepResult:
        """RuntimeError once the agent has stopped."""
        if self.stopped:
            raise RuntimeError(
                f"episode {self.episode.episode_id} is over: the agent stopped; reset it first"
            )
        executed = self._executed(action)
        before = self.distance_to_goal()
        collided = executed == FORWARD and not self._advance()
        if executed in (LEFT, RIGHT):
            self.heading = (self.heading + _TURNED[executed]) % 4
        self.stopped = executed == STOP
        return StepResult(self.stopped, before - self.distance_to_goal(), collided, executed)

    def expert_action(self) -> int:
        """What a follower of a shortest path does here."""
        return expert_action(self.episode, self.x, self.y, self.heading)

    def metrics(self) -> dict[str, float]:
        """Of the path so far, by engine.statistics.navigation. Who has not stopped has not succeeded."""
        to_goal = np.array([self.episode.to_goal[cell] for cell in self._cells]) * CELL_M
        path, shortest = _metres(self._cells), _metres(self._shortest_path())
        success = navigation.success(to_goal, SUCCESS_RADIUS_M, stopped=self.stopped)
        travelled = navigation.path_length(path)
        return {
            "success": success,
            "spl": navigation.spl(success, float(to_goal[0]), travelled),
            "oracle_success": navigation.oracle_success(to_goal, SUCCESS_RADIUS_M),
            "navigation_error": navigation.navigation_error(to_goal),
            "path_length": travelled,
            "ndtw": navigation.ndtw(path, shortest, SUCCESS_RADIUS_M),
        }

    def verdict(self) -> str:
        """What happened, in a sentence."""
        house, target, here = self.episode.house, self.episode.target, (self.x, self.y)
        ended = "stopped" if self.stopped else "ran out of steps"
        beside = [thing.name for thing in house.things if thing.cell in neighbours(here)]
        nearby = f" beside {' and '.join(beside)}" if beside else ""
        away = f"{target.name} in the {target.room} was {self.distance_to_goal():g} m away"
        return f"{ended} in {house.room_at(here)}{nearby}; {away}"

    def _executed(self, action: int) -> int:
        slipped, other = self._chance.random() < self._slip, self._chance.random()
        if action == STOP or not slipped:
            return action
        return [move for move in (FORWARD, LEFT, RIGHT) if move != action][int(other * 2)]

    def _advance(self) -> bool:
        ahead = neighbours((self.x, self.y))[self.heading]
        if ahead not in self.episode.house.walkable:
            return False
        self.x, self.y = ahead
        self._cells.append(ahead)
        return True

    def _shortest_path(self) -> list[Cell]:
        x, y, heading = self.episode.start
        cells = [(x, y)]
        while True:
            action = expert_action(self.episode, x, y, heading)
            if action == STOP:
                return cells
            if action == FORWARD:
                x, y = neighbours((x, y))[heading]
                cells.append((x, y))
            else:
                heading = (heading + _TURNED[action]) % 4


def _metres(cells: list[Cell]) -> np.ndarray:
    return np.array(cells, float) * CELL_M
