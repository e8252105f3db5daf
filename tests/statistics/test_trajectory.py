from __future__ import annotations

import pytest

from engine.statistics.trajectory import MEASURES, Trajectory


def walked(places: list[tuple[float, float]], reference: object = None) -> Trajectory:
    """To a goal at (0, 4), with a success radius of 1 m."""
    trajectory = Trajectory(1.0, reference)  # type: ignore[arg-type]
    for place in places:
        trajectory.visit(place, abs(4 - place[1]))
    return trajectory


def test_a_straight_walk_that_stops_there_is_perfect() -> None:
    straight = [(0.0, float(y)) for y in range(5)]
    trajectory = walked(straight, straight)
    trajectory.stopped = True
    assert trajectory.measures() == {
        **dict.fromkeys(("success", "spl", "soft_spl", "oracle_success", "ndtw", "sdtw"), 1.0),
        "navigation_error": 0.0,
        "path_length": 4.0,
    }
    assert trajectory.steps == 4


def test_who_does_not_stop_has_not_succeeded() -> None:
    measures = walked([(0.0, 0.0), (0.0, 4.0)]).measures()
    assert (measures["success"], measures["spl"], measures["oracle_success"]) == (0, 0, 1)


def test_without_a_reference_path_two_measures_are_not_there() -> None:
    measures = walked([(0.0, 0.0)]).measures()
    assert set(MEASURES) - set(measures) == {"ndtw", "sdtw"}


def test_standing_still_changes_no_ndtw() -> None:
    reference = [(0.0, 0.0), (0.0, 2.0), (0.0, 4.0)]
    moved = [(0.0, 0.0), (0.0, 1.0), (0.0, 3.5)]
    turned = [place for place in moved for _ in range(3)]
    assert walked(turned, reference).measures()["ndtw"] == pytest.approx(
        walked(moved, reference).measures()["ndtw"]
    )
