from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evaluation.plan import PlanError, cut_chunks, deal_groups, plan_episodes, useful_workers


def plan(**changes: Any) -> list[int]:
    request: dict[str, Any] = {
        "count": 3,
        "start": 0,
        "indices": None,
        "selectors": {},
        "episode_selectors": None,
        "run_seed": 0,
        "available": 10,
    }
    return [e.index for e in plan_episodes(**(request | changes))]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [0, 1, 2]),
        ({"start": 4}, [4, 5, 6]),
        ({"count": -1}, list(range(10))),
        ({"count": -1, "start": 7}, [7, 8, 9]),
        ({"count": -1, "available": 13}, list(range(13))),
        ({"indices": [5, 2, 9]}, [5, 2, 9]),
        ({"count": 3, "available": None}, [0, 1, 2]),
        ({"indices": [1, 1], "episode_selectors": [{"task_id": "a"}, {"task_id": "b"}]}, [1, 1]),
    ],
)
def test_the_episodes_that_were_asked_for(changes: dict[str, Any], expected: list[int]) -> None:
    assert plan(**changes) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 11}, "episode_count: episode 10 is beyond .* 10 with -n"),
        ({"count": 6, "start": 5}, "episode_count: episode 10 is beyond .* 5 with -n"),
        ({"indices": [3, 40]}, "episode_indices: episode 40 is beyond .* with --episodes"),
        ({"count": -1, "available": None}, "does not say how many"),
        ({"indices": []}, "at least one"),
        ({"count": -1, "start": 10}, "start_episode_index: episode 10 is beyond .* with --start"),
        ({"count": 1, "available": 0}, "episode 0 is beyond the environment's 0 "),
        ({"episode_selectors": [{}]}, "has 1 for a list of 3"),
        ({"indices": [2, 2]}, "twice"),
    ],
)
def test_what_cannot_be_planned_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(**changes)


@given(st.integers(1, 200), st.integers(1, 20), st.one_of(st.none(), st.integers(1, 30)))
def test_chunks_cover_every_position_once_and_begin_at_recycling_points(
    n: int, workers: int, recycle_after: int | None
) -> None:
    chunks = cut_chunks(n, workers, recycle_after)
    assert len(chunks) == workers
    assert [p for chunk in chunks for p in chunk] == list(range(n))
    assert all(chunk.start % (recycle_after or 1) == 0 for chunk in chunks if chunk)


@given(st.integers(1, 200), st.integers(1, 20), st.one_of(st.none(), st.integers(1, 30)))
def test_dealt_groups_cover_every_position_once_and_begin_at_recycling_points(
    n: int, workers: int, recycle_after: int | None
) -> None:
    size = recycle_after or 1
    shares = deal_groups(n, workers, recycle_after)
    assert len(shares) == workers
    assert sorted(p for share in shares for p in share) == list(range(n))
    assert all(share == sorted(share) for share in shares)
    for share in shares:
        begins = [p for before, p in itertools.pairwise([-2, *share]) if p != before + 1]
        assert all(p % size == 0 for p in begins)


def test_groups_are_dealt_in_turn() -> None:
    assert deal_groups(7, 3, None) == [[0, 3, 6], [1, 4], [2, 5]]
    assert deal_groups(7, 2, 2) == [[0, 1, 4, 5], [2, 3, 6]]


@given(st.integers(1, 200), st.integers(1, 10**9), st.one_of(st.none(), st.integers(1, 30)))
def test_no_worker_is_idle_from_the_start(n: int, asked: int, recycle_after: int | None) -> None:
    workers = useful_workers(n, asked, recycle_after)
    assert workers == min(asked, -(-n // (recycle_after or 1)))
    assert all(cut_chunks(n, workers, recycle_after))


@given(st.integers(1, 100), st.integers(1, 9))
def test_chunks_are_even(n: int, workers: int) -> None:
    sizes = [len(c) for c in cut_chunks(n, workers, None)]
    assert max(sizes) - min(sizes) <= 1


def test_repeats_of_an_episode_follow_one_another() -> None:
    assert plan(count=2, repeats=3) == [0, 0, 0, 1, 1, 1]


def test_seeds_belong_to_the_index_and_differ() -> None:
    def seeds(**changes: Any) -> list[int]:
        base = {
            "count": 50, "start": 0, "indices": None, "selectors": {}, "episode_selectors": None,
            "run_seed": 7, "available": None,
        }  # fmt: skip
        return [e.seed for e in plan_episodes(**(base | changes))]

    assert len(set(seeds())) == 50
    assert seeds(indices=[12])[0] == seeds()[12]
    assert seeds(run_seed=8)[0] != seeds()[0]
    assert all(0 <= s < 2**31 for s in seeds())


@given(st.integers(0, 200), st.integers(1, 5), st.integers(1, 8), st.one_of(st.none(), st.integers(1, 30)))
def test_shards_cut_again_for_their_workers_begin_at_recycling_points(
    n: int, shards: int, asked: int, recycle_after: int | None
) -> None:
    played: list[int] = []
    for part in cut_chunks(n, shards, recycle_after):
        for chunk in cut_chunks(len(part), useful_workers(len(part), asked, recycle_after), recycle_after):
            assert chunk
            assert part[chunk.start] % (recycle_after or 1) == 0
            played += [part[place] for place in chunk]
    assert played == list(range(n))
