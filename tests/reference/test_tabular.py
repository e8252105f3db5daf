"""Optimal play of tabular environments, whose exact expectation is known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference.figures import AGREES, EQUALS, Figure, Published, Room, Rule


def _figure(env_id: str, n: int, metric: str, exact: float, rule: Rule) -> Figure:
    run = ("frozenlake_optimal", "--select", f"env_id={env_id}")
    return Figure(env_id, run, n, metric, Published(exact, "exact"), rule)


ROOM = Room(
    "Optimal play",
    "Success in FrozenLake, else return. Exact: backward induction over the environment's own transition"
    " table within its step limit, from its own starts. Gymnasium's thresholds: 0.70, 0.85, and 8 in Taxi,"
    " more than the optimum. Blackjack has no transition table to play by, and no figure that we know of.",
    [
        _figure("FrozenLake-v1", 200, "success", 0.7441903, AGREES),
        _figure("FrozenLake8x8-v1", 100, "success", 0.9132205, AGREES),
        _figure("Taxi-v4", 150, "return", 7.93, AGREES),
        _figure("CliffWalking-v1", 2, "return", -13.0, EQUALS),
    ],
)


@pytest.mark.reference
@pytest.mark.parametrize("figure", ROOM.figures, ids=lambda figure: figure.name)
def test_the_exact_expectation_is_reached(figure: Figure, reproduce: Any) -> None:
    reproduce(ROOM, figure)
