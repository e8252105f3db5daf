"""Ways out: leaving, which lets everything go on, and ending the backend, which does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.widgets.confirm import Confirm

if TYPE_CHECKING:
    from tui.app import ControlCentre

TWICE_SEC = 2.0


async def leave(centre: ControlCentre) -> None:
    centre.leave(0)


async def interrupt(centre: ControlCentre) -> None:
    """``ctrl+c``, twice within TWICE_SEC."""
    now = centre.clock.monotonic()
    if now - centre.interrupted_at <= TWICE_SEC:
        centre.leave(0)
    else:
        centre.interrupted_at = now
        centre.tell("ctrl+c again leaves; runs and queue go on")


async def shut_down(centre: ControlCentre) -> None:
    """End the backend, after a typed yes."""
    queue = centre.snapshot.queue
    lines = [
        "This ends the backend: the queue starts nothing more until `evaltower` is started again.",
        f"{len(queue.running)} running: they go on for the orphans' grace, and end if no backend comes.",
        *(f"  {run.run_id} {run.label or run.graph_name}" for run in queue.running),
        f"{len(queue.queued)} waiting: they stay in the queue.",
    ]
    if await centre.ask(Confirm("end the backend", lines, "End it?", typed="shutdown")):
        await centre.verb(lambda control: control.stop_backend(), "end the backend")
        centre.leave(0)
