"""A live backend in the test's own process: it ticks in a thread, and its runs are real processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.control.backend import Backend
from engine.control.local import LocalControl
from engine.scheduling.machine import Machine
from engine.scheduling.simulated import SimulatedMachine
from engine.scheduling.simulation_file import Simulation
from engine.store.backend_lock import BackendLock
from engine.store.settings import Admission, Settings
from engine.store.slurm_settings import SlurmSettings

ROOMY = Simulation(ram_mb=1 << 20)
"""No card, and more memory than any test asks for."""


class LiveControl(LocalControl):
    """With its backend in the open."""

    def __init__(self, root: Path, backend: Backend) -> None:
        super().__init__(root, backend)
        self.live = backend
        self._ending = threading.Event()
        self._ticks = threading.Thread(target=backend.run_ticks, args=(self._ending, 0.1), daemon=True)
        self._ticks.start()

    def stop_ticking(self) -> None:
        self._ending.set()
        self.live.wanted.set()
        self._ticks.join()

    def close(self) -> None:
        self.stop_ticking()
        self.live.close()
        self.live.lock.close()


@contextmanager
def live(root: Path, machine: Machine | None = None, **options: Any) -> Iterator[LiveControl]:
    """``machine``: a roomy one where none is given. What is left at the end is cancelled, unless ``leave``.

    ``options``: of Backend; ``admission`` and ``slurm``: of the settings.
    """
    leave = options.pop("leave", False)
    admission = options.pop("admission", Admission(grace=5.0))
    settings = Settings(admission=admission, slurm=options.pop("slurm", SlurmSettings()))
    backend = Backend(
        root, BackendLock.acquire(root), settings, machine or SimulatedMachine(ROOMY), **options
    )
    control = LiveControl(root, backend)
    try:
        yield control
    finally:
        if not leave:
            end_all(control)
        control.close()


def end_all(control: LiveControl) -> None:
    """Let nothing of it run on."""
    control.live.end(cancel=True)
    with control.live.reading() as scheduler:
        for run_id in list(scheduler.tenants.runs):
            control.live.cancel(run_id, 0.0)
    done = threading.Event()
    for _ in range(600):
        if control.live.may_end:
            return
        done.wait(0.05)
    raise AssertionError("runs did not end")
