"""What environments share in which an agent walks towards a goal, and stops there.

Runs under foreign interpreters (Python 3.8+).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from engine.components.bases import PortDef
from engine.components.requirements import Requirement, below, needs_path
from engine.components.stage import EvaluateTool, Stage, StageNodeSet
from engine.statistics.trajectory import MEASURES, Trajectory

WALKED = [
    PortDef("reward", "ANY", "float: metres by which the goal got nearer"),
    PortDef("terminated", "BOOL", "the agent stopped"),
]


class NavigationStage(Stage):
    """``walked``: the episode so far, with all its measures."""

    walked: Trajectory

    @abstractmethod
    def expert(self) -> Any:
        """The action that leads along a shortest path; the stop at its end."""

    def metrics(self) -> dict[str, float]:
        return dict(self.walked.measures(), length=self.walked.steps)

    def refuse_after_stop(self) -> None:
        if self.walked.stopped:
            raise RuntimeError("the agent stopped, and the episode is over: reset it first")


class NavigationStageNodeSet(StageNodeSet):
    """``root``: the variable that names the folder of its data. ``data``: (what, path below that folder, how
    to get it) of each thing that has to be there."""

    determinism = "seeded"  # another machine's card may render a pixel differently
    metrics = (*MEASURES, "length")
    root: ClassVar[str]
    data: ClassVar[tuple[tuple[str, str, str], ...]]

    def requirements(self) -> list[Requirement]:
        found = [needs_path(what, below(self.root, path), remedy) for what, path, remedy in self.data]
        return [*super().requirements(), *found]


class NavigationEvaluate(EvaluateTool):
    description = "Success, SPL, nDTW and friends, by our own measures"
