"""What leaves the log browser: copies, and files for an editor or a pager."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.episode.details import Detail
from tui.episode.headings import error_text
from tui.episode.inks import text_of
from tui.episode.places import Place
from tui.episode.scores import links_of
from tui.episode.session import LogSession
from tui.logfile.rows import MAX_RECORD_BYTES
from tui.rest_calls import Rest
from tui.screens.base import Copies
from tui.state_file import LogPosition

if TYPE_CHECKING:
    from tui.app import ControlCentre

_TAKE_A_LINE = (
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "emacsclient",
    "kak",
    "ne",
    "joe",
    "mg",
    "micro",
    "less",
    "more",
)
KEPT_POSITIONS = 50
_BY_COLON = ("hx", "helix", "subl", "code")


def keep_position(centre: ControlCentre, session: LogSession, attempt: int) -> None:
    """For the next start: where the operator is in this log, by byte, which holds while it grows."""
    rows, place = session.rows, session.place
    if rows is None or place is None or not rows.touched or rows.at >= rows.index.rows:
        return
    logs = dict(centre.state.logs)
    logs.pop(place.target, None)
    newest = dict(list(logs.items())[1 - KEPT_POSITIONS :])
    position = LogPosition(attempt=attempt, offset=rows.index.starts[rows.at])
    centre.state = msgspec.structs.replace(centre.state, logs=newest | {place.target: position})


def log_copies(session: LogSession, detail: Detail | None, rest: Rest) -> Copies:
    """Of the episode and of the firing under the cursor, its error above all."""
    place, rows = session.place, session.rows
    if place is None:
        return {}
    copies = {
        "copy.id": lambda: place.target,
        "copy.path": lambda: str(place.log),
        "copy.command": lambda: _command(place, rest),
    }
    if rows is not None and rows.at < rows.index.rows:
        number = rows.at
        copies["copy.json"] = lambda: rows.reader.raw(number, MAX_RECORD_BYTES).decode("utf-8", "replace")
    if detail is not None:
        copies["copy.row"] = lambda: "\n".join(map(text_of, detail.lines))
    row = session.ending.row
    if row is not None and (links := links_of(row)):
        copies["copy.link"] = lambda: "\n".join(links)
    head = rows.reader.row(rows.at).head if rows is not None and rows.at < rows.index.rows else None
    firing_error = (head.error or head.problem) if head is not None else ""
    verdict = session.verdict.text if session.verdict is not None else ""
    if error := firing_error or error_text(session.ending) or verdict:
        copies["copy.error"] = lambda: error
    return copies


def _command(place: Place, rest: Rest) -> str:
    if place.run is None:
        return f"evaltower view {shlex.quote(str(place.log))}"
    return rest.log(place.run.run_id, place.folder.name)


async def open_outside(
    centre: ControlCentre, session: LogSession, detail: Detail | None, *, record: bool
) -> None:
    """``o``: the log at the row under the cursor; with ``record`` the firing alone, as indented JSON."""
    place, rows = session.place, session.rows
    if place is None or rows is None:
        return
    number = rows.at
    indented = (
        await asyncio.to_thread(_indented, rows.reader.raw(number, MAX_RECORD_BYTES)) if record else None
    )
    if indented is None:
        await _run(centre, editor_command(os.environ, place.log, number + 1), place.folder)
        return
    with tempfile.NamedTemporaryFile("wb", prefix=f"row{number + 1}_", suffix=".json") as file:
        file.write(indented)
        file.flush()
        await _run(centre, editor_command(os.environ, Path(file.name), 1), place.folder)


async def open_file(centre: ControlCentre, path: Path) -> None:
    """A file, from its beginning."""
    await _run(centre, editor_command(os.environ, path, 1), path.parent)


def editor_command(environ: Mapping[str, str], path: Path, line: int) -> list[str]:
    """$VISUAL, $EDITOR, else $PAGER, else less, on the file, at the line where it can be told to.

    ``less`` is told to show control characters whatever $LESS says: the file may be anybody's.
    """
    chosen = next((environ[name] for name in ("VISUAL", "EDITOR", "PAGER") if environ.get(name)), "less")
    try:
        command = shlex.split(chosen)
    except ValueError:
        command = [chosen]
    name = Path(command[0]).name if command else "less"
    if name == "less":
        command = [*(command or ["less"]), "-+R", "-+r", "-+F", "-+X"]
    if name in _BY_COLON:
        return [*command, *(["--goto"] if name == "code" else []), f"{path}:{line}"]
    return [*command, *([f"+{line}"] if name in _TAKE_A_LINE else []), str(path)]


async def _run(centre: ControlCentre, command: Sequence[str], folder: Path) -> None:
    try:
        code = await centre.run_in_terminal(command, folder)
    except OSError as error:
        centre.tell(
            f"{command[0]} cannot be started: {error.strerror}. Set EDITOR or PAGER", severity="error"
        )
        return
    if code:
        centre.tell(f"{command[0]} ended with code {code}", severity="warning")


def _indented(line: bytes) -> bytes | None:
    """None where it is no JSON, or only a part of one."""
    try:
        return msgspec.json.format(line, indent=2)
    except (msgspec.MsgspecError, RecursionError):
        return None
