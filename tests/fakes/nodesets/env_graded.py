"""An environment that can be graded in, and keeps a journal of all that was done with it.

Selectors: ``journal``, its file; ``steps`` of an episode, of ``wait_ms`` each; ``gate``, a file that
episode 1 and later ones wait for at their first step; ``faults``, names by the episodes that they strike:
``raise``, ``die_once`` and ``hang`` at a step; ``die_at_release``; of a command of graders ``fail`` (exit 1),
``hang_grading`` and ``die_grading``.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, ClassVar

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, EnvPanelAction, PortDef

FIELDS: dict[str, Any] = {}
AT = [0]
FILES: dict[str, bytes] = {}
PICTURE = b"\x89PNG a picture of the desk"


def note(what: str, **more: Any) -> None:
    line = json.dumps({"what": what, "episode": FIELDS["episode_index"], "at": time.time(), **more})
    with open(FIELDS["journal"], "a") as journal:
        journal.write(line + "\n")


def strikes(fault: str) -> bool:
    return dict(FIELDS.get("faults") or {}).get(str(FIELDS["episode_index"])) == fault


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


class Panel(BaseEnvPanel):
    name = "env_graded"
    actions: ClassVar[list[EnvPanelAction]] = [
        EnvPanelAction(name, name) for name in ("play", "exec", "read_file", "write_file", "snapshot")
    ]

    async def on_load(self) -> dict[str, Any]:
        episode = {"episode_id": str(FIELDS.get("episode_index")), "instruction": "tidy the desk"}
        return {"current_episode": episode, "step_budget": 1000}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        FIELDS[name] = value
        return {}

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        note(name, **{key: value for key, value in params.items() if isinstance(value, str)})
        if name == "play":
            AT[0] = 0
            FILES.clear()
            FILES.update({"desk.png": PICTURE, "trace.jsonl": b'{"kind": "tool_call", "name": "own"}\n'})
        elif name == "snapshot":
            return {"ok": True, "snapshot": {"tidy": True, "screenshotRef": "desk.png", "expected": "tidy"}}
        elif name == "read_file":
            if params["path"] not in FILES:
                return {"ok": False, "error": f"there is no {params['path']}"}
            return {"ok": True, "data": FILES[params["path"]]}
        elif name == "write_file":
            FILES[params["path"]] = params["data"]
        else:
            if strikes("hang_grading"):
                wait_for(Path("/nowhere"))
            if strikes("die_grading"):
                os._exit(3)
            return {"ok": True, "exit_code": int(strikes("fail")), "stdout": "", "stderr": ""}
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_graded__reset"
    output_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]
    begun = -1

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self.begun = FIELDS["episode_index"]
        note("reset")
        ctx.trace("message", role="user", text="tidy the desk")
        return {"obs": 0}

    async def shutdown(self) -> None:
        if self.begun == FIELDS.get("episode_index"):
            note("release")
            if strikes("die_at_release"):
                os._exit(3)


class Step(BaseCanvasNode):
    node_type = "env_graded__step_discrete"
    input_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY"), PortDef("terminated", "BOOL")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        if AT[0] == 0 and FIELDS.get("gate") and FIELDS["episode_index"] > 0:
            wait_for(Path(FIELDS["gate"]))
        AT[0] += 1
        note("step")
        time.sleep(float(FIELDS.get("wait_ms", 0)) / 1000)
        if strikes("raise"):
            raise RuntimeError("the desk is on fire")
        if strikes("hang"):
            wait_for(Path("/nowhere"))
        if strikes("die_once") and not Path(FIELDS["journal"] + ".died").exists():
            Path(FIELDS["journal"] + ".died").touch()
            os._exit(3)
        ctx.trace("message", role="assistant", text=f"tidied {AT[0]}")
        return {"obs": AT[0], "terminated": AT[0] >= int(FIELDS.get("steps", 2))}


class Evaluate(BaseCanvasNode):
    node_type = "env_graded__evaluate"
    input_ports: ClassVar[list[PortDef]] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": {"success": 1.0, "length": float(AT[0])}}


class GradedNodeSet(BaseNodeSet):
    name = "env_graded"
    parallelism = "replicated"
    env_panel = Panel

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Reset(), Step(), Evaluate()]

    async def get_eval_metadata(self) -> dict[str, Any]:
        return {
            "env_name": "graded",
            "splits": ["all"],
            "episode_counts": {"all": 1000},
            "metrics": ["success"],
        }
