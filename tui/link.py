"""How much goes to the terminal, and whether it keeps up."""

from __future__ import annotations

SAMPLE_SEC = 5.0


class LinkMeter:
    """Fed with what the terminal's writer counts, at monotonic times. rate: bytes a second, over the last
    SAMPLE_SEC or more. lags: frames were dropped since the last look, because the terminal did not take them.
    """

    def __init__(self) -> None:
        self._at: float | None = None
        self._bytes = 0
        self._dropped = 0
        self.rate = 0.0
        self.lags = False

    def look(self, at: float, bytes_written: int, frames_dropped: int) -> None:
        self.lags = frames_dropped > self._dropped
        self._dropped = frames_dropped
        if self._at is None or bytes_written < self._bytes:  # the first look, or a writer anew
            self._at, self._bytes = at, bytes_written
        elif at - self._at >= SAMPLE_SEC:
            self.rate = (bytes_written - self._bytes) / (at - self._at)
            self._at, self._bytes = at, bytes_written

    def __str__(self) -> str:
        return f"{self.rate / 1000:.1f}kB/s"
