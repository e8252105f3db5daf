"""A workspace as AgentCanvas's users have them: an environment in a folder, a model, a graph in a subfolder.

What a run saw is in its metrics: ``version`` is the model's, ``prompt`` the length of its node's prompt.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENVIRONMENT = '''
"""Three steps in a grey house. Selector ``meet``: a folder in which so many processes wait for each other."""

from __future__ import annotations

import os
import time
from typing import Any, ClassVar

from app.components import BaseCanvasNode, BaseNodeSet, NodeUIConfig, PortDef, conda_env_python
from app.components.env_panel import BaseEnvPanel, EnvPanelAction, EnvPanelField
from app.graph_def import ContainerDef, StateDef
from app.standard.actions import ACTION_NAMES

from workspace.nodesets.env.env_walk._house import House

HOUSE = House()
FIELDS: dict[str, Any] = {}


def meet(folder: str) -> None:
    open(os.path.join(folder, str(os.getpid())), "w").close()
    deadline = time.monotonic() + 60
    while len(os.listdir(folder)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)


class Panel(BaseEnvPanel):
    name = "env_walk"
    display_name = "Walk"
    fields: ClassVar[list] = [EnvPanelField("split", "select", "Split", options=["val_unseen"])]
    actions: ClassVar[list] = [EnvPanelAction("play", "Play", side_effect="run_start")]

    async def on_load(self) -> dict[str, Any]:
        assert self._context["mode"] == "local"
        episode = {"instr_id": f"i{FIELDS['episode_index']}", "scan": "grey"}
        return {"available": True, "current_episode": episode}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        FIELDS[name] = value
        return await self.on_load() if "episode_index" in FIELDS else {}

    async def on_action(self, name: str, params: dict) -> dict[str, Any]:
        HOUSE.enter(FIELDS["seed"])
        return {"ok": True, "side_effect": "run_start"}


class Reset(BaseCanvasNode):
    node_type = "env_walk__reset"
    output_ports: ClassVar[list] = [PortDef("rgb", "IMAGE", "what is seen")]
    ui_config: ClassVar[NodeUIConfig] = NodeUIConfig(color="amber")

    async def forward(self, inputs: dict, ctx: Any) -> dict:
        if "meet" in FIELDS:
            meet(FIELDS["meet"])
        return {"rgb": HOUSE.look()}


class Step(BaseCanvasNode):
    node_type = "env_walk__step_discrete"
    input_ports: ClassVar[list] = [PortDef("action", "ACTION"), PortDef("said", "ANY")]
    output_ports: ClassVar[list] = [PortDef("rgb", "IMAGE"), PortDef("done", "BOOL")]

    async def forward(self, inputs: dict, ctx: Any) -> dict:
        self._self_log("action", ACTION_NAMES[inputs["action"]])
        ctx.seen = (ctx.seen or 0) + 1
        ctx.containers["diary"].write("said", inputs["said"], key=FIELDS["episode_index"])
        ctx.containers["diary"].write("steps", 1)
        return {"rgb": HOUSE.look(), "done": ctx.seen == 3}


class Evaluate(BaseCanvasNode):
    node_type = "env_walk__evaluate"
    input_ports: ClassVar[list] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict, ctx: Any) -> dict:
        diary = ctx.containers["diary"]
        said = diary.read("said", key=FIELDS["episode_index"])
        return {"metrics": {"success": 1.0, "steps": diary.read("steps"), **said}}


class WalkNodeSet(BaseNodeSet):
    name = "env_walk"
    description = "a walk"
    parallelism = "replicated"
    env_panel = Panel
    server_python = conda_env_python("no-such-env", "ENV_WALK_PYTHON")
    server_env = {"WALKS_IN": "grey"}

    def get_tools(self) -> list:
        return [Reset(), Step(), Evaluate()]

    def get_containers(self) -> list[ContainerDef]:
        states = {"said": StateDef(type="lastWrite"), "steps": StateDef(type="counter", lifetime="episode")}
        return [ContainerDef(id="diary", label="Diary", states=states)]

    async def get_eval_metadata(self) -> dict:
        return {"env_name": "walk", "splits": ["val_unseen"], "episode_counts": {"val_unseen": 20}}
'''

HOUSE = """
import os

import numpy as np


class House:
    def enter(self, seed):
        assert os.environ["WALKS_IN"] == "grey"
        self.rng = np.random.default_rng(seed)

    def look(self):
        return self.rng.integers(0, 255, (8, 8, 3)).astype(np.uint8)
"""

MODEL = """
from app.components import BaseCanvasNode, BaseNodeSet, ConfigField, NodeUIConfig, PortDef


class Look(BaseCanvasNode):
    node_type = "model_eyes__look"
    input_ports = [PortDef("rgb", "IMAGE")]
    output_ports = [PortDef("action", "DISCRETE_ACTION"), PortDef("said", "ANY")]
    default_config = {"prompt": ""}
    ui_config = NodeUIConfig(config_fields=[ConfigField("prompt", "textarea")])

    async def forward(self, inputs, ctx):
        rgb = inputs["rgb"]
        rgb[0, 0] = 0
        said = {"version": VERSION, "prompt": len(self.config["prompt"])}
        return {"action": int(rgb.sum()) % 4, "said": said}


class EyesNodeSet(BaseNodeSet):
    name = "model_eyes"
    description = "it looks"

    def get_tools(self):
        return [Look()]
"""


def model(version: int) -> str:
    return f"VERSION = {version}\n{MODEL}"


def graph(prompt: str) -> dict[str, Any]:
    wires = [
        ("reset.rgb", "in.init_rgb"),
        ("in.init_rgb", "look.rgb"),
        ("in.iterout_rgb", "look.rgb"),
        ("look.action", "step.action"),
        ("look.said", "step.said"),
        ("step.rgb", "out.rgb"),
        ("step.done", "out.stop"),
        ("out.final_stop", "evaluate.trigger"),
        ("evaluate.metrics", "metrics.value"),
    ]
    rgb = {"name": "rgb", "wire_type": "IMAGE", "required": True}
    return {
        "name": "walk",
        "nodes": [
            {"id": "reset", "type": "env_walk__reset"},
            {"id": "in", "type": "iterIn", "config": {"pairedWith": "out", "initPorts": [rgb]}},
            {"id": "look", "type": "model_eyes__look", "config": {"prompt": prompt}},
            {"id": "step", "type": "env_walk__step_discrete"},
            {"id": "out", "type": "iterOut", "config": {"pairedWith": "in", "ports": [rgb]}},
            {"id": "evaluate", "type": "env_walk__evaluate"},
            {"id": "metrics", "type": "graphOut", "config": {"portName": "metrics"}},
        ],
        "edges": [
            {
                "id": f"e{number}",
                **dict(zip(("source", "sourceHandle"), source.split("."), strict=True)),
                **dict(zip(("target", "targetHandle"), target.split("."), strict=True)),
            }
            for number, (source, target) in enumerate(wires)
        ],
    }


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def make_workspace(folder: Path, *, prompt: str = "walk", version: int = 1) -> Path:
    return write(
        folder,
        {
            "nodesets/env/env_walk/__init__.py": ENVIRONMENT,
            "nodesets/env/env_walk/_house.py": HOUSE,
            "nodesets/model/model_eyes.py": model(version),
            "graphs/vln/verified/walk.json": json.dumps(graph(prompt)),
        },
    )
