"""Random traces: never out of memory once calibrated, nobody starves, and the cards are used."""

from __future__ import annotations

import pytest

from tests.scheduling.traces import Oracle, Outcome, make_trace, run_ours, run_rule

PACKED_SHARE = 0.85


def check(seed: int) -> tuple[float, float]:
    """Run one trace, hold what must hold of each, and tell how full ours and the oracle's cards were."""
    trace = make_trace(seed)
    ours = run_ours(trace)
    assert ours.out_of_memory == set(), f"trace {seed}"
    assert_all_ended(ours, {arrival.job.run_id for arrival in trace.arrivals})
    best = run_rule(trace, Oracle())
    return ours.packed(best.busy_sec), best.packed(best.busy_sec)


def assert_all_ended(outcome: Outcome, run_ids: set[str]) -> None:
    ended = {run_id: how for run_id, how in outcome.ended.items() if run_id in run_ids}
    assert ended.keys() == run_ids
    failed = {run_id for run_id, how in ended.items() if how != "completed"}
    assert failed <= outcome.by_strangers


def assert_packed(pairs: list[tuple[float, float]]) -> None:
    ours, best = (sum(column) for column in zip(*pairs, strict=True))
    assert ours >= PACKED_SHARE * best


@pytest.mark.slow
def test_some_traces() -> None:
    assert_packed([check(seed) for seed in range(6)])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_200_traces(first: int) -> None:
    """In parts, each of which holds by itself, so that every core has its share."""
    assert_packed([check(seed) for seed in range(first, first + 50)])
