"""What ``y`` copies of an episode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.control.reports import RunReport
from engine.store.outcomes import is_fault
from engine.store.records import EpisodeRow
from engine.store.rundir import RunDir
from engine.store.strict_json import encode_indented
from engine.store.verdict import verdict_of
from tui.episode.places import LOG, PlaceError
from tui.episode.scores import errors_of, links_of
from tui.linking import place_of_line
from tui.panes.episode_columns import Going, Line
from tui.rest_calls import Rest
from tui.screens.base import Copies
from tui.table_model import TableModel

if TYPE_CHECKING:
    from collections.abc import Callable


def episode_copies(run: RunReport, line: Line, model: TableModel[Line], rest: Rest) -> Copies:
    """Of the marked episodes, the rows and the JSON of all; the rest of the one under the cursor."""
    lines = model.targets
    copies: dict[str, Callable[[], str]] = {
        "copy.id": lambda: f"{run.run_id}/{_folder(run, line).name}",
        "copy.path": lambda: str(_folder(run, line)),
        "copy.row": lambda: "\n".join(_row(model, each) for each in lines),
        "copy.command": lambda: rest.log(run.run_id, _folder(run, line).name),
    }
    if not isinstance(line, Going):
        copies["copy.json"] = lambda: "\n".join(
            encode_indented(each).decode() for each in lines if not isinstance(each, Going)
        )
        if links := links_of(line):
            copies["copy.link"] = lambda: "\n".join(links)
        if errors := [*([line.error] if line.error else []), *errors_of(line)]:
            copies["copy.error"] = lambda: "\n".join(errors)
        elif is_fault(line):
            copies["copy.error"] = lambda: _verdict(run, line)
    return copies


def _folder(run: RunReport, line: Line) -> Path:
    """Of the episode; by its index alone where it has none any more, or not yet."""
    try:
        return place_of_line(RunDir(Path(run.path)), line).folder
    except PlaceError:
        return Path(run.path) / "episodes" / f"ep{line.episode_index:04d}"


def _verdict(run: RunReport, row: EpisodeRow) -> str:
    """Why it failed without an error: what the firing said that measured it, else that there is none."""
    try:
        found = verdict_of(_folder(run, row) / LOG, row)
    except OSError:
        found = None
    return found.text if found is not None else f"{row.termination}, no error"


def _row(model: TableModel[Line], line: Line) -> str:
    return "\t".join(column.cell(line) for column in model.columns if column.key != "outcome")
