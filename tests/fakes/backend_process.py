"""A backend in a process of its own, told by lines on stdin, that can be killed.

``start BEHAVIOUR``, or ``away BEHAVIOUR`` for a cluster, → ``accepted RUN``; ``cancel RUN`` → ``cancelled
RUN``, ``cancelling RUN`` or ``over RUN``; ``end`` ends it when nothing is left to do. Three of its runs fit
the machine at once.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from engine.control.backend import Backend
from engine.control.local import LocalControl
from engine.control.reports import AlreadyOverError, StartRequest
from engine.scheduling.launchers import closing
from engine.scheduling.simulated import SimulatedMachine
from engine.scheduling.simulation_file import Simulation
from engine.store.backend_lock import BackendLock
from engine.store.settings import Admission, Settings
from engine.store.slurm_settings import SlurmSettings

THREE_RUNS = Simulation(ram_mb=7500)


def main() -> None:
    root, orphan_grace = Path(sys.argv[1]), float(sys.argv[2])
    closing.RUN_PROCESS = "tests.fakes.run_process"
    lock = BackendLock.acquire(root)
    admission = Admission(grace=2.0, orphan_grace=orphan_grace, disk_low=0.0)
    settings = Settings(admission=admission, slurm=SlurmSettings(poll_sec=0.5))
    backend = Backend(root, lock, settings, SimulatedMachine(THREE_RUNS))
    control = LocalControl(root, backend)
    ending = threading.Event()
    ticks = threading.Thread(target=backend.run_ticks, args=(ending, 0.05), daemon=True)
    ticks.start()
    say("ready", *(notice.split(" ", 1)[1] for notice in backend.notices.texts))
    for line in sys.stdin:
        match line.split():
            case ["start" | "away" as where, behaviour]:
                request = StartRequest(
                    graph_name="toy",
                    episode_count=2,
                    selectors={"fake": behaviour},
                    marginal_vram_mb=0,
                    on="slurm" if where == "away" else "",
                )
                say("accepted", control.start(request))
            case ["cancel", run]:
                try:
                    say(control.cancel(run).status, run)
                except AlreadyOverError:
                    say("over", run)
            case ["end"]:
                while not backend.is_idle:
                    ending.wait(0.05)
                break
    ending.set()
    ticks.join()
    backend.close(ended=True)


def say(*words: str) -> None:
    print(*words, flush=True)


if __name__ == "__main__":
    main()
