"""The panes of home, as slots: a line here is all that another pane takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from tui.loading import load

if TYPE_CHECKING:
    from tui.screens.base import Pane


@dataclass(frozen=True)
class Slot:
    """number: the key. where: ``module:Class``, imported when home is first shown. weight: of the column's
    height where the panes of a column stand below each other."""

    number: int
    name: str
    heading: str
    where: str
    column: Literal["left", "right"]
    weight: int

    def make(self) -> Pane:
        return cast("Pane", load(self.where)())


SLOTS: tuple[Slot, ...] = (
    Slot(1, "runs", "Runs", "tui.panes.runs:RunsPane", "left", 5),
    Slot(2, "queue", "Queue", "tui.panes.queue:QueuePane", "left", 2),
    Slot(3, "workers", "Workers", "tui.panes.lanes:LanesPane", "right", 4),
    Slot(4, "episodes", "Episodes", "tui.panes.episodes:EpisodesPane", "right", 5),
    Slot(5, "metrics", "Metrics", "tui.panes.metrics:MetricsPane", "right", 3),
    Slot(6, "gpus", "GPUs", "tui.panes.gpus:GpusPane", "left", 3),
)
"""In the order of their numbers."""
