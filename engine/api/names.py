"""Names that come from outside and end up in paths. None leads out of the folder that it is a name in."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from engine.api.errors import BadRequest
from engine.control.reports import NotFoundError


def saved_graph(name: str) -> str:
    """A saved graph's name, which may hold folders. BadRequest for a path of any other kind.

    Control takes files too; here they would be files of the backend, wherever it was started.
    """
    parts = PurePosixPath(name).parts
    tricky = (
        not parts or name.startswith(("/", "~")) or ".." in parts or "\\" in name or not name.isprintable()
    )
    if tricky or name.endswith(".json") or _is_file(name):
        raise BadRequest(f"graph_name: {name!r} is not the name of a saved graph; send a file as graph")
    return name


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def inside(folder: Path, name: str) -> Path:
    """The file ``name`` right in ``folder``. NotFoundError where there is none, or it leads elsewhere."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise NotFoundError(f"{name!r} is not the name of a file")
    path = folder / name
    try:
        found = path.is_file() and path.resolve().parent == folder.resolve()
    except OSError:  # a name that is too long
        found = False
    if not found:
        raise NotFoundError(f"there is no file {name!r}")
    return path
