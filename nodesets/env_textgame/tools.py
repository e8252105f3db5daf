"""The nodes: reset, step, evaluate, and who acts."""

from __future__ import annotations

from typing import Any

from engine.components import EvaluateTool, ExpertTool, PortDef, ResetTool, StageTool, StepTool

_COMMANDS = PortDef("commands", "ANY", "list of text: what can be done now, sorted")
_SEEN = [PortDef("observation", "TEXT", "what the game says"), _COMMANDS]
_ACTION = PortDef("action", "TEXT", "a command")


class Reset(ResetTool):
    node_type = "env_textgame__reset"
    description = "The game's first words. Fired again after steps, it opens the game anew"
    output_ports = [*_SEEN, PortDef("instruction", "TEXT", "the task")]


class Step(StepTool):
    node_type = "env_textgame__step"
    description = "Say a command; the game answers also to one that it does not know"
    input_ports = [_ACTION]
    output_ports = [
        *_SEEN,
        PortDef("score", "ANY", "float, all points so far"),
        PortDef("won", "BOOL"),
        PortDef("done", "BOOL", "the game has ended; wire it to the loop's stop"),
    ]


class Evaluate(EvaluateTool):
    node_type = "env_textgame__evaluate"
    description = "Success (won), score, the most that there is to score, and steps"


class WalkthroughAction(ExpertTool):
    node_type = "env_textgame__walkthrough_action"
    description = "The next command of the game's own solution (walkthrough, gold path or plan)"
    output_ports = [_ACTION]


class RandomAction(StageTool):
    node_type = "env_textgame__random_action"
    description = "One of the commands, each as likely, drawn from the node's own generator"
    input_ports = [_COMMANDS]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": str(ctx.rng.choice(inputs["commands"] or ["look"]))}


TOOLS = (Reset, Step, Evaluate, WalkthroughAction, RandomAction)
