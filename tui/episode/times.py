"""Where a firing's time went: waiting for a batch or a lock, computing, being carried, and the rest."""

from __future__ import annotations

from dataclasses import dataclass

from tui.episode.values import bytes_text
from tui.logfile.heads import Head

NOTICEABLE_MS = 0.05
"""What took less has no bar."""


@dataclass(frozen=True)
class Shares:
    """Milliseconds; other: what the firing took and none of the three accounts for."""

    queue: float
    compute: float
    transport: float
    other: float

    @property
    def total(self) -> float:
        return self.queue + self.compute + self.transport + self.other


def shares_of(head: Head) -> Shares:
    """None of them below 0, whatever the log says."""
    queue, compute, transport = (
        value if 0.0 < value < float("inf") else 0.0
        for value in (head.queue_wait_ms, head.compute_ms, head.transport_ms)
    )
    duration = head.duration_ms if 0.0 < head.duration_ms < float("inf") else 0.0
    return Shares(queue, compute, transport, max(0.0, duration - queue - compute - transport))


def cells_of(shares: Shares, width: int) -> tuple[int, int, int, int]:
    """Cells of a bar for queue, compute, transport and the rest: together ``width``, or none at all.

    By the largest remainders, so that they add up; what is noticeable has at least one cell.
    """
    parts = (shares.queue, shares.compute, shares.transport, shares.other)
    total = shares.total
    if total < NOTICEABLE_MS or width < len(parts):
        return (0, 0, 0, 0)
    exact = [part / total * width for part in parts]
    cells = [max(int(share), int(share >= 0.25)) for share in exact]
    while sum(cells) < width:
        at = max(range(4), key=lambda place: exact[place] - cells[place])
        cells[at] += 1
    while sum(cells) > width:
        at = max(range(4), key=lambda place: cells[place] - exact[place] if cells[place] > 1 else -1.0)
        cells[at] -= 1
    return (cells[0], cells[1], cells[2], cells[3])


def duration_text(milliseconds: float) -> str:
    """``0.3``, ``12.9``, ``1,204``, in milliseconds; ``95.2s`` from 100 seconds on."""
    if not milliseconds >= 0:
        return "?"
    if milliseconds >= 100_000:
        return f"{milliseconds / 1000:.0f}s"
    return f"{milliseconds:.1f}" if milliseconds < 1000 else f"{milliseconds:,.0f}"


def share_text(head: Head) -> str:
    """``12.9 ms: queue 3.0, compute 1.4, transport 8.5 (32 kB)``."""
    shares = shares_of(head)
    named = (("queue", shares.queue), ("compute", shares.compute), ("transport", shares.transport))
    parts = [f"{name} {value:.1f}" for name, value in named if value >= NOTICEABLE_MS]
    if parts and shares.other >= NOTICEABLE_MS:
        parts.append(f"other {shares.other:.1f}")
    moved = f" ({bytes_text(head.transfer_bytes)} moved)" if head.transfer_bytes > 0 else ""
    told = duration_text(head.duration_ms)
    text = told if told.endswith("s") else f"{told} ms"
    return text + (f": {', '.join(parts)}" if parts else "") + moved
