"""Samples in a thread of their own: a driver that hangs makes the last sample old, and holds up nobody."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from engine.scheduling.machine import Machine, Root, Sample

log = logging.getLogger(__name__)


class BackgroundSampler:
    """Reads ``machine`` every ``interval_sec``. :meth:`observe` gives the last sample, however old."""

    def __init__(self, machine: Machine, interval_sec: float = 1.0) -> None:
        self._machine = machine
        self._interval = interval_sec
        self._roots: Sequence[Root] = ()
        self._latest: Sample | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="machine sampler", daemon=True)
        self._thread.start()

    def observe(self, roots: Sequence[Root]) -> Sample | None:
        """The last sample, or None before the first. ``roots`` are looked at from the next one on."""
        self._roots = roots
        return self._latest

    def close(self, wait_sec: float = 1.0) -> None:
        """End it. A reading that hangs is left to itself after ``wait_sec``."""
        self._ending.set()
        self._thread.join(wait_sec)

    def _run(self) -> None:
        while not self._ending.is_set():
            try:
                self._latest = self._machine.sample(self._roots)
            except Exception:
                log.exception("the machine could not be sampled; admission waits for the next sample")
            self._ending.wait(self._interval)
