"""``A``: a run that has ended is scored again, as it was or as a file says."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.control.protocol import Control
from engine.control.reports import ControlError, RunReport
from engine.control.scoring import checked_file
from tui.losses import title_of
from tui.widgets.menu import Item, Menu

if TYPE_CHECKING:
    from tui.app import ControlCentre

AS_IT_WAS = "as it was"
WHAT_IT_DOES = (
    "fetches missing traces, asks the judges and the graders that do",
    "without the environment again, and sends missing exports",
)


async def rescore(centre: ControlCentre) -> None:
    """What was graded in the environment stands; everything else is done again, or is made up for."""
    over = [run for run in centre.targets if run.is_over]
    if not over:
        centre.tell("score again: the run is not over")
        return
    chosen = await centre.ask(Menu("score again, without playing anything", partial(_items, over), typed=""))
    if chosen is None or not (chosen.id or chosen.typed.strip()):
        return
    scoring = None
    if chosen.id != AS_IT_WAS:
        try:
            scoring = await asyncio.to_thread(_read, centre.control.root, chosen.typed.strip())
        except ControlError as error:
            centre.tell(f"score again: {error}", severity="error")
            return
    for run in over:
        centre.verb(partial(_rescore, run.run_id, scoring), f"score {run.run_id} again")


def _items(runs: list[RunReport], typed: str) -> list[Item]:
    titles = [Item("", ", ".join(map(title_of, runs))), *(Item("", line) for line in WHAT_IT_DOES)]
    if typed.strip():
        return [*titles, Item("file", f"as {typed.strip()} says")]
    return [*titles, Item(AS_IT_WAS, "as it was scored, or type a file's path")]


def _read(root: Path, typed: str) -> dict[str, Any]:
    return checked_file(root, Path(typed).expanduser())


def _rescore(run_id: str, scoring: dict[str, Any] | None, control: Control) -> None:
    control.rescore(run_id, scoring)
