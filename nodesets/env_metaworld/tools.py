"""The nodes: reset, step, evaluate, and who acts."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import ASKED, EvaluateTool, PortDef, ResetTool, StageTool, StepTool

_ACTION = PortDef("action", "ANY", "(4,) float32 from -1 to 1: move by x, y and z, close the gripper")
_OBSERVATION = PortDef("observation", "ANY", "(39,) float64: hand, things, the same a step before, the goal")
_RGB = PortDef(
    "rgb", "IMAGE", "(480, 480, 3) uint8, without shadows; where the selector frames is render", optional=True
)


class Reset(ResetTool):
    node_type = "env_metaworld__reset"
    display_name = "Meta-World: Reset"
    description = "First observation of the episode, and its task. Fired again after steps, it starts it anew"
    output_ports = [_OBSERVATION, PortDef("task", "TEXT", "such as reach-v3"), _RGB]


class StepContinuous(StepTool):
    node_type = "env_metaworld__step_continuous"
    display_name = "Meta-World: Step"
    description = "Move the hand and the gripper once"
    input_ports = [_ACTION]
    output_ports = [
        _OBSERVATION,
        PortDef("reward", "ANY", "float from 0 to 10"),
        PortDef("success", "BOOL", "the task was solved, now or before"),
        PortDef("truncated", "BOOL", "the step limit was reached"),
        PortDef("done", "BOOL", "the episode has ended; wire it to the loop's stop"),
        _RGB,
    ]


class Evaluate(EvaluateTool):
    node_type = "env_metaworld__evaluate"
    display_name = "Meta-World: Evaluate"
    description = "Success, return and steps of the episode so far"


class ScriptedAction(StageTool):
    node_type = "env_metaworld__scripted_action"
    display_name = "Meta-World: Scripted policy"
    description = (
        "The action of Meta-World's scripted policy: an expert that knows the task, and sees the goal"
    )
    input_ports = [_OBSERVATION]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": self.begun().scripted(inputs["observation"])}


class RandomAction(StageTool):
    node_type = "env_metaworld__random_action"
    display_name = "Meta-World: Random action"
    description = "Four uniform numbers from -1 to 1, drawn from the node's own generator"
    input_ports = [ASKED]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": ctx.rng.uniform(-1, 1, 4).astype(np.float32)}


TOOLS = (Reset, StepContinuous, Evaluate, ScriptedAction, RandomAction)
