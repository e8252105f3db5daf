"""The nodes; ``expert_action`` is ours. Angles are in radians, but where a port says degrees."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from engine.components import TRIGGER, ExpertTool, PortDef, ResetTool, StageTool
from engine.components.navigation import WALKED, NavigationEvaluate

STOP = ("STOP", "FINISHED", "FINISHED!")


class Reset(ResetTool):
    node_type, description = "env_mp3d__reset", "The chosen episode at its start"
    output_ports = [
        PortDef(name, "TEXT") for name in ("instruction", "episode_id", "scan_id", "dataset", "extras_json")
    ]


class StepWaypoint(StageTool):
    node_type, description = "env_mp3d__step_waypoint", "Go to a viewpoint by its id, or STOP"
    input_ports = [PortDef("viewpoint_id", "TEXT", "any viewpoint of the scan, or STOP")]
    output_ports = [
        *WALKED,
        PortDef("truncated", "BOOL", "never: the graph's step budget is the limit"),
        PortDef("info", "ANY", "the four that follow"),
        PortDef("new_viewpoint", "TEXT"),
        PortDef("turned_angle", "TEXT", "degrees, clockwise"),
        PortDef("success", "TEXT", "whether it could be done"),
        PortDef("error", "TEXT", "why not; else empty"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        stage, target, error = self.stage, str(inputs["viewpoint_id"]).strip(), ""
        stage.refuse_after_stop()
        here, heading, far = stage.here(), stage.now().heading, stage.walked.distances[-1]
        if target.upper() in STOP:
            stage.walked.stopped = True
        elif target in stage.scan.edges and here in stage.scan.distances(target):
            stage.go(target)
        else:
            near = ", ".join(stage.scan.edges[here])
            error = f"{target!r} is no viewpoint to go to; next to here are {near}"
        turned = math.degrees(math.remainder(stage.now().heading - heading, 2 * math.pi))
        told = {"new_viewpoint": stage.here(), "turned_angle": str(round(turned, 1))}
        told.update(success=not error, error=error)
        ends = {"terminated": stage.walked.stopped, "truncated": False}
        return {"reward": far - stage.walked.distances[-1], **ends, "info": told, **told}


class ObserveNavigable(StageTool):
    node_type, description = "env_mp3d__observe_navigable", "Where the agent is, and what is next to it"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("viewpoint_id", "TEXT"),
        PortDef("scan_id", "TEXT"),
        PortDef("heading", "TEXT", "degrees"),
        PortDef("navigable_json", "TEXT", "{viewpoint: {heading, elevation, distance, position}}"),
        PortDef("position_json", "TEXT", "[x, y, z] in metres, z up"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        stage, here, near = self.stage, self.stage.here(), {}
        for name, distance in stage.scan.edges[here].items():
            heading, elevation = (round(angle, 6) for angle in stage.bearing(name))
            near[name] = {"heading": heading, "elevation": elevation, "distance": round(distance, 6)}
            near[name]["position"] = stage.scan.position[name]
        return {
            "viewpoint_id": here,
            "scan_id": stage.episode["scan"],
            "heading": str(round(math.degrees(stage.now().heading), 1)),
            "navigable_json": json.dumps(near),
            "position_json": json.dumps(stage.scan.position[here]),
        }


class ObservePanorama(StageTool):
    node_type, description = "env_mp3d__observe_panorama", "Views all round: down, ahead and up"
    input_ports = [TRIGGER]
    output_ports = [
        PortDef("views", "LIST[IMAGE]", "(480, 640, 3) uint8 each: by elevation, then by heading from +y"),
        PortDef("view_meta", "TEXT", "JSON: view_index, heading_deg, elevation_deg, direction of each"),
        PortDef("depth_views", "LIST[DEPTH]", "empty"),
        PortDef("scan_id", "TEXT"),
        PortDef("viewpoint_id", "TEXT"),
    ]
    default_config = {"n_headings": 12}

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        stage, count = self.stage, self.number("n_headings", 1)
        before, views, told = (stage.now().heading, stage.now().elevation), [], []
        for elevation, name in ((-30, "down"), (0, "ahead"), (30, "up")):
            for degrees in (360 * number / count for number in range(count)):
                stage.look((math.radians(degrees), math.radians(elevation)))
                views.append(np.array(stage.now().rgb)[..., ::-1])  # MatterSim's are BGR
                where = {"view_index": len(told), "heading_deg": degrees, "elevation_deg": elevation}
                told.append(dict(where, direction=f"{degrees:g}° ({name})"))
        stage.look(before)
        if not views[0].size:
            raise RuntimeError("MatterSim gave no images: `evaltower doctor` says which are missing")
        ids = {"scan_id": stage.episode["scan"], "viewpoint_id": stage.here()}
        return {"views": views, "view_meta": json.dumps(told), "depth_views": [], **ids}


class Evaluate(NavigationEvaluate):
    node_type, description = "env_mp3d__evaluate", "Success, SPL, nDTW and friends, along the graph"


class ExpertAction(ExpertTool):
    node_type, description = "env_mp3d__expert_action", "The next viewpoint on a shortest path, or STOP"
    output_ports = [PortDef("action", "TEXT")]


TOOLS = (Reset, StepWaypoint, ObserveNavigable, ObservePanorama, Evaluate, ExpertAction)
