"""The node types. They all play the one episode of their process, so a graph may use each more than once."""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, PortDef

from .simulator import ACTIONS, FORWARD, STOP, SUCCESS_RADIUS_M, parse_action
from .stage import Stage

TRIGGER = PortDef("trigger", "ANY", "anything; only its arrival counts", optional=True)
RGB = PortDef("rgb", "IMAGE", "what the agent sees: (64, 64, 3) uint8, first person, 90 degrees wide")
POSE = PortDef("pose", "POSE", "where it is: metres, x east, y south; yaw about z, 0 looking east")
INSTRUCTION = PortDef("instruction", "TEXT", "where it should go")
ACTION = PortDef("action", "DISCRETE_ACTION", "0 stop, 1 forward, 2 turn_left, 3 turn_right, or the name")


class _Tool(BaseCanvasNode):
    category = "environment"

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def _observation(self) -> dict[str, Any]:
        simulator = self._stage.simulator
        return {
            "instruction": simulator.episode.instruction,
            "rgb": simulator.frame(),
            "pose": simulator.pose(),
        }


class Reset(_Tool):
    """Put the agent at the start of the episode that the panel chose."""

    node_type = "env_gridhouse__reset"
    display_name = "Gridhouse: Reset"
    description = "Begins the episode"
    input_ports = [TRIGGER]
    output_ports = [INSTRUCTION, RGB, POSE]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self._stage.simulator.reset()
        return self._observation()


class ObserveEgocentric(_Tool):
    """Look, without taking a step."""

    node_type = "env_gridhouse__observe_egocentric"
    display_name = "Gridhouse: Observe"
    description = "What the agent sees now"
    input_ports = [TRIGGER]
    output_ports = [INSTRUCTION, RGB, POSE]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return self._observation()


class StepDiscrete(_Tool):
    """Take an action. The reward: metres by which the goal got nearer, and 10 for a success."""

    node_type = "env_gridhouse__step_discrete"
    display_name = "Gridhouse: Step"
    description = "Takes one action"
    input_ports = [ACTION]
    output_ports = [
        RGB,
        PortDef("reward", "ANY", "float: metres nearer the goal, and 10 for a success"),
        PortDef("terminated", "BOOL", "the agent stopped"),
        POSE,
        PortDef("info", "ANY", "collided, executed (an action's name), distance_to_goal in metres"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        simulator = self._stage.simulator
        result = simulator.step(parse_action(inputs["action"]))
        distance = simulator.distance_to_goal()
        bonus = 10.0 if result.terminated and distance <= SUCCESS_RADIUS_M else 0.0
        return {
            "rgb": simulator.frame(),
            "reward": result.progress_m + bonus,
            "terminated": result.terminated,
            "pose": simulator.pose(),
            "info": {
                "collided": result.collided,
                "executed": ACTIONS[result.executed],
                "distance_to_goal": distance,
            },
        }


class Evaluate(_Tool):
    """Score the episode as it stands."""

    node_type = "env_gridhouse__evaluate"
    display_name = "Gridhouse: Evaluate"
    description = "Success, SPL, oracle success, navigation error, path length, nDTW"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("metrics", "METRICS", "see engine/statistics/navigation.py; lengths in metres"),
        PortDef("verdict", "TEXT", "what happened, in a sentence"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": self._stage.simulator.metrics(), "verdict": self._stage.simulator.verdict()}


class ExpertAction(_Tool):
    """What a follower of a shortest path would do now. It knows the house; the agent does not."""

    node_type = "env_gridhouse__expert_action"
    display_name = "Gridhouse: Expert"
    description = "The next action along a shortest path"
    input_ports = [TRIGGER]
    output_ports = [ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": ACTIONS[self._stage.simulator.expert_action()]}


class RandomAction(_Tool):
    """The floor for comparison: stops with ``stop_probability``, else makes any of the three moves."""

    node_type = "env_gridhouse__random_action"
    display_name = "Gridhouse: Random"
    description = "A random action, from the run's seed"
    input_ports = [TRIGGER]
    output_ports = [ACTION]
    default_config = {"stop_probability": 0.03}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        stops = ctx.rng.random() < float(self.config["stop_probability"])
        return {"action": ACTIONS[STOP if stops else FORWARD + int(ctx.rng.integers(3))]}
