"""What is seen of a tenant: peaks, growth, and when it teaches something."""

from __future__ import annotations

import pytest

from engine.scheduling.machine import RAM
from engine.scheduling.watch import FEWEST_SAMPLES, SETTLE_SEC, SHORTEST_SEC, Watch

CARD = "GPU-0"


def watched(seconds: int = 20, mb: float = 1000.0, ram: float | None = 500.0, **more: object) -> Watch:
    watch = Watch(0.0, **more)  # type: ignore[arg-type]
    for second in range(1, seconds + 1):
        watch.see(CARD, mb, second)
        if ram is not None:
            watch.see(RAM, ram, second)
    return watch


def test_a_completed_run_teaches_its_peaks() -> None:
    watch = watched(5)
    watch.see(CARD, 3000, 6)
    watch.see(CARD, 2000, 7)
    peak = watch.peak([CARD], now=20)
    assert peak is not None
    assert (peak.vram_mb, peak.ram_mb, peak.after_sec) == (3000, 500, 6)


def test_the_largest_of_several_cards_counts() -> None:
    watch = watched()
    for second in range(1, 10):
        watch.see("GPU-1", 7000, second)
    peak = watch.peak([CARD, "GPU-1"], now=20)
    assert peak is not None
    assert peak.vram_mb == 7000


@pytest.mark.parametrize(
    ("watch", "now"),
    [
        (watched(), SHORTEST_SEC - 1),
        (watched(FEWEST_SAMPLES - 1), 60),
        (watched(from_start=False), 60),
        (Watch(0.0), 60),
    ],
    ids=["short", "seen too rarely", "not from its start", "never seen"],
)
def test_what_teaches_nothing(watch: Watch, now: float) -> None:
    assert watch.peak([CARD], now) is None


def test_a_true_zero_is_not_never_seen() -> None:
    peak = watched(mb=0).peak([CARD], 60)
    assert peak is not None
    assert peak.vram_mb == 0
    peak = watched().peak([CARD, "GPU-1"], 60)  # of the second card nothing was read
    assert peak is not None
    assert peak.vram_mb is None


def test_a_card_that_hides_its_processes_teaches_no_zero() -> None:
    watch = Watch(0.0)
    for second in range(1, 20):
        watch.see(CARD, 0.0, second, exact=False)
        watch.see(RAM, 500, second)
    peak = watch.peak([CARD], 60)
    assert peak is not None
    assert (peak.vram_mb, peak.ram_mb) == (None, 500)


def test_one_sample_counts_once_however_often_it_is_looked_at() -> None:
    watch = Watch(0.0)
    for _ in range(20):
        watch.see(CARD, 1000, 3.0)
    assert watch.peak([CARD], 60) is None


def test_a_sample_from_before_its_start_is_not_of_it() -> None:
    watch = Watch(100.0)
    watch.see(CARD, 9000, 99.0)
    assert watch.peaks == {}


def test_it_has_settled_when_it_works_and_has_stopped_growing() -> None:
    watch = watched(10)
    assert not watch.is_settled(1000)  # it was never seen to work
    watch.working_since = 5.0
    assert not watch.is_settled(1 + SETTLE_SEC)
    assert watch.is_settled(5 + SETTLE_SEC)
    watch.see(CARD, 1000 * 1.01, 40)
    assert watch.is_settled(41)  # that is no growth
    watch.see(CARD, 1500, 42)
    assert not watch.is_settled(43)
    assert watch.is_settled(42 + SETTLE_SEC)


def test_it_has_not_settled_before_past_ones_had_their_peak() -> None:
    watch = watched(after_sec=300.0)
    watch.working_since = 5.0
    assert not watch.is_settled(299)
    assert watch.is_settled(300)


def test_slow_growth_is_growth() -> None:
    watch = Watch(0.0, working_since=0.0)
    for second in range(1, 200):
        watch.see(CARD, 1000 + 10 * second, second)
    assert not watch.is_settled(200)


def test_so_far() -> None:
    seen = watched(3).so_far([CARD])
    assert (seen.vram_mb, seen.ram_mb) == (1000, 500)
    assert watched(3).so_far([]).vram_mb is None
