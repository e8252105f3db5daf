"""The one episode of this process: the panel sets it up, the tools play it."""

from __future__ import annotations

from .episodes import make_episode
from .simulator import Simulator


class Stage:
    """Holds the simulator; before any was set up, the first episode of val_unseen."""

    def __init__(self) -> None:
        self._simulator: Simulator | None = None

    @property
    def simulator(self) -> Simulator:
        if self._simulator is None:
            self._simulator = Simulator(make_episode("val_unseen", 0))
        return self._simulator

    @simulator.setter
    def simulator(self, simulator: Simulator) -> None:
        self._simulator = simulator
