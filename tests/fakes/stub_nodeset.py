"""A nodeset whose tools give values made up by wire type. ``tests.fakes.stubs`` fills in NAME and TOOLS.

Every value follows from (episode's seed, root step, node, port, how often the node fired), so that a run of
it is the same wherever and in whatever order it runs. A BOOL is true at every nth firing of its node.
"""

import json
import zlib

import numpy as np

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, PortDef

NAME = "stub"
TOOLS = json.loads(r"""{}""")


def value(wire_type, rng, fired, length):
    if wire_type.startswith("LIST["):
        return [value(wire_type[5:-1], rng, fired, length) for _ in range(2)]
    if wire_type == "IMAGE":
        return rng.integers(0, 255, (4, 6, 3), np.uint8)
    if wire_type == "DEPTH":
        return rng.random((4, 6), np.float32)
    if wire_type == "POSE":
        return {"position": rng.random(3).tolist(), "orientation": [0.0, 0.0, 0.0, 1.0]}
    if wire_type == "CONTROL":
        return {"pos": rng.random(3).tolist(), "rot": [0.0, 0.0, 0.0], "gripper": 1.0}
    if wire_type == "TEXT":
        return f"text {rng.integers(1000)}: FORWARD"
    if wire_type == "BOOL":
        return fired % length == 0
    if wire_type == "METRICS":
        return {"success": float(rng.integers(2)), "spl": float(rng.random())}
    return int(rng.integers(4))


class Stub(BaseCanvasNode):
    fired = 0

    async def forward(self, inputs, ctx):
        self.fired += 1
        seed = ctx.episode["seed"]
        outputs = {}
        for port in self.output_ports:
            place = zlib.crc32(f"{self.node_id} {port.name}".encode())
            rng = np.random.default_rng([seed, ctx.step, place, self.fired])
            outputs[port.name] = value(port.wire_type, rng, self.fired, 2 + seed % 3)
        return outputs


def tool(node_type, ports):
    return type(
        node_type,
        (Stub,),
        {
            "node_type": node_type,
            "input_ports": [
                PortDef(name, kind, optional=not needed) for name, kind, needed in ports["inputs"]
            ],
            "output_ports": [PortDef(name, kind) for name, kind in ports["outputs"]],
        },
    )()


class Panel(BaseEnvPanel):
    name = NAME

    async def on_load(self):
        return {"current_episode": {"episode_id": "made up", "instruction": "go"}, "step_budget": 12}

    async def on_field_change(self, name, value):
        return {}


class StubNodeSet(BaseNodeSet):
    name = NAME
    parallelism = "replicated" if NAME.startswith("env_") else "shared"
    env_panel = Panel if NAME.startswith("env_") else None

    def get_tools(self):
        return [tool(node_type, ports) for node_type, ports in TOOLS.items()]

    async def get_eval_metadata(self):
        return {"env_name": NAME, "splits": ["all"], "episode_counts": {"all": 20}, "metrics": ["success"]}
