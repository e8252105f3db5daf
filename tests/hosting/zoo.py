"""A nodeset that does what it is told, bad things above all. Keeps to Python 3.8's syntax.

``ZOO_START`` in its environment says what goes wrong at its start; an input ``what`` names what a call does.
"""

from __future__ import annotations

import asyncio
import ctypes
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from engine.components import (
    BaseCanvasNode,
    BaseEnvPanel,
    BaseNodeSet,
    ContainerDef,
    EnvPanelField,
    FireList,
    FireSpec,
    OutsideFailure,
    PortDef,
    StateDef,
    StopExecution,
    WrongChoice,
)

FOREVER = 600
START = os.environ.get("ZOO_START", "")
SLEEPER = [sys.executable, "-c", f"import time; time.sleep({FOREVER})"]


def segfault():
    ctypes.string_at(0)


def spin():
    while True:
        pass


def hold_the_gil():
    ctypes.PyDLL(None).sleep(FOREVER)


def start_child(new_session=False):
    return subprocess.Popen(SLEEPER, start_new_session=new_session).pid


def start_daemon():
    """A child of nobody, in a session of its own; it holds every descriptor that the host has."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write_end, str(os.getpid()).encode())
            time.sleep(FOREVER)
        os._exit(0)
    return int(os.read(read_end, 20))


if START == "exit at import":
    os._exit(3)
if START == "says much":
    raise ImportError("no display\nand no driver")
if START == "sys.exit at import":
    sys.exit("no licence")
if START == "segfault at import":
    segfault()
if START == "hang at import":
    Path(os.environ["ZOO_MARK"]).write_text(str(start_child()))
    time.sleep(FOREVER)
if START == "close every descriptor":
    os.closerange(3, 64)
    os._exit(0)


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no words")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


class Do(BaseCanvasNode):
    """Does ``inputs["what"]``."""

    node_type = "zoo__do"
    input_ports = [PortDef("what", "TEXT"), PortDef("value", "ANY", optional=True)]
    output_ports = [PortDef("value", "ANY")]
    default_config = {"a": 1, "b": 2}

    async def initialize(self):
        self.initialized = getattr(self, "initialized", 0) + 1
        if self.config.get("fail"):
            raise RuntimeError("this node does not initialize")

    async def shutdown(self):
        print(f"shut down {self.node_id}")

    async def forward(self, inputs, ctx):
        return await getattr(self, inputs["what"].replace(" ", "_"))(inputs, ctx)

    async def echo(self, inputs, ctx):
        return {"value": inputs["value"]}

    async def nothing(self, inputs, ctx):
        return {}

    async def about(self, inputs, ctx):
        self.firings = getattr(self, "firings", 0) + 1
        return {
            "pid": os.getpid(),
            "group": os.getpgrp(),
            "session": os.getsid(0),
            "node_id": self.node_id,
            "config": self.config,
            "initialized": self.initialized,
            "firings": self.firings,
            "step": ctx.step,
            "execution_id": ctx.execution_id,
            "episode": dict(ctx.episode),
            "draw": ctx.rng.integers(0, 1 << 30),
            "stdin": sys.stdin.read(),
            "environment": dict(os.environ),
            "cwd": os.getcwd(),
            "path": sys.path,
            "python": list(sys.version_info[:2]),
            "engine": importlib.util.find_spec("engine").origin,
            "found": {
                name: importlib.util.find_spec(name) is not None for name in inputs.get("look_for", [])
            },
        }

    async def says_nothing(self, inputs, ctx):
        raise Unspeakable

    async def emits(self, inputs, ctx):
        ctx.emit(inputs["value"])
        return {}

    async def numpy_scalars(self, inputs, ctx):
        return {kind.__name__: kind(1) for kind in NUMBERS}

    async def value(self, inputs, ctx):
        return {"value": eval(inputs["value"], {"np": np})}

    async def returns(self, inputs, ctx):
        known = {"np": np, "nested": nested, "FireList": FireList, "FireSpec": FireSpec}
        return eval(inputs["value"], known)

    async def logs(self, inputs, ctx):
        self._self_log("seen", inputs["value"])
        ctx.trace("note", text="a trace event")
        return {}

    async def uses_containers(self, inputs, ctx):
        memory = ctx.containers["memory"]
        memory.write("count", 2)
        ctx.emit("reset_all", {"why": "test"})
        memory.write("last", memory.read("count"))
        if inputs.get("value") == "raise":
            raise RuntimeError("after writing")
        if inputs.get("value") == "stop":
            raise StopExecution("after writing")
        return {"value": memory.read("count")}

    async def owns_containers(self, inputs, ctx):
        own = ctx.containers["own"]
        own.write("seen", inputs["value"], key=ctx.execution_id)
        return {"value": own.read("seen", key=ctx.execution_id)}

    async def raises(self, inputs, ctx):
        self._self_log("before", 1)
        raise ValueError("broken: \ud800")

    async def stops(self, inputs, ctx):
        raise StopExecution("seen enough")

    async def lost_its_server(self, inputs, ctx):
        raise OutsideFailure("the server of it is away", cause="exit code 3")

    async def cannot_play_that(self, inputs, ctx):
        raise WrongChoice("colour is 'x'; it takes red or blue")

    async def exits(self, inputs, ctx):
        os._exit(1)

    async def segfaults(self, inputs, ctx):
        segfault()

    async def is_killed(self, inputs, ctx):
        os.kill(os.getpid(), signal.SIGKILL)

    async def exits_leaving_a_daemon(self, inputs, ctx):
        Path(inputs["value"]).write_text(f"{start_child()} {start_child(True)} {start_daemon()}")
        os._exit(1)

    async def hangs(self, inputs, ctx):
        Path(inputs["value"]).write_text(f"{start_child()} {start_child(True)} {start_daemon()}")
        await asyncio.sleep(FOREVER)

    async def spins(self, inputs, ctx):
        Path(inputs["value"]).write_text(str(start_child()))
        spin()

    async def holds_the_gil(self, inputs, ctx):
        Path(inputs["value"]).write_text(str(start_child()))
        hold_the_gil()

    async def starts_a_child(self, inputs, ctx):
        return {"value": start_child()}

    async def traps_sigterm(self, inputs, ctx):
        signal.signal(signal.SIGTERM, lambda *_: print("not yet"))
        return {}

    async def shouts(self, inputs, ctx):
        for stream in (sys.stdout, sys.stderr):
            stream.write("x" * (1 << 20) + "\n")
        print("lone \ud800 surrogate")
        os.write(1, b"raw bytes \xff\n")
        print("last words", file=sys.stderr)
        return {}

    async def takes_memory(self, inputs, ctx):
        self.block = np.ones(50 << 20, np.uint8)
        return {}


NUMBERS = [
    kind
    for kind in set(np.sctypeDict.values())
    if issubclass(kind, (np.bool_, np.number)) and not issubclass(kind, (np.complexfloating, np.timedelta64))
]


class Panel(BaseEnvPanel):
    name = "zoo"
    display_name = "Zoo"
    fields = [EnvPanelField("split", "select", "Split")]

    def __init__(self):
        self.values = {}

    async def on_load(self):
        return {"values": self.values, "nodeset": type(self._context["nodeset"]).__name__}

    async def on_field_change(self, name, value):
        if value == "bad":
            raise ValueError("no such split")
        self.values[name] = value
        return await self.on_load()

    async def on_action(self, name, params):
        return {"ok": name == "play", "error": "only play", "params": params}

    async def get_options(self, field):
        return [{"value": "train", "label": field}]


class Zoo(BaseNodeSet):
    name = "zoo"
    env_panel = Panel

    def __init__(self):
        if START == "constructor raises":
            raise RuntimeError("no display")

    def get_tools(self):
        return [Do()]

    def get_containers(self):
        return [ContainerDef("own", states={"seen": StateDef()})]

    async def initialize(self, **kwargs):
        if START == "initialize raises":
            raise OSError("no such scene")
        if START == "prints and initialize raises":
            print("loading the scene")
            raise OSError("no such scene")

    async def shutdown(self):
        if START == "hang at shutdown":
            start_child()
            await asyncio.sleep(FOREVER)
        print("the zoo is closed")

    async def get_eval_metadata(self):
        return {"env_name": "zoo", "splits": ["train"]}
