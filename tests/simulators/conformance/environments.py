"""Every built-in environment that can be run here, a row each. A further one adds its row, no more."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Environment:
    """``graph`` plays it, with ``selectors``; an episode has at most ``steps`` steps.

    ``leaks``: so much that 50 in one process pass the limit at which a run begins a fresh one.
    ``program``: what has to be on PATH. ``unseeded``: why another seed of the run makes no other
    episode of an index; empty where it does. ``pooled``: connections that its library may open beside
    the first, once, whenever it happens to need one.
    """

    name: str
    nodeset: str
    graph: str
    selectors: Mapping[str, str] = field(default_factory=dict)
    steps: int = 10
    leaks: bool = False
    program: str = ""
    unseeded: str = ""
    pooled: int = 0

    @property
    def missing(self) -> str:
        """What keeps it from being run on this machine."""
        absent = self.program and shutil.which(self.program) is None
        return f"there is no {self.program} on PATH" if absent else ""


def _gym(env_id: str, graph: str = "babyai_random", frames: str = "none", **more: float) -> Environment:
    name = env_id + (", frames" if frames == "render" else "")
    return Environment(name, "env_gymnasium", graph, {"env_id": env_id, "frames": frames}, **more)  # type: ignore[arg-type]


def _arm(name: str, selectors: Mapping[str, str], **more: float) -> Environment:
    return Environment(name, "env_metaworld", "metaworld_scripted", selectors, steps=4, **more)  # type: ignore[arg-type]


def _text(task: str, **more: float | str) -> Environment:
    return Environment(task, "env_textgame", "textgame_walkthrough", {"task_id": task}, **more)  # type: ignore[arg-type]


_CASES = "the index is the case"

ENVIRONMENTS = [
    Environment("gridhouse", "env_gridhouse", "gridhouse_random", {"slip": "0.2"}),
    Environment("workspace", "env_workspace", "swe_gold", unseeded=_CASES),
    _gym("BabyAI-GoToLocal-v0"),
    _gym("FrozenLake-v1"),
    _gym("CartPole-v1"),
    _gym("LunarLander-v3"),
    _gym("ALE/Pong-v5", steps=40),
    _gym("MiniWorld-OneRoom-v0", leaks=True),
    _gym("HalfCheetah-v5", "mujoco_random", steps=4),
    _gym("HalfCheetah-v5", "mujoco_random", "render", steps=2),
    _arm("reach-v3", {"task_id": "reach-v3"}),
    _arm("reach-v3, frames", {"task_id": "reach-v3", "frames": "render"}),
    _text("textworld/simple"),
    _text("alfworld/kitchen"),
    # py4j opens a second connection the first time that the collector interrupts a call with another one.
    _text("scienceworld/lifespan-longest-lived", program="java", pooled=1),
]

NOT_HERE = {
    "env_browsergym": "by hand: a Chromium of its own",
    "env_habitat": "cannot be run here",
    "env_maniskill": "by hand: 2 GB, and Vulkan",
    "env_mp3d": "cannot be run here",
    "env_simpler": "cannot be run here",
    "env_sound": "shared, without a panel; tests/control/test_model_invariance.py verifies its runs",
}
"""Built-in environments without a row, and why."""


def by_graph() -> dict[str, list[Environment]]:
    """Those that can be run on this machine, by the graph that plays them."""
    found: dict[str, list[Environment]] = {}
    for one in ENVIRONMENTS:
        if not one.missing:
            found.setdefault(one.graph, []).append(one)
    return found
