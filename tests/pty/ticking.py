"""``evaltower``, which writes down when its backend ticks: the file is named by the variable ``TICKS``."""

from __future__ import annotations

import os
import time

from engine.control.backend import Backend
from engine.main import main


class TickingBackend(Backend):
    def tick(self) -> None:
        with open(os.environ["TICKS"], "a") as file:
            file.write(f"{time.monotonic()}\n")
        super().tick()


if __name__ == "__main__":
    import engine.control.backend

    engine.control.backend.Backend = TickingBackend  # type: ignore[misc]
    main()
