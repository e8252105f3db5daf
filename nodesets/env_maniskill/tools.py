"""The nodes."""

from __future__ import annotations

from typing import Any

from engine.components import ASKED, EvaluateTool, PortDef, ResetTool, StageTool, StepTool

ACTION = PortDef("action", "ANY", "numbers in the shape of the task's actions, -1 to 1 each")
SEEN = [
    PortDef("observation", "ANY", "state: one array; else a dict of arrays, as ManiSkill names them"),
    PortDef("rgb", "IMAGE", "(H, W, 3) uint8 of the first camera, where obs_mode has one", optional=True),
]


class Reset(ResetTool):
    node_type, description = "env_maniskill__reset", "The chosen episode at its start"
    output_ports = SEEN


class StepContinuous(StepTool):
    node_type, description = "env_maniskill__step_continuous", "One action of the arm"
    input_ports = [ACTION]
    output_ports = [
        *SEEN,
        PortDef("reward", "ANY", "float"),
        PortDef("success", "BOOL"),
        PortDef("terminated", "BOOL", "the task is done"),
        PortDef("truncated", "BOOL", "the step limit was reached"),
        PortDef("done", "BOOL", "either; wire it to the loop's stop"),
    ]


class Evaluate(EvaluateTool):
    node_type, description = "env_maniskill__evaluate", "Success, return and length of the episode"


class RandomAction(StageTool):
    node_type, description = (
        "env_maniskill__random_action",
        "A uniform action, from the run's seed: the floor",
    )
    input_ports, output_ports = [ASKED], [ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        space = self.begun().space
        return {"action": ctx.rng.uniform(space.low, space.high).astype(space.dtype)}


TOOLS = (Reset, StepContinuous, Evaluate, RandomAction)
