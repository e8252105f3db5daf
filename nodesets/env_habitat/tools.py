"""The nodes. AgentCanvas's step_pose, step_path and observe_camera_pose are missing, expert_action added."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from engine.components import TRIGGER, ExpertTool, PortDef, ResetTool, StageTool
from engine.components.agentcanvas.json_values import png_to_base64 as png
from engine.components.navigation import WALKED, NavigationEvaluate

from .tasks import ACTIONS

ACTION = PortDef("action", "DISCRETE_ACTION", "0 to 5, or stop, move_forward, turn_left, turn_right, look_…")


class Reset(ResetTool):
    node_type, description = "env_habitat__reset", "The chosen episode at its start"
    output_ports = [PortDef(name, "TEXT") for name in ("instruction", "episode_id", "scene_id")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        if self.config:
            raise ValueError(f"{sorted(self.config)}: use the selector overrides, with habitat's own names")
        return await super().forward(inputs, ctx)


class StepDiscrete(StageTool):
    node_type, description = "env_habitat__step_discrete", "One action of the agent"
    input_ports = [ACTION]
    output_ports = [
        *WALKED,
        PortDef("truncated", "BOOL", "habitat's step limit was reached"),
        PortDef("info", "ANY", "step_count, position, orientation"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        named = str(inputs["action"]).strip().lower()
        known = [*ACTIONS, *map(str, range(len(ACTIONS)))]
        if named not in known:
            raise ValueError(f"action {inputs['action']!r} is not one of {', '.join(known)}")
        return self._walked([known.index(named) % len(ACTIONS)])

    def _walked(self, actions: list[int]) -> dict[str, Any]:
        stage = self.stage
        before, ended = stage.walked.distances[-1], stage.env.episode_over
        for action in actions:
            stage.act(action)
        position, rotation = stage.pose()
        return {
            "reward": before - stage.walked.distances[-1],
            "terminated": bool(stage.walked.stopped or ended),
            "truncated": bool(stage.env.episode_over and not stage.walked.stopped),
            "info": {"step_count": stage.walked.steps, "position": position, "orientation": rotation},
        }


class StepHighToLow(StepDiscrete):
    node_type, description = "env_habitat__step_hightolow", "Turn left, then forward; (0, 0) is stop"
    input_ports = [
        PortDef("angle", "TEXT", "radians, at once"),
        PortDef("distance", "TEXT", "metres, in steps"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        try:
            angle, distance = float(inputs["angle"]), float(inputs["distance"])
        except (TypeError, ValueError):
            raise ValueError(
                f"angle {inputs['angle']!r} and distance {inputs['distance']!r}: not numbers"
            ) from None
        if angle == 0 and distance == 0:
            return self._walked([0])
        self.stage.env.sim.set_agent_state(*self.stage.pose(angle))
        return self._walked([1] * max(1, int(distance // self.stage.settings.forward)))


class ObserveEgocentric(StageTool):
    node_type, description = "env_habitat__observe_egocentric", "What the agent sees now; no step"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("rgb", "IMAGE", "(H, W, 3) uint8"),
        PortDef("depth", "DEPTH", "(H, W) float32, 0 to 1 or in metres as habitat is set"),
        PortDef("pose", "POSE", "position, orientation"),
        PortDef("raw_obs", "ANY", "habitat's observations"),
        PortDef("instruction_text", "TEXT"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        position, rotation = self.stage.pose()
        return {
            **_seen(self.stage.observations),
            "pose": {"position": position, "orientation": rotation},
            "raw_obs": self.stage.observations,
            "instruction_text": self.stage.facts()["instruction"],
        }


class ObservePanorama(StageTool):
    node_type, description = "env_habitat__observe_panorama", "Views all around, to the left from ahead"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("views", "ANY", "dir_id, heading_deg, PNGs: rgb, depth (8 bit, stretched), depth_raw (mm)"),
        PortDef("directions", "TEXT", "JSON of dir_id and heading_deg"),
        PortDef("n_views", "ANY"),
    ]
    default_config = {"n_views": 12}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        count, views, directions = self.number("n_views", 1), [], []
        for index in range(count):
            turned = self.stage.pose(2 * math.pi * index / count)
            seen = _seen(self.stage.env.sim.get_observations_at(*turned))
            depth = seen["depth"]
            stretched = (depth - depth.min()) / max(float(np.ptp(depth)), 1e-6) * 255
            pngs = {
                "rgb_base64": png(seen["rgb"]),
                "depth_base64": png(stretched.astype(np.uint8)),
            }
            pngs["depth_raw_base64"] = png(np.clip(depth * 1000, 0, 65535).astype(np.uint16))
            directions.append({"dir_id": index, "heading_deg": round(360 * index / count, 1)})
            views.append({**directions[-1], **pngs})
        return {"views": views, "directions": json.dumps(directions), "n_views": count}


class Evaluate(NavigationEvaluate):
    node_type = "env_habitat__evaluate"


class ExpertAction(ExpertTool):
    node_type, description = "env_habitat__expert_action", "What habitat's follower of shortest paths does"
    output_ports = [ACTION]


TOOLS = (Reset, StepDiscrete, StepHighToLow, ObserveEgocentric, ObservePanorama, Evaluate, ExpertAction)


def _seen(observations: Any) -> dict[str, Any]:
    rgb, depth = observations["rgb"], np.asarray(observations["depth"], np.float32)
    return {"rgb": np.asarray(rgb, np.uint8), "depth": depth[..., 0]}
