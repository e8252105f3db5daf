"""What ``y`` copies of an episode."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from engine.control.reports import RunReport
from engine.store.strict_json import encode_indented
from tui.episode.scores import errors_of, links_of
from tui.panes.episode_columns import Going, Line
from tui.panes.run_copies import REST, calls
from tui.screens.base import Copies
from tui.table_model import TableModel

if TYPE_CHECKING:
    from collections.abc import Callable


def episode_copies(run: RunReport, line: Line, model: TableModel[Line]) -> Copies:
    """Of the marked episodes, the rows and the JSON of all; the rest of the one under the cursor."""
    lines = model.targets
    copies: dict[str, Callable[[], str]] = {
        "copy.id": lambda: f"{run.run_id}/{line.episode_index}",
        "copy.path": lambda: f"{run.path}/episodes",
        "copy.row": lambda: "\n".join(_row(model, each) for each in lines),
        "copy.command": lambda: episode_calls(run.run_id, str(line.episode_index)),
    }
    if not isinstance(line, Going):
        copies["copy.json"] = lambda: "\n".join(
            encode_indented(each).decode() for each in lines if not isinstance(each, Going)
        )
        if links := links_of(line):
            copies["copy.link"] = lambda: "\n".join(links)
        if errors := [*([line.error] if line.error else []), *errors_of(line)]:
            copies["copy.error"] = lambda: "\n".join(errors)
    return copies


def episode_calls(run_id: str, episode: str) -> str:
    """The command line and the REST call that tell of an episode; ``episode``: its index, or its folder."""
    path = f"{REST}/runs/{run_id}/episodes/{episode}/log"
    return calls(f"log {shlex.quote(run_id)} {shlex.quote(episode)}", "GET", path)


def _row(model: TableModel[Line], line: Line) -> str:
    return "\t".join(column.cell(line) for column in model.columns if column.key != "outcome")
