"""The one game of this process."""

from __future__ import annotations

from typing import Any

from engine.components import Package, SeededStage, extra, foreign_imports

from . import games

_EXTRA = extra("simulators", "EVALTOWER_TEXTGAME_PYTHON")
PACKAGES = tuple(
    Package((module,), _EXTRA, tasks, only_for, stands_on=below)
    for module, tasks, only_for, below in (
        ("textworld", {"task_id": r"(?!scienceworld/).*"}, "TextWorld and ALFWorld", ("jericho", "tatsu")),
        ("scienceworld", games.OF_SCIENCEWORLD, "ScienceWorld", ("py4j",)),
        ("alfworld", {"task_id": r"alfworld/.*|.*\.tw-pddl"}, "ALFWorld", ("fast_downward_textworld",)),
    )
)


class Table(SeededStage):
    """``env``: the game. ScienceWorld's child outlives it."""

    _laboratory: Any = None

    def set_up(self) -> None:
        super().close()
        task, options = self.text("task_id") or "textworld/simple", self.text("options")
        seed = self.number("game_seed", self.number("seed"))
        with foreign_imports(*PACKAGES):
            self.env = self._opened(task, options, seed)
        self.begin(task, seed, self.env.instruction)

    def act(self, action: Any) -> float:
        before = self.env.score
        self.env.act(str(action))
        self.terminated = self.env.done
        return float(self.env.score - before)

    def seen(self) -> dict[str, Any]:
        return vars(self.env)

    def expert(self) -> str:
        """The next command of the game's own solution."""
        solution: list[str] = self.env.walkthrough
        if self.steps >= len(solution):
            raise RuntimeError(f"the game's solution has {len(solution)} steps, and has not ended it")
        return solution[self.steps]

    def metrics(self) -> dict[str, float]:
        told = {"success": float(self.env.won), "score": self.env.score, "max_score": self.env.max_score}
        return dict(told, steps=float(self.steps))

    def step_budget(self) -> int:
        """100, or those of the game's own solution. ScienceWorld's are not made to know that: of
        those measured 751 is the most where blocks slide, which is waited for, and 188 elsewhere."""
        if self.task.startswith("scienceworld/"):
            return 1000 if "inclined-plane" in self.task else 250
        return max(100, len(self.env.walkthrough))

    def close(self) -> None:
        super().close()
        if self._laboratory is not None:
            self._laboratory.close()
        self._laboratory = None

    def _opened(self, task: str, options: str, seed: int) -> Any:
        engine, _, name = task.partition("/")
        if options and engine not in ("textworld", "scienceworld"):
            raise ValueError(f"selector options is {options!r}; only textworld/… and scienceworld/… take any")
        if task.endswith((".z8", ".tw-pddl")):
            return games.from_file(task)
        if engine == "textworld":
            return games.generated(name, options, seed)
        if task == "alfworld/kitchen":
            return games.kitchen(seed)
        if engine == "scienceworld":
            self._laboratory = games.laboratory(self._laboratory)
            return games.Experiment(self._laboratory, name, options, seed)
        known = "textworld/…, scienceworld/…, alfworld/kitchen, or a path that ends in .z8 or .tw-pddl"
        raise ValueError(f"selector task_id is {task!r}; it takes {known}")
