"""What the views of an episode beside its log have in common: which one, how it stands, the ones around."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from engine.control.reports import RunReport
from engine.store.records import EpisodeRow
from tui.actions import Action, Fact, Scope
from tui.episode.places import EPISODE, Ending, Place, PlaceError, failed_beside, place_by, read_ending
from tui.episode.session import EVERY_SEC
from tui.panes.runs import run_facts
from tui.screens.base import Copies, View
from tui.screens.log_tools import open_file


class EpisodePart(View):
    """target: as :class:`tui.screens.log.LogScreen` takes it. watched: the files whose change brings
    :meth:`read` about, in a thread, and :meth:`told` after it."""

    watched: ClassVar[tuple[str, ...]] = (EPISODE,)

    def __init__(self, target: str = "", *, every: float = EVERY_SEC) -> None:
        super().__init__(target)
        self.place: Place | None = None
        self.ending = Ending()
        self._every = every
        self._watching: asyncio.Task[None] | None = None

    def read(self, place: Place) -> Ending:
        """In a thread: what there is now. Subclasses read more."""
        return read_ending(place)

    def told(self, *, other: bool) -> None:
        """``ending`` may be another than before. other: it is another episode's."""

    def failed(self, problem: str) -> None:
        """There is no such episode."""

    def copies(self) -> Copies:
        """What ``y`` offers, wherever the keys are."""
        return {}

    @property
    def file(self) -> Path | None:
        """What ``o`` opens."""
        return self.place.folder / self.watched[0] if self.place is not None else None

    @property
    def row(self) -> EpisodeRow | None:
        return self.ending.row

    @property
    def report(self) -> RunReport | None:
        """Of its run, as far as that is listed."""
        run = self.place.run if self.place is not None else None
        return self.centre.snapshot.find(run.run_id) if run is not None else None

    @property
    def targets(self) -> list[RunReport]:
        report = self.report
        return [report] if report is not None else []

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return ("scores",)

    def crumbs(self) -> str:
        if self.place is None:
            return self.target
        name = f"{self.place.run.run_id} {self.place.name}" if self.place.run else self.place.path
        return f"{self.heading}  {name}"

    def facts(self) -> set[Fact]:
        found = super().facts() | run_facts(self.report, self.centre.snapshot)
        if self.place is not None:
            found |= {"episode", "file"}
        if self.row is not None and self.row.scoring != "none":
            found.add("scored")
        return found

    def why_not(self, action: Action) -> str | None:
        return "it is what is shown" if action.id == f"scores.{self.view_name}" else super().why_not(action)

    def on_mount(self) -> None:
        self.centre.spawn(self._open_target())

    def on_unmount(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def do(self, action_id: str) -> bool:
        match action_id:
            case "scores.next_episode" | "scores.previous_episode":
                self.centre.spawn(self._go_beside(forward=action_id == "scores.next_episode"))
            case "scores.editor" if self.file is not None:
                self.centre.spawn(open_file(self.centre, self.file))
            case "global.copy":
                self.centre.offer_copies(self.copies())
            case "global.save":
                self.centre.save_copy(self.copies())
            case "scores.scores" | "scores.trace":
                self._turn_to(action_id.partition(".")[2])
            case _:
                return await super().do(action_id)
        return True

    def _turn_to(self, view: str) -> None:
        """In place of this one, so that the way back stays as short."""
        if view != self.view_name and self.place is not None:
            self.centre.back()
            self.centre.open_view(view, self.place.target)

    async def _open_target(self) -> None:
        try:
            place = await asyncio.to_thread(place_by, self.target, self.centre.control.root)
        except (PlaceError, OSError) as error:
            self.failed(str(error))
            return
        self.open(place)

    def open(self, place: Place) -> None:
        """Show this one from now on."""
        if self._watching is not None:
            self._watching.cancel()
        if self.is_attached:
            self.place, self.target, self.ending = place, place.target, Ending(note="reading…")
            self._watching = self.centre.spawn(self._watch(place))

    async def _watch(self, place: Place) -> None:
        """As its files change: a run may be scored again long after its end."""
        seen: list[int] | None = None
        while True:
            stamps = [_stamp(place.folder / name) for name in self.watched]
            if stamps != seen:
                self.ending = await asyncio.to_thread(self.read, place)
                self.told(other=seen is None)
                self.bars_changed()
                seen = stamps
            await asyncio.sleep(self._every)

    async def _go_beside(self, *, forward: bool) -> None:
        if self.place is None:
            return
        try:
            found = await asyncio.to_thread(failed_beside, self.place, self.ending, forward=forward)
        except (PlaceError, OSError) as error:
            self.centre.tell(str(error), severity="warning")
            return
        if found is None:
            self.centre.tell(f"no episode failed {'after' if forward else 'before'} this one")
        else:
            self.open(found)


def _stamp(path: Path) -> int:
    """0 where there is no such file."""
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0
