"""One cursor for lanes and episodes: where one pane goes, the other goes too; and from both into the log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, cast

from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from tui.episode.places import Place, PlaceError, place_of, place_of_unfinished
from tui.panes.episode_columns import Going, Line, line_id

if TYPE_CHECKING:
    from tui.app import ControlCentre
    from tui.models_lanes import Block
    from tui.panes.episodes import EpisodesPane
    from tui.panes.lanes import LanesPane


async def toggle(centre: ControlCentre) -> None:
    """Let each follow the other, or stop."""
    lanes = _lanes(centre)
    lanes.linked = not lanes.linked
    centre.tell("lanes and episodes " + ("follow each other" if lanes.linked else "go by themselves"))


def lanes_moved(centre: ControlCentre, block: Block | None) -> None:
    """The cursor of the lanes stands on another episode."""
    if block is not None and _lanes(centre).linked:
        episodes = cast("EpisodesPane", centre.home.panes["episodes"])
        episodes.go_to_id(line_id(line_of(block)))


def episodes_moved(centre: ControlCentre, line: Line | None) -> None:
    """The cursor of the episodes, or the log, stands on another."""
    if line is not None and _lanes(centre).linked:
        _lanes(centre).go_to(line)


def log_opened(centre: ControlCentre, run_id: str, row: EpisodeRow | None) -> None:
    """The log shows this episode of this run: whoever goes back finds the cursors on it."""
    detail = centre.snapshot.run
    if row is not None and detail is not None and detail.run_id == run_id:
        cast("EpisodesPane", centre.home.panes["episodes"]).go_to_id(line_id(row))
        episodes_moved(centre, row)


def line_of(block: Block) -> Line:
    """A block as the table of episodes has it."""
    return block.row if block.row is not None else Going(block.episode_index, "", block.worker_id)


async def open_log(centre: ControlCentre, run: RunDir, line: Line) -> None:
    """The log of an episode, at its first error; where it has none, that is told."""
    try:
        place = await asyncio.to_thread(place_of_line, run, line)
    except PlaceError as error:
        centre.tell(str(error), severity="warning")
    else:
        centre.open_log(run.run_id, place.folder.name)


def run_at(path: str) -> RunDir:
    """The run's folder, by the path that a report names."""
    return RunDir(Path(path))


def place_of_line(run: RunDir, line: Line) -> Place:
    """Raises PlaceError where it has no folder."""
    return (
        place_of(run, line) if isinstance(line, EpisodeRow) else place_of_unfinished(run, line.episode_index)
    )


def _lanes(centre: ControlCentre) -> LanesPane:
    return cast("LanesPane", centre.home.panes["workers"])
