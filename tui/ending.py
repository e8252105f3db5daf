"""What ends runs, takes them up again, or removes them: each shows exactly what it is about, and asks."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from engine.control.protocol import Control
from engine.control.reports import ControlError, RunReport
from engine.figures import count
from tui.losses import Left, cancel_lines, delete_lines, left_of, title_of
from tui.widgets.confirm import Confirm
from tui.widgets.menu import Item, Menu

if TYPE_CHECKING:
    from tui.app import ControlCentre


async def cancel(centre: ControlCentre) -> None:
    """``x``: asks first; what runs has the configured grace to end by itself."""
    await _end(centre, "cancel", grace_sec=None)


async def kill(centre: ControlCentre) -> None:
    """``X``: at once, after the id was typed; of several, how many."""
    await _end(centre, "kill", grace_sec=0.0)


async def _end(centre: ControlCentre, what: str, grace_sec: float | None) -> None:
    targets = centre.targets
    alive = [run for run in targets if not run.is_over]
    if not alive:
        centre.tell(f"{what}: the run is over")
        return
    name = alive[0].run_id if len(alive) == 1 else count(len(alive), "run")
    typed = "" if grace_sec is None else name
    how = "" if grace_sec is None else " at once, without time to clean up"
    dialog = Confirm(f"{what} {name}", cancel_lines(targets, centre.snapshot), f"{what}{how}?", typed=typed)
    if await centre.ask(dialog):
        for run in alive:
            centre.verb(partial(_cancel, run.run_id, grace_sec), f"{what} {run.run_id}")


async def resume(centre: ControlCentre) -> None:
    """``R``: what has no finished row or was still being scored, or what the box failed, too."""
    targets = centre.targets
    over = [run for run in targets if run.is_over]
    if not over:
        centre.tell("resume: the run is not over")
        return
    try:
        left = [await asyncio.to_thread(_left, centre.control, run) for run in over]
    except ControlError as error:
        centre.tell(f"resume: {error}", severity="error")
        return
    items = _choices(over, left)
    chosen = await centre.ask(Menu("resume, in the same run", lambda typed: items))
    if chosen is not None and chosen.id:
        errors = chosen.id == "errors"
        for run, rest in zip(over, left, strict=True):
            if rest.is_any or (errors and rest.infra):
                told = f"resume {run.run_id}{', with what the box failed' if errors else ''}"
                centre.verb(partial(_resume, run.run_id, errors), told)


def _choices(runs: list[RunReport], left: list[Left]) -> list[Item]:
    unplayed, infra = sum(rest.unplayed for rest in left), sum(rest.infra for rest in left)
    unscored = sum(rest.unscored for rest in left)
    parts = [f"the {count(unplayed, 'episode')} without a finished row"] if unplayed or not unscored else []
    parts += [f"the scoring of {count(unscored, 'episode')}"] if unscored else []
    return [
        Item("", ", ".join(map(title_of, runs))),
        Item(
            "rest",
            ", and ".join(parts),
            key="r",
            shown="r",
            why_not="" if unplayed or unscored else "every episode has one",
        ),
        Item(
            "errors",
            f"those, and the {infra} that the box failed" if infra else "those, and what the box failed",
            key="e",
            shown="e",
            why_not="" if infra else "the box failed none",
        ),
    ]


async def delete(centre: ControlCentre) -> None:
    """``D``: of one run, its id typed; of several, how many."""
    targets = centre.targets
    over = [run for run in targets if run.is_over]
    if len(over) < len(targets):
        centre.tell("delete: a run that waits or goes on is cancelled first", severity="warning")
        return
    name = over[0].run_id if len(over) == 1 else count(len(over), "run")
    lines = [line for run in over for line in delete_lines(run)]
    if not over:
        return
    if await centre.ask(Confirm(f"delete {name}", lines, "Delete for good?", typed=name)):
        for run in over:
            centre.verb(partial(_delete, run.run_id), f"delete {run.run_id}")


def _left(control: Control, run: RunReport) -> Left:
    return left_of(run, control.episodes(run.run_id))


def _cancel(run_id: str, grace_sec: float | None, control: Control) -> None:
    control.cancel(run_id, grace_sec)


def _resume(run_id: str, errors: bool, control: Control) -> None:
    control.resume(run_id, errors=errors)


def _delete(run_id: str, control: Control) -> None:
    control.delete(run_id)
