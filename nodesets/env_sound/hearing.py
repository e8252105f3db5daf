"""The nodes: something to listen to, and whether it was heard right."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import BaseCanvasNode, PortDef

from .sounds import WINDOWS, sound


class Hear(BaseCanvasNode):
    """The next window of the episode's sound, which its seed makes up: a voice, or none."""

    node_type = "env_sound__hear"
    display_name = "Sound: Hear"
    description = "The next 32 ms of the episode's sound, a voice that sings vowels or a hiss or tone"
    category = "environment"
    input_ports = [PortDef("trigger", "ANY", "any value; each asks for one more window", optional=True)]
    output_ports = [
        PortDef(
            "window", "ANY", "(576,) float32 samples at 16 kHz, the first 64 of them of the window before"
        ),
        PortDef("is_voice", "BOOL", "the truth"),
        PortDef("done", "BOOL", "this was the last one; wire it to the loop's stop"),
    ]

    async def initialize(self) -> None:
        self._windows, self._is_voice = np.empty(0), False
        self._next = 0

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        if not self._next:
            self._windows, self._is_voice = sound(int(ctx.episode["seed"]))
        window = self._windows[min(self._next, WINDOWS - 1)]
        self._next += 1
        return {"window": window, "is_voice": self._is_voice, "done": self._next >= WINDOWS}


class Detect(BaseCanvasNode):
    """The verdict so far: it was a voice if any window's score is at least ``threshold``."""

    node_type = "env_sound__detect"
    display_name = "Sound: Detect"
    description = "Compare the highest score with the truth"
    category = "environment"
    input_ports = [PortDef("score", "ANY", "a number, or an array of one"), PortDef("is_voice", "BOOL")]
    output_ports = [PortDef("metrics", "METRICS", "success, and the highest score")]
    default_config = {"threshold": 0.5}

    async def initialize(self) -> None:
        self._highest = 0.0

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self._highest = max(self._highest, float(np.asarray(inputs["score"]).reshape(())))
        is_right = (self._highest >= self.config["threshold"]) == inputs["is_voice"]
        return {"metrics": {"success": float(is_right), "highest_score": self._highest}}
