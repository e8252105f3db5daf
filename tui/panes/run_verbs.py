"""What the scope ``runs`` does without asking back: pause, hold, move in the queue, choose for comparison."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.control.protocol import Control

if TYPE_CHECKING:
    from tui.app import ControlCentre

MOST_COMPARED = 4


async def toggle_pause(centre: ControlCentre) -> None:
    """Of the whole queue."""
    if centre.snapshot.queue.paused:
        centre.verb(lambda control: control.unpause(), "end the queue's pause")
    else:
        centre.verb(lambda control: control.pause(), "pause the queue")


async def toggle_hold(centre: ControlCentre) -> None:
    """Of every target that waits."""
    for run in centre.targets:
        waiting = centre.snapshot.queued(run.run_id)
        if waiting is not None:
            verb = _release if waiting.held else _hold
            centre.verb(partial(verb, run.run_id), f"{'release' if waiting.held else 'hold'} {run.run_id}")


async def queue_down(centre: ControlCentre) -> None:
    _move(centre, 1)


async def queue_up(centre: ControlCentre) -> None:
    _move(centre, -1)


async def compare_add(centre: ControlCentre) -> None:
    """Put the targets into the comparison, or take them out; at most four at once."""
    for run in centre.targets:
        if run.run_id in centre.compared:
            centre.compared.remove(run.run_id)
        elif len(centre.compared) >= MOST_COMPARED:
            centre.tell(f"at most {MOST_COMPARED} runs are compared at once: c takes one out")
            break
        else:
            centre.compared.append(run.run_id)
    if centre.view is not None:
        centre.view.show(centre.snapshot)


def _move(centre: ControlCentre, by: int) -> None:
    for run in centre.targets[:1]:
        waiting = centre.snapshot.queued(run.run_id)
        if waiting is not None and waiting.position + by >= 1:
            position = waiting.position + by
            centre.verb(partial(_place, run.run_id, position), f"move {run.run_id} to {position}")


def _hold(run_id: str, control: Control) -> None:
    control.hold(run_id)


def _release(run_id: str, control: Control) -> None:
    control.release(run_id)


def _place(run_id: str, position: int, control: Control) -> int:
    return control.move(run_id, position)
