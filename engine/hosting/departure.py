"""When a batch leaves: a pure rule over who is awaited and what a forward costs. Python 3.8+.

Nothing here reads a clock: every method gets ``now``, in seconds on any monotonic scale.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import Sequence

LONGEST_WAIT = 0.050
LEASE = 60.0
_TICK = 0.001
_GAPS = 16
_FORWARDS = 9


class _Caller:
    """A caller that announced itself. ``since``: when it was last answered, or announced."""

    __slots__ = ("gaps", "live", "since")

    def __init__(self) -> None:
        self.live = False
        self.since = 0.0
        self.gaps: deque[float] = deque(maxlen=_GAPS)

    def expected(self, now: float) -> float:
        """Seconds until its next request: the median of its own past gaps that are longer than this one.

        One that is later than it ever was is expected to be late as long again.
        """
        elapsed = now - self.since
        longer = sorted(gap for gap in self.gaps if gap > elapsed)
        if longer:
            return longer[len(longer) // 2] - elapsed
        return elapsed - max(self.gaps, default=0.0)


class Departure:
    """Decides when the waiting rows leave. Asked only while no forward runs.

    They leave at once when they are ``full`` in number, when no live caller is missing, and
    ``LONGEST_WAIT`` after the oldest of them could have left. Otherwise they stay only while staying pays.
    To wait ``d`` seconds for the ``k`` rows expected next delays by ``d`` every caller that the server
    holds up meanwhile; it spares each of the ``k`` the fixed part of a forward, since those rows would come
    too late for this one. A model quicker than the gaps between its callers therefore runs whenever it is
    idle, and a slow one waits for them, without a setting.
    """

    def __init__(self) -> None:
        self._full = 1
        self._per_row = 0.0
        self._fixed: deque[float] = deque(maxlen=_FORWARDS)
        self._callers: dict[str, _Caller] = {}

    def calibrate(self, full: int, per_row: float, fixed: float | None) -> None:
        """What is known of the model once it is loaded.

        full: rows that make a batch complete. per_row: seconds that a forward takes longer for each row.
        fixed: seconds that it takes beside that; None: unknown, so that batches leave at once until one was
        measured.
        """
        self._full, self._per_row = full, per_row
        self._fixed.extend([] if fixed is None else [fixed])

    def announce(self, caller: str, live: bool, now: float) -> None:
        """``caller`` starts stepping, or stops (it resets, scores or ends)."""
        entry = self._callers.setdefault(caller, _Caller())
        entry.live, entry.since = live, now

    def sent(self, caller: str | None, now: float) -> None:
        """A row of ``caller`` arrived."""
        entry = self._entry(caller)
        if entry is not None and entry.live:
            entry.gaps.append(now - entry.since)

    def answered(self, caller: str | None, now: float) -> None:
        """A row of ``caller`` was answered or withdrawn: from now on it is awaited again."""
        entry = self._entry(caller)
        if entry is not None:
            entry.since = now

    def measured(self, rows: int, seconds: float) -> None:
        """A forward of ``rows`` rows kept the server busy for ``seconds``."""
        self._fixed.append(max(0.0, seconds - self._per_row * rows))

    def hold(self, waiting: Sequence[str | None], oldest: float, now: float) -> float:
        """How long the waiting rows should stay, in seconds; 0: they leave now.

        waiting: the caller of each row. oldest: when the first of them could have left, i.e. its arrival or
        the end of the last forward, whichever came later. Ask again when anything changed, and at the latest
        when that time is over.
        """
        rows = len(waiting)
        left = oldest + LONGEST_WAIT - now
        awaited = self._awaited(waiting, now)
        if not awaited or rows >= self._full or left <= 0.0:
            return 0.0
        fixed = sorted(self._fixed)[len(self._fixed) // 2] if self._fixed else 0.0
        forward = fixed + self._per_row * rows
        for joining, delay in enumerate(awaited[: self._full - rows], 1):
            held_up = rows + bisect_right(awaited, delay + forward)
            if delay * held_up < joining * fixed:
                return min(max(delay, _TICK), left)
        return 0.0

    def _awaited(self, waiting: Sequence[str | None], now: float) -> list[float]:
        """When each live caller that has no row here is expected, in seconds from now, soonest first.

        Whoever was not heard of for ``LEASE`` is forgotten: its run is dead.
        """
        missing = {name: entry for name, entry in self._callers.items() if name not in waiting}
        for name in [name for name, entry in missing.items() if now - entry.since > LEASE]:
            del self._callers[name], missing[name]
        return sorted(entry.expected(now) for entry in missing.values() if entry.live)

    def _entry(self, caller: str | None) -> _Caller | None:
        return None if caller is None else self._callers.get(caller)
