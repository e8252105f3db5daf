"""The one game of this process."""

from __future__ import annotations

from typing import Any

from engine.components import Package, SeededStage, extra, foreign_imports

from . import games

STEP_BUDGET = 100
PACKAGES = tuple(
    Package((name,), extra("simulators", "EVALTOWER_TEXTGAME_PYTHON"), {"task_id": tasks}, only_for)
    for name, tasks, only_for in (
        ("textworld", r"(?!scienceworld/).*", "TextWorld and ALFWorld"),
        ("scienceworld", r"scienceworld/.*", "ScienceWorld"),
        ("alfworld", r"alfworld/.*|.*\.tw-pddl", "ALFWorld"),
    )
)


class Table(SeededStage):
    """``game`` is None before the first; ``chosen``: its task, options and seed."""

    def __init__(self) -> None:
        super().__init__()
        self.game: Any = None
        self.chosen = ("", "", 0)
        self.steps = 0
        self._laboratory: Any = None

    def set_up(self) -> None:
        task, options = self.text("task_id") or "textworld/simple", self.text("options")
        seed = self.number("game_seed", self.number("seed"))
        try:
            with foreign_imports(*PACKAGES):
                self._open(task, options, seed)
        except OSError as error:
            raise ValueError(str(error)) from None

    def restart(self) -> None:
        """Open the game anew if steps were taken."""
        if self.steps:
            self._open(*self.chosen)

    def current(self) -> Any:
        if self.game is None:
            raise RuntimeError("no episode was set up: press play first")
        return self.game

    def facts(self) -> dict[str, Any]:
        if self.game is None:
            return {}
        task, _, seed = self.chosen
        return {"episode_id": f"{task}#{seed}", "scene_id": task, "instruction": self.game.instruction}

    def metrics(self) -> dict[str, float]:
        game = self.current()
        told = {"success": float(game.won), "score": game.score, "max_score": game.max_score}
        return dict(told, steps=float(self.steps))

    def step_budget(self) -> int:
        """Enough for the game's own solution: the gold path of scienceworld/boil has up to 188 steps."""
        return max(STEP_BUDGET, len(self.current().walkthrough))

    def close(self) -> None:
        for held in (self.game, self._laboratory):
            if held is not None:
                held.close()
        self.game = self._laboratory = None

    def _open(self, task: str, options: str, seed: int) -> None:
        """ImportError, OSError and ValueError say what is missing or wrong."""
        if self.game is not None:
            self.game.close()
        self.game = None
        engine, _, name = task.partition("/")
        if options and engine not in ("textworld", "scienceworld"):
            raise ValueError(f"selector options is {options!r}; only textworld/… and scienceworld/… take any")
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
