from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.statistics.error_groups import (
    LONGEST_TOLD,
    error_groups,
    error_line,
    grouped_errors,
    nothing_measured,
)
from engine.store.records import EpisodeRow
from tests.fakes.finished_runs import fake_row


def failed(index: int, error: str, **more: Any) -> EpisodeRow:
    fields = {"status": "error", "termination": "exception", "error_class": "graph", "metrics": {}}
    return fake_row(index, **{**fields, "error": error, **more})


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (["episode 3: no map", "episode 4: no map"], "episode …: no map"),
        (["GLFW error 65544 in 3", "GLFW error 65544 in 14"], "GLFW error 65544 in …"),
        (["<Env at 0x7f12ab>", "<Env at 0x55AA>"], "<Env at …>"),
        (["ep0003_r2 is gone", "ep0014_r3 is gone"], "ep…_r… is gone"),
        (["run 20261130_075624 ended", "run 20261130_075702 ended"], "run 20261130_… ended"),
        (
            ["job 1f0e9d3c-0000-4000-8000-00000000000a", "job 2f0e9d3c-0000-4000-8000-00000000000b"],
            "job …",
        ),
        (["digest 5b410a29303d7fc9", "digest c5fcc9e8c5e2ab01"], "digest …"),
        (["/tmp/tmpab12cd_x/a.png", "/tmp/tmpzz99zz_y/a.png"], "/tmp/…/a.png"),
        (["took 1.5 s, not 2e-05", "took 31.25 s, not 2e-05"], "took … s, not 2e-05"),
        (["the same", "the same"], "the same"),
    ],
)  # fmt: skip
def test_errors_that_differ_in_numbers_alone_are_one(errors: list[str], told: str) -> None:
    rows = [failed(at, error) for at, error in enumerate(errors)]
    [group] = grouped_errors(rows)
    assert (group.text, group.count, group.first) == (told, len(errors), rows[0])


def test_words_class_and_end_tell_errors_apart_and_the_commonest_is_first() -> None:
    rows = [
        failed(0, "episode 0: no map"),
        failed(1, "episode 1: no door"),
        failed(2, "episode 2: no door"),
        failed(3, "episode 3: no door", error_class="infra"),
        failed(4, "episode 4: no door", termination="node_error"),
    ]
    assert [(group.text, group.count) for group in grouped_errors(rows)] == [
        ("episode …: no door", 2),
        ("episode 0: no map", 1),
        ("episode 3: no door", 1),
        ("episode 4: no door", 1),
    ]


def test_what_did_not_go_wrong_is_no_error() -> None:
    rows = [fake_row(0), failed(1, "cancelled", status="cancelled", termination="cancelled")]
    assert grouped_errors(rows) == []


def test_one_without_a_word_is_told_by_how_it_ended() -> None:
    assert [group.text for group in grouped_errors([failed(2, "")])] == ["exception"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("exit code 1", "exit code 139"),
        ("HTTP 429", "HTTP 500"),
        ("no x", "no y"),
        ("v4 is gone", "v5 is gone"),
    ],
)
def test_what_says_what_went_wrong_tells_errors_apart(one: str, other: str) -> None:
    assert len(error_groups([failed(0, one), failed(1, other)])) == 2


def test_a_run_of_which_nothing_was_measured_says_with_what() -> None:
    groups = error_groups([failed(0, "a"), failed(1, "b"), failed(2, "b")])
    assert nothing_measured(groups) == "no episode was measured: all 3 failed, 2 of them with graph: b"
    assert nothing_measured(groups[1:]) == "no episode was measured: the one that ended failed with graph: a"


def test_a_long_error_is_cut_and_says_so() -> None:
    (group,) = error_groups([failed(0, "x" * 10_000)])
    assert len(group.error) < LONGEST_TOLD + 40
    assert "characters left out" in group.error


def test_of_a_traceback_the_last_line_counts() -> None:
    traceback = 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no map'
    assert error_line(traceback) == "ValueError: no map"
    assert error_line("\n CUDA error\nat line 3") == "CUDA error"
    assert error_line(" \n") == ""


@given(st.lists(st.text(st.sampled_from("ab 09.ex-…"), max_size=30), max_size=12))
def test_every_error_is_in_one_group_and_a_text_alone_is_told_as_it_is(errors: list[str]) -> None:
    rows = [failed(at, error) for at, error in enumerate(errors)]
    groups = grouped_errors(rows)
    assert sum(group.count for group in groups) == len(errors)
    for group in groups:
        if group.count == 1:
            assert group.text == error_line(group.first.error or "exception")
