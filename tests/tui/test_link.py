from __future__ import annotations

from tui.link import SAMPLE_SEC, LinkMeter


def test_the_rate_is_that_of_the_last_seconds() -> None:
    meter = LinkMeter()
    meter.look(10.0, 50_000, 0)
    meter.look(10.0 + SAMPLE_SEC / 2, 60_000, 0)
    assert str(meter) == "0.0kB/s"
    meter.look(10.0 + SAMPLE_SEC, 65_500, 0)
    assert str(meter) == "3.1kB/s"


def test_a_writer_that_began_anew_counts_from_there() -> None:
    meter = LinkMeter()
    meter.look(10.0, 50_000, 0)
    meter.look(20.0, 100, 0)
    meter.look(30.0, 10_100, 0)
    assert str(meter) == "1.0kB/s"


def test_frames_that_were_dropped_are_told_once() -> None:
    meter = LinkMeter()
    meter.look(10.0, 0, 3)
    assert meter.lags
    meter.look(11.0, 0, 3)
    assert not meter.lags
