"""The nodes."""

from __future__ import annotations

import re
from typing import Any

from engine.components import EvaluateTool, PortDef, ResetTool, StageTool, StepTool

ACTION = PortDef("action", "TEXT", "in BrowserGym's words: click('12'), fill('7', 'Ann'), noop(), …")
SEEN = [
    PortDef("axtree", "TEXT", "the page's accessibility tree, with the ids that actions name"),
    PortDef("rgb", "IMAGE", "(H, W, 3) uint8 screenshot"),
    PortDef("url", "TEXT"),
    PortDef("error", "TEXT", "why the last action could not be done; else empty"),
]
_CLICKABLE = re.compile(r"\[(\w+)\] (?:button|checkbox|link|radio|tab|menuitem|option|textbox|image)\b")


class Reset(ResetTool):
    node_type, description = "env_browsergym__reset", "The task's page, as it opens"
    output_ports = [PortDef("instruction", "TEXT", "what to do there"), *SEEN]


class Step(StepTool):
    node_type, description = "env_browsergym__step", "One action in the page"
    input_ports = [ACTION]
    output_ports = [
        *SEEN,
        PortDef("reward", "ANY", "float"),
        PortDef("terminated", "BOOL", "the task is done, or spoilt"),
        PortDef("truncated", "BOOL"),
    ]


class Evaluate(EvaluateTool):
    node_type, description = "env_browsergym__evaluate", "Success, return and length of the episode"


class RandomClick(StageTool):
    """The floor for comparison. It sees what an agent sees."""

    node_type, description = "env_browsergym__random_click", "Click on anything clickable, by the run's seed"
    input_ports = [PortDef("axtree", "TEXT")]
    output_ports = [ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        there = _CLICKABLE.findall(inputs["axtree"])
        return {"action": f"click({there[int(ctx.rng.integers(len(there)))]!r})" if there else "noop()"}


TOOLS = (Reset, Step, Evaluate, RandomClick)
