"""The nodes of an environment: reset, step, render, evaluate."""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, PortDef

from .session import Episode, Session

_RGB = PortDef(
    "rgb", "IMAGE", "(H, W, 3) uint8 frame; only where the selector frames is render", optional=True
)


class SessionTool(BaseCanvasNode):
    """A tool that works on the one episode of this process."""

    category = "environment"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session


def _seen(episode: Episode) -> dict[str, Any]:
    frame = episode.frame()
    seen = {"observation": episode.observation, "info": episode.info}
    return seen if frame is None else dict(seen, rgb=frame)


class Reset(SessionTool):
    """The first observation of the chosen episode. Fired again after steps, it starts the episode anew."""

    node_type = "env_gymnasium__reset"
    display_name = "Gym: Reset"
    description = (
        "First observation of the episode; env_id and env_kwargs apply where the operator selects none"
    )
    input_ports = [PortDef("trigger", "ANY", optional=True)]
    output_ports = [
        PortDef("observation", "ANY", "as the environment gives it: array, number, text, dict or list"),
        PortDef("instruction", "TEXT", "the mission, where the environment has one; else empty"),
        PortDef("info", "ANY"),
        _RGB,
    ]
    default_config = {"env_id": "", "env_kwargs": {}}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        episode = self.session.begin(self.config)
        self._self_log("env_id", episode.choice.env_id)
        self._self_log("seed", episode.choice.seed)
        self._self_log("seeded_at", list(episode.adapter.seeded_at))
        return dict(_seen(episode), instruction=episode.instruction)


class StepDiscrete(SessionTool):
    """One step. The action may be a whole number, its text, or the environment's own name for it."""

    node_type = "env_gymnasium__step_discrete"
    display_name = "Gym: Step"
    description = "Take one action: a number, or a name such as forward"
    input_ports = [PortDef("action", "DISCRETE_ACTION")]
    output_ports = [
        PortDef("observation", "ANY"),
        PortDef("reward", "ANY", "float"),
        PortDef("terminated", "BOOL", "the task ended"),
        PortDef("truncated", "BOOL", "the step limit was reached"),
        PortDef("done", "BOOL", "either; wire it to the loop's stop"),
        PortDef("info", "ANY"),
        _RGB,
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        episode = self.session.current()
        reward = episode.step(inputs["action"])
        return dict(
            _seen(episode),
            reward=reward,
            terminated=episode.terminated,
            truncated=episode.truncated,
            done=episode.done,
        )


class StepContinuous(StepDiscrete):
    """One step with an action vector, cast to the dtype and shape of the environment's Box."""

    node_type = "env_gymnasium__step_continuous"
    display_name = "Gym: Step (continuous)"
    description = "Take one action: numbers in the shape of the environment's action space"
    input_ports = [PortDef("action", "ANY", "numbers in the shape of the action space")]


class Render(SessionTool):
    """The present frame, once more; the environment must have been made with ``frames`` render."""

    node_type = "env_gymnasium__render"
    display_name = "Gym: Render"
    description = "The present frame"
    input_ports = [PortDef("trigger", "ANY")]
    output_ports = [PortDef("rgb", "IMAGE", "(H, W, 3) uint8")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"rgb": self.session.current().adapter.render()}


class Evaluate(SessionTool):
    """The episode's metrics so far: return, length, terminated, truncated; success where it is defined."""

    node_type = "env_gymnasium__evaluate"
    display_name = "Gym: Evaluate"
    description = "Return, length, terminated and truncated of the episode; success where it is defined"
    input_ports = [PortDef("trigger", "ANY")]
    output_ports = [
        PortDef("metrics", "METRICS"),
        PortDef("success", "BOOL", "only where the environment defines it", optional=True),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        metrics = self.session.current().metrics()
        told = {"success": bool(metrics["success"])} if "success" in metrics else {}
        return {"metrics": metrics, **told}
