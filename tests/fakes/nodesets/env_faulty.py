"""An environment that fails on demand. Selectors: ``fault`` (what), ``at`` (the episode that it strikes).

``FAULTY_START`` strikes at start: ``raise_in_constructor``, ``raise``, ``exit``, or n with a counter
in ``FAULTY_COUNTER``: the n-th start raises.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from engine.components import BaseCanvasNode, BaseEnvPanel, BaseNodeSet, EnvPanelField, PortDef, refusal

LENGTH = 4
FOREVER = 10_000
HOG_MB = 300


class World:
    """``steps`` of the episode that was committed last. ``broken``: it can set up no other."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.steps = 0
        self.broken = False

    def strikes(self, fault: str) -> bool:
        return (
            self.fields.get("fault") == fault
            and int(self.fields.get("at", 0)) == self.fields["episode_index"]
        )


WORLD = World()


def hang() -> None:
    deadline = time.monotonic() + FOREVER
    while time.monotonic() < deadline:
        time.sleep(0.05)


def hog(marker: Path) -> None:
    """Take more and more, up to HOG_MB; ``marker`` has a line for each time that it came to that."""
    with marker.open("a") as lines:
        lines.write("here\n")
    taken = []
    while len(taken) * 4 < HOG_MB:
        taken.append(np.ones(4 << 20, np.uint8))
        time.sleep(0.02)
    hang()


class Panel(BaseEnvPanel):
    name = "env_faulty"
    fields: ClassVar[list[EnvPanelField]] = [
        EnvPanelField("fault", "text", "Fault"),
        EnvPanelField("at", "number", "Episode"),
    ]

    async def on_load(self) -> dict[str, Any]:
        episode = {
            "episode_id": f"e{WORLD.fields.get('episode_index')}",
            "scene_id": "s",
            "instruction": "walk",
        }
        return {"current_episode": episode, "step_budget": 10}

    async def on_field_change(self, name: str, value: Any) -> dict[str, Any]:
        WORLD.fields[name] = value
        return {}

    async def on_action(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        WORLD.steps = 0
        if WORLD.strikes("refuse"):
            return {"ok": False, "error": "no such episode here"}
        if WORLD.strikes("raise_reset"):
            raise RuntimeError("a panel of somebody else's")
        WORLD.broken = WORLD.broken or WORLD.strikes("broken")
        if WORLD.broken:
            return refusal(ConnectionError("the simulator is gone"), self.name)
        if WORLD.strikes("hang_reset"):
            hang()
        return {"ok": True}


class Reset(BaseCanvasNode):
    node_type = "env_faulty__reset"
    output_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"obs": 0}


class Step(BaseCanvasNode):
    node_type = "env_faulty__step_discrete"
    input_ports: ClassVar[list[PortDef]] = [PortDef("obs", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [
        PortDef("obs", "ANY"),
        PortDef("terminated", "BOOL"),
        PortDef("extra", "ANY"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        WORLD.steps += 1
        if WORLD.steps == 2:
            in_the_middle()
        done = WORLD.steps >= LENGTH
        return {
            "obs": WORLD.steps,
            "terminated": done,
            "extra": EXTRAS.get(str(WORLD.fields.get("fault"))),
        }


class Evaluate(BaseCanvasNode):
    node_type = "env_faulty__evaluate"
    input_ports: ClassVar[list[PortDef]] = [PortDef("trigger", "ANY")]
    output_ports: ClassVar[list[PortDef]] = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        metrics: dict[str, Any] = {"success": 1.0, "length": WORLD.steps}
        if WORLD.fields.get("fault") == "all_nan":
            metrics["success"] = float("nan")
        if WORLD.strikes("metric_nan"):
            metrics.update(nan=float("nan"), inf=float("inf"))
        if WORLD.strikes("metric_numpy"):
            metrics.update(
                i=np.int64(3), f=np.float32(0.5), b=np.bool_(True), h=np.float16(2.0), u=np.uint8(7)
            )
        return {"metrics": metrics}


EXTRAS: dict[str, Any] = {
    "nan": {"nan": float("nan"), "inf": [float("inf"), -float("inf")], "array": np.array([np.nan, np.inf])},
    "numpy": {t.__name__: t(1) for t in (np.int8, np.uint64, np.float16, np.float32, np.float64, np.bool_)},
    "surrogate": "a lone \ud800 surrogate",
    "line_separators": "a\u2028b\u2029c\x85d\x0be",
    "long_text": "x" * 50_000_000,
}


def in_the_middle() -> None:
    if WORLD.strikes("raise"):
        raise RuntimeError("the simulator is unhappy")
    if WORLD.strikes("exit"):
        print("about to exit", file=sys.stderr, flush=True)
        os._exit(1)
    if WORLD.strikes("segv"):
        ctypes.string_at(0)
    if WORLD.strikes("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if WORLD.strikes("kill_once") and not Path(WORLD.fields["marker"]).exists():
        Path(WORLD.fields["marker"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if WORLD.strikes("hog"):
        hog(Path(WORLD.fields["marker"]))
    if WORLD.strikes("wait"):
        while not Path(WORLD.fields["marker"]).exists():
            time.sleep(0.05)
    if WORLD.strikes("hang_step"):
        hang()
    if WORLD.strikes("late"):
        time.sleep(float(WORLD.fields.get("late_sec", 3)))
    if WORLD.strikes("noise"):
        for _ in range(16):
            print("e" * 65_536, file=sys.stderr)
            print("o" * 65_536)


class FaultyNodeSet(BaseNodeSet):
    name = "env_faulty"
    parallelism = "replicated"
    env_panel = Panel
    start_deadline_sec = 20.0
    first_reset_deadline_sec = 3.0
    reset_deadline_sec = 3.0
    default_per_step_budget_sec = 2.0

    def __init__(self) -> None:
        if os.environ.get("FAULTY_START") == "raise_in_constructor":
            raise RuntimeError("no constructor for this simulator")

    async def initialize(self, **kwargs: Any) -> None:
        mode = os.environ.get("FAULTY_START", "")
        if mode == "raise":
            raise RuntimeError("no licence for this simulator")
        if mode == "exit":
            os._exit(7)
        if mode.isdigit() and count_start() == int(mode):
            raise RuntimeError(f"start {mode} fails")

    def get_tools(self) -> list[BaseCanvasNode]:
        return [Reset(), Step(), Evaluate()]

    async def shutdown(self) -> None:
        if WORLD.fields.get("fault") == "hang_shutdown":
            hang()
        if WORLD.fields.get("fault") == "segv_at_exit":
            os.kill(os.getpid(), signal.SIGSEGV)

    async def get_eval_metadata(self) -> dict[str, Any]:
        return {
            "env_name": "faulty",
            "splits": ["all"],
            "episode_counts": {"all": 100},
            "metrics": ["success"],
        }


def count_start() -> int:
    counter = Path(os.environ["FAULTY_COUNTER"])
    count = int(counter.read_text()) + 1 if counter.exists() else 1
    counter.write_text(str(count))
    return count
