"""The nodes; ``random_action`` is ours."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from engine.components import ASKED, TRIGGER, EvaluateTool, PortDef, ResetTool, StageTool

from .stage import LOW

ACTION = PortDef("action", "TEXT", "7 numbers, or a list of 7 numbers each, as JSON or as they are")


class Reset(ResetTool):
    node_type, description = "env_simpler__reset", "The chosen episode at its start"
    output_ports = [PortDef(name, "TEXT") for name in ("instruction", "episode_id", "split", "task_id")]
    output_ports += [PortDef("max_steps", "ANY")]


class StepContinuous(StageTool):
    node_type, description = "env_simpler__step_continuous", "One action, or the first of several"
    input_ports = [ACTION]
    output_ports = [
        PortDef("reward", "ANY", "float: the sum so far"),
        PortDef("terminated", "BOOL", "the task is done"),
        PortDef("truncated", "BOOL", "the step limit was reached"),
        PortDef("info", "ANY", "step_index, success, cumulative_reward, instruction"),
        PortDef("success", "BOOL"),
        PortDef("step_index", "ANY"),
    ]
    default_config = {"max_chunk_steps": 0}  # 0: all of them

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        stage, actions, ended = self.stage, _actions(inputs["action"]), self.stage.ended
        stage.act(actions[: self.number("max_chunk_steps") or None])
        told = {"step_index": stage.steps, "success": stage.success}
        instruction = stage.facts()["instruction"]
        return {
            **told,
            "reward": stage.reward,
            "terminated": bool(ended or (stage.ended and not stage.truncated)),
            "truncated": stage.truncated,
            "info": dict(told, cumulative_reward=stage.reward, instruction=instruction),
        }


class ObserveEgocentric(StageTool):
    node_type, description = "env_simpler__observe_egocentric", "What its camera sees now; no step"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("rgb", "IMAGE", "(H, W, 3) uint8"),
        PortDef("agentview_image", "IMAGE", "the same"),
        PortDef("wrist_image", "IMAGE", "None: there is no such camera"),
        PortDef("observation", "LIST[IMAGE]", "the same, as a list"),
        PortDef("state", "ANY", "(D,) float32 proprioception"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        seen = self.stage.image()
        images = {"rgb": seen, "agentview_image": seen, "wrist_image": None, "observation": [seen]}
        return dict(images, state=self.stage.proprioception())


class Evaluate(EvaluateTool):
    node_type, description = "env_simpler__evaluate", "Success, steps and reward of the episode"


class RandomAction(StageTool):
    node_type, description = "env_simpler__random_action", "A uniform action, from the run's seed: the floor"
    input_ports, output_ports = [ASKED], [ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": json.dumps(ctx.rng.uniform(LOW, -LOW).tolist())}


TOOLS = (Reset, StepContinuous, ObserveEgocentric, Evaluate, RandomAction)


def _actions(value: Any) -> np.ndarray:
    """(K, 7) float32. ValueError for any other shape, and for what is not finite."""
    try:
        actions = np.atleast_2d(
            np.asarray(json.loads(value) if isinstance(value, str) else value, np.float32)
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"action {str(value)[:80]!r} is no list of numbers: {error}") from None
    if actions.ndim != 2 or actions.shape[1] != 7 or not np.isfinite(actions).all():
        raise ValueError(f"an action of shape {actions.shape} is not (7,) or (K, 7) of finite numbers")
    return actions
