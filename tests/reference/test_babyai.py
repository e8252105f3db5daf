"""BabyAI's bot and random agent: mean undiscounted returns of JAT.

Its random agent plays a million steps, which is at least ``1,000,000 / step limit`` episodes. How many its
bot's figures have is not said; 1,000 are taken.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.reference.figures import AGREES, Figure, Published, Room, shown

_STEPS = 1_000_000
# level: step limit, (bot's mean, sd, our episodes), (random agent's mean, sd, our episodes)
_JAT: dict[str, tuple[int, tuple[float, float, int], tuple[float, float, int]]] = {
    "GoToObj": (64, (0.930194, 0.031537, 200), (0.133595, 0.273273, 40)),
    "GoToLocal": (64, (0.925005, 0.042449, 200), (0.162485, 0.297820, 40)),
    "GoToRedBallGrey": (64, (0.916898, 0.045043, 200), (0.123867, 0.267786, 40)),
    "GoTo": (576, (0.916995, 0.070354, 40), (0.130512, 0.292978, 10)),
    "OpenRedDoor": (50, (0.915012, 0.027701, 200), (0.077872, 0.212422, 40)),
    "PickupLoc": (64, (0.914503, 0.042843, 200), (0.084721, 0.226370, 40)),
    "PickupDist": (49, (0.855727, 0.213599, 200), (0.096633, 0.238992, 40)),
    "PutNextLocal": (128, (0.915406, 0.029114, 150), (0.004183, 0.049098, 40)),
    "UnlockPickup": (72, (0.754376, 0.036991, 100), (0.000009, 0.001061, 40)),
    "BossLevel": (1152, (0.941872, 0.050525, 40), (0.061606, 0.205425, 8)),
}
_NOT_ASSERTED = {"PickupDist, bot": shown("differs, unexplained")}


def _figures() -> list[Figure]:
    found = []
    for level, (limit, bot, random) in _JAT.items():
        for agent, (mean, sd, n), episodes in (("bot", bot, 1_000), ("random", random, _STEPS // limit)):
            run = (f"babyai_{agent}", "--select", f"env_id=BabyAI-{level}-v0")
            name = f"{level}, {agent}"
            rule = _NOT_ASSERTED.get(name, AGREES)
            found.append(Figure(name, run, n, "return", Published(mean, "JAT", sd, episodes), rule))
    return found


ROOM = Room(
    "BabyAI",
    "Mean returns. JAT: `jat/eval/rl/scores_dict.json` of huggingface/jat (at 09a9a21; Gallouédec et al."
    " 2024, arXiv 2402.09844). Its bot on PickupDist has an sd that hints at failed episodes; ours has none.",
    _figures(),
)


@pytest.mark.reference
@pytest.mark.parametrize("figure", ROOM.figures, ids=lambda figure: figure.name)
def test_returns_are_the_published_ones(figure: Figure, reproduce: Any) -> None:
    summary = reproduce(ROOM, figure)
    if figure.name.endswith("bot"):
        assert summary["aggregate_metrics"]["success"] == 1


def test_the_bot_on_gotolocal_in_short(play: Any) -> None:
    """Forty episodes, so that also the quick tests see a published figure."""
    figure = replace(ROOM["GoToLocal, bot"], n=40)
    stats = play(figure)["metric_stats"][figure.metric]
    assert abs(stats["mean"] - figure.published.mean) < 3 * stats["stderr"]
