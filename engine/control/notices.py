"""What the operator of a backend has to know, beside what was asked for."""

from __future__ import annotations

import logging
from collections import deque

from engine.store.records import now_iso

log = logging.getLogger(__name__)

KEPT = 50


class Notices:
    """The last ``KEPT`` of them, with their times."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque(maxlen=KEPT)

    def add(self, text: str) -> None:
        """Tell it, in the log as well."""
        log.warning("%s", text)
        self._texts.append(f"{now_iso()} {text}")

    @property
    def texts(self) -> list[str]:
        """The newest last."""
        return list(self._texts)
