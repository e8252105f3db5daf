"""The nodes: reset, step, evaluate, and who acts."""

from __future__ import annotations

from typing import Any

from engine.components import PortDef, StageTool

_OBSERVATION = PortDef("observation", "TEXT", "what the game says")
_COMMANDS = PortDef("commands", "ANY", "list of text: what can be done now, sorted")
_ACTION = PortDef("action", "TEXT", "a command")


class Reset(StageTool):
    node_type = "env_textgame__reset"
    description = "The game's first words. Fired again after steps, it opens the game anew"
    input_ports = [PortDef("trigger", "ANY", optional=True)]
    output_ports = [_OBSERVATION, _COMMANDS, PortDef("instruction", "TEXT", "the task")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self.stage.restart()
        game = self.stage.current()
        return {"observation": game.observation, "commands": game.commands, "instruction": game.instruction}


class Step(StageTool):
    node_type = "env_textgame__step"
    description = "Say a command; the game answers also to one that it does not know"
    input_ports = [_ACTION]
    output_ports = [
        _OBSERVATION,
        _COMMANDS,
        PortDef("score", "ANY", "float, all points so far"),
        PortDef("won", "BOOL"),
        PortDef("done", "BOOL", "the game has ended; wire it to the loop's stop"),
    ]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        game = self.stage.current()
        if game.done:
            raise RuntimeError("the game has ended: wire `done` to the loop's `stop`")
        game.act(str(inputs["action"]))
        self.stage.steps += 1
        seen = {"observation": game.observation, "commands": game.commands}
        return dict(seen, score=game.score, won=game.won, done=game.done)


class Evaluate(StageTool):
    node_type = "env_textgame__evaluate"
    description = "Success (won), score, the most that there is to score, and steps"
    input_ports = [PortDef("trigger", "ANY")]
    output_ports = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"metrics": self.stage.metrics()}


class WalkthroughAction(StageTool):
    node_type = "env_textgame__walkthrough_action"
    description = "The next command of the game's own solution (walkthrough, gold path or plan)"
    input_ports = [PortDef("trigger", "ANY", "wire the observation, so that each step asks for a command")]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        steps, walkthrough = self.stage.steps, self.stage.current().walkthrough
        if steps >= len(walkthrough):
            raise RuntimeError(f"the game's solution has {len(walkthrough)} steps, and has not ended it")
        return {"action": walkthrough[steps]}


class RandomAction(StageTool):
    node_type = "env_textgame__random_action"
    description = "One of the commands, each as likely, drawn from the node's own generator"
    input_ports = [_COMMANDS]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        return {"action": str(ctx.rng.choice(inputs["commands"] or ["look"]))}


TOOLS = (Reset, Step, Evaluate, WalkthroughAction, RandomAction)
