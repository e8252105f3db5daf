"""The verbs for a root whose control is opened when it is first needed: reading needs none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.control.protocol import Control
from engine.control.reader import Reader
from engine.control.reports import ControlError


class LateControl(Reader):
    """:class:`engine.control.protocol.Control`; every verb that more than reads files waits until ``opener``
    has opened the control that knows it, and raises its ControlError where it could not."""

    def __init__(self, root: Path, opener: Callable[[], Control]) -> None:
        super().__init__(root)
        self._opener = opener
        self._opening = threading.Lock()
        self._opened: Control | ControlError | None = None

    def __getattr__(self, verb: str) -> Any:
        with self._opening:
            if self._opened is None:
                try:
                    self._opened = self._opener()
                except ControlError as error:
                    self._opened = error
        if isinstance(self._opened, ControlError):
            raise self._opened
        return getattr(self._opened, verb)
