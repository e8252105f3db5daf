from __future__ import annotations

import pytest

from engine.store.error_groups import LONGEST, error_groups, nothing_measured
from engine.store.records import EpisodeRow
from tests.fakes.finished_runs import fake_row


def failed(index: int, error: str, error_class: str = "config") -> EpisodeRow:
    return fake_row(index, status="error", error=error, error_class=error_class, termination="exception")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the environment refused episode 0: no x", "the environment refused episode 17: no x"),
        ("agent at step 3: boom", "agent at step 12: boom"),
        ("<Env object at 0x7f00aa> is closed", "<Env object at 0x7f11bb> is closed"),
        ("Pong#745 has no frame", "Pong#1118 has no frame"),
        ("env_x#0 ended", "env_x#3 ended"),
        ("still running after 30.5 s", "still running after 31 s"),
        ("boom\nTraceback: a", "boom\nTraceback: b"),
    ],
)
def test_errors_that_differ_in_whose_they_are_are_one(one: str, other: str) -> None:
    (group,) = error_groups([failed(4, one), failed(5, other)])
    assert (group.episodes, group.episode_index) == (2, 4)
    assert "\n" not in group.error
    assert group.error.startswith(one.partition("\n")[0])


@pytest.mark.parametrize(
    ("one", "other"), [("exit code 1", "exit code 139"), ("no x", "no y"), ("v4 is gone", "v5 is gone")]
)
def test_others_are_several(one: str, other: str) -> None:
    assert len(error_groups([failed(0, one), failed(1, other)])) == 2


def test_the_commonest_comes_first_and_what_did_not_err_is_left_out() -> None:
    rows = [failed(0, "a"), failed(1, "b"), failed(2, "b"), fake_row(3), fake_row(4, status="cancelled")]
    groups = error_groups(rows)
    assert [(group.error, group.episodes) for group in groups] == [("b", 2), ("a", 1)]
    assert nothing_measured(groups) == "no episode was measured: all 3 failed, 2 of them with config: b"
    assert nothing_measured(groups[1:]) == "no episode was measured: the one that ended failed with config: a"


def test_a_long_error_is_cut_and_says_so() -> None:
    (group,) = error_groups([failed(0, "x" * 10_000)])
    assert len(group.error) < LONGEST + 40
    assert "characters left out" in group.error
