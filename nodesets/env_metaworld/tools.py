"""The nodes: reset, step, evaluate, and who acts."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import PortDef, StageTool

_ACTION = PortDef("action", "ANY", "(4,) float32 from -1 to 1: move by x, y and z, close the gripper")
_OBSERVATION = PortDef("observation", "ANY", "(39,) float64: hand, things, the same a step before, the goal")
_RGB = PortDef("rgb", "IMAGE", "(480, 480, 3) uint8; only where the selector frames is render", optional=True)


class Reset(StageTool):
    node_type = "env_metaworld__reset"
    display_name = "Meta-World: Reset"
    description = "First observation of the episode, and its task. Fired again after steps, it starts it anew"
    input_ports = [PortDef("trigger", "ANY", optional=True)]
    output_ports = [_OBSERVATION, PortDef("task", "TEXT", "such as reach-v3"), _RGB]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self.stage.restart()
        trial = self.stage.current()
        return dict(trial.seen(), task=trial.task_id)


class StepContinuous(StageTool):
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

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        trial = self.stage.current()
        reward = trial.step(inputs["action"])
        ended = {"success": trial.success, "truncated": trial.truncated, "done": trial.done}
        return dict(trial.seen(), reward=reward, **ended)


class Evaluate(StageTool):
    node_type = "env_metaworld__evaluate"
    display_name = "Meta-World: Evaluate"
    description = "Success, return and steps of the episode so far"
    input_ports = [PortDef("trigger", "ANY")]
    output_ports = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": self.stage.metrics()}


class ScriptedAction(StageTool):
    node_type = "env_metaworld__scripted_action"
    display_name = "Meta-World: Scripted policy"
    description = (
        "The action of Meta-World's scripted policy: an expert that knows the task, and sees the goal"
    )
    input_ports = [_OBSERVATION]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": self.stage.current().scripted(inputs["observation"])}


class RandomAction(StageTool):
    node_type = "env_metaworld__random_action"
    display_name = "Meta-World: Random action"
    description = "Four uniform numbers from -1 to 1, drawn from the node's own generator"
    input_ports = [PortDef("trigger", "ANY", "wire the observation, so that each step asks for an action")]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": ctx.rng.uniform(-1, 1, 4).astype(np.float32)}


TOOLS = (Reset, StepContinuous, Evaluate, ScriptedAction, RandomAction)
