"""What was asked of the backend from this screen, and how it ended."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime

KEPT = 500


@dataclass
class Asked:
    """began: wall time. told: in words, as ``cancel 20260518_120000``. outcome: "" while it is under way."""

    began: datetime
    who: str
    told: str
    outcome: str = ""
    failed: bool = False


class ActivityLog:
    """The last KEPT of them, the newest last."""

    def __init__(self) -> None:
        self._entries: deque[Asked] = deque(maxlen=KEPT)

    def add(self, began: datetime, told: str, who: str = "you", outcome: str = "") -> Asked:
        entry = Asked(began, who, told, outcome)
        self._entries.append(entry)
        return entry

    @property
    def entries(self) -> list[Asked]:
        return list(self._entries)
