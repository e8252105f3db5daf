"""Two runs task by task, over the episodes in which both have measured a metric. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from engine.statistics.pairing import Side, episode_means, pair
from engine.statistics.rows import column
from engine.statistics.sums import mean
from engine.store.records import EpisodeRow


@dataclass(frozen=True)
class TaskDifference:
    """pairs: of episodes. left, right: means over them. lower, higher: those in which the second run has
    less, or more."""

    task: str
    pairs: int
    left: float
    right: float
    lower: int
    higher: int

    @property
    def difference(self) -> float:
        return self.right - self.left


def by_task(left: Sequence[EpisodeRow], right: Sequence[EpisodeRow], metric: str) -> list[TaskDifference]:
    """What fell most first."""
    one, other = Side("", left), Side("", right)
    mine, theirs = (episode_means(column(side.rows, metric)) for side in (one, other))
    found: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for episode, place in pair(one, other).shared.items():
        if episode in mine and episode in theirs:
            found[place.task].append((mine[episode], theirs[episode]))
    tasks = [
        TaskDifference(
            task=task,
            pairs=len(values),
            left=mean([before for before, _ in values]),
            right=mean([after for _, after in values]),
            lower=sum(after < before for before, after in values),
            higher=sum(after > before for before, after in values),
        )
        for task, values in found.items()
    ]
    return sorted(tasks, key=lambda row: (row.difference, row.task))
