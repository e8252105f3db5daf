"""The nodes."""

from __future__ import annotations

from typing import Any

from engine.components import TRIGGER, EvaluateTool, PortDef, StageTool

ACTION = PortDef("action", "ANY", "numbers in the shape of the task's actions, -1 to 1 each")
SEEN = [
    PortDef("observation", "ANY", "state: one array; else a dict of arrays, as ManiSkill names them"),
    PortDef("rgb", "IMAGE", "(H, W, 3) uint8 of the first camera, where obs_mode has one", optional=True),
]


class _Seeing(StageTool):
    def _seen(self) -> dict[str, Any]:
        image = self.stage.image()
        return {"observation": self.stage.observation, **({} if image is None else {"rgb": image})}


class Reset(_Seeing):
    node_type, description = "env_maniskill__reset", "The chosen episode at its start"
    input_ports = [TRIGGER]
    output_ports = SEEN

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        if self.stage.steps:
            self.stage.restart()
        return self._seen()


class StepContinuous(_Seeing):
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

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        stage, reward = self.stage, self.stage.act(inputs["action"])
        ended = {"terminated": stage.terminated, "truncated": stage.truncated}
        ended["done"] = stage.terminated or stage.truncated
        return {**self._seen(), **ended, "reward": reward, "success": stage.success}


class Evaluate(EvaluateTool):
    node_type, description = "env_maniskill__evaluate", "Success, return and length of the episode"


class RandomAction(StageTool):
    node_type, description = (
        "env_maniskill__random_action",
        "A uniform action, from the run's seed: the floor",
    )
    input_ports, output_ports = [TRIGGER], [ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        space = self.stage.space
        return {"action": ctx.rng.uniform(space.low, space.high).astype(space.dtype)}


TOOLS = (Reset, StepContinuous, Evaluate, RandomAction)
