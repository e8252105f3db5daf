"""The one game of this process, and the nodes: reset, step, evaluate, and who acts."""

from __future__ import annotations

from typing import Any

from engine.components import BaseCanvasNode, PortDef

from . import games

_OBSERVATION = PortDef("observation", "TEXT", "what the game says")
_COMMANDS = PortDef("commands", "ANY", "list of text: what can be done now, sorted")
_ACTION = PortDef("action", "TEXT", "a command")


class Table:
    """``game`` is None before the first; ``chosen``: its task, options and seed."""

    def __init__(self) -> None:
        self.game: Any = None
        self.chosen = ("", "", 0)
        self.steps = 0
        self._laboratory: Any = None

    def open(self, task: str, options: str, seed: int) -> None:
        """ImportError, OSError and ValueError say what is missing or wrong."""
        self._put_away()
        engine, _, name = task.partition("/")
        if task.endswith((".z8", ".tw-pddl")):
            self.game = games.from_file(task)
        elif engine == "textworld":
            self.game = games.generated(name, options, seed)
        elif task == "alfworld/kitchen":
            self.game = games.kitchen(seed)
        elif engine == "scienceworld":
            self._laboratory = self._laboratory or games.laboratory()
            self.game = games.Experiment(self._laboratory, name, options, seed)
        else:
            known = "textworld/…, scienceworld/…, alfworld/kitchen, or a path that ends in .z8 or .tw-pddl"
            raise ValueError(f"selector task_id is {task!r}; it takes {known}")
        self.chosen, self.steps = (task, options, seed), 0

    def current(self) -> Any:
        if self.game is None:
            raise RuntimeError("no episode was set up: press play first")
        return self.game

    def close(self) -> None:
        self._put_away()
        if self._laboratory is not None:
            self._laboratory.close()

    def _put_away(self) -> None:
        if self.game is not None:
            self.game.close()
        self.game = None


class TableTool(BaseCanvasNode):
    """A tool that works on the one game of this process."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table


class Reset(TableTool):
    node_type = "env_textgame__reset"
    display_name = "Text game: Reset"
    description = "The game's first words. Fired again after steps, it opens the game anew"
    input_ports = [PortDef("trigger", "ANY", optional=True)]
    output_ports = [_OBSERVATION, _COMMANDS, PortDef("instruction", "TEXT", "the task")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        if self.table.steps:
            self.table.open(*self.table.chosen)
        game = self.table.current()
        return {"observation": game.observation, "commands": game.commands, "instruction": game.instruction}


class Step(TableTool):
    node_type = "env_textgame__step"
    display_name = "Text game: Step"
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
        game = self.table.current()
        if game.done:
            raise RuntimeError("the game has ended: wire `done` to the loop's `stop`")
        game.act(str(inputs["action"]))
        self.table.steps += 1
        seen = {"observation": game.observation, "commands": game.commands}
        return dict(seen, score=game.score, won=game.won, done=game.done)


class Evaluate(TableTool):
    node_type = "env_textgame__evaluate"
    display_name = "Text game: Evaluate"
    description = "Success (won), score, the most that there is to score, and steps"
    input_ports = [PortDef("trigger", "ANY")]
    output_ports = [PortDef("metrics", "METRICS")]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        game = self.table.current()
        scores = {"success": float(game.won), "score": game.score, "max_score": game.max_score}
        return {"metrics": dict(scores, steps=float(self.table.steps))}


class WalkthroughAction(TableTool):
    node_type = "env_textgame__walkthrough_action"
    display_name = "Text game: Walkthrough"
    description = "The next command of the game's own solution (walkthrough, gold path or plan)"
    input_ports = [PortDef("trigger", "ANY", "wire the observation, so that each step asks for a command")]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        steps, walkthrough = self.table.steps, self.table.current().walkthrough
        if steps >= len(walkthrough):
            raise RuntimeError(f"the game's solution has {len(walkthrough)} steps, and has not ended it")
        return {"action": walkthrough[steps]}


class RandomAction(TableTool):
    node_type = "env_textgame__random_action"
    display_name = "Text game: Random action"
    description = "One of the commands, each as likely, drawn from the node's own generator"
    input_ports = [_COMMANDS]
    output_ports = [_ACTION]

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        commands = inputs["commands"]
        return {"action": commands[int(ctx.rng.integers(len(commands)))] if commands else "look"}
