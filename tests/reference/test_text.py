"""The solutions that come with text games reach all there is to score."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.reference.figures import EQUALS, Figure, Published, Room

_JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="there is no java on PATH")


def _figure(task: str, n: int, metric: str, best: float, source: str) -> Figure:
    run = ("textgame_walkthrough", "--select", f"task_id={task}")
    return Figure(task, run, n, metric, Published(best, source), EQUALS)


ROOM = Room(
    "Text games, their own solutions",
    "Success is a won game: all points of TextWorld's; in ALFWorld's engine, on kitchens of ours, what the"
    " planner finds. ScienceWorld's gold paths score 100. TextWorldExpress is not built in.",
    [
        _figure("textworld/simple", 3, "success", 1, "game"),
        _figure("textworld/coin_collector", 2, "success", 1, "game"),
        _figure("textworld/treasure_hunter", 2, "success", 1, "game"),
        _figure("textworld/cooking", 2, "success", 1, "game"),
        _figure("alfworld/kitchen", 8, "success", 1, "exact"),
        _figure("scienceworld/find-living-thing", 2, "score", 100, "package"),
        _figure("scienceworld/find-plant", 1, "score", 100, "package"),
        _figure("scienceworld/lifespan-longest-lived", 3, "score", 100, "package"),
        _figure("scienceworld/power-component", 2, "score", 100, "package"),
    ],
)


@pytest.mark.reference
@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(figure, marks=[_JAVA] if figure.name.startswith("scienceworld") else [], id=figure.name)
        for figure in ROOM.figures
    ],
)
def test_a_solution_wins(figure: Figure, reproduce: Any) -> None:
    for row in reproduce(ROOM, figure)["episodes"]:
        assert row["metrics"]["score"] == row["metrics"]["max_score"]
