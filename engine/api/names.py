"""Names that come from outside and end up in paths. None leads out of the folder that it is a name in."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from engine.api.errors import BadRequest, problem
from engine.control.reports import NotFoundError
from engine.store.rundir import RUN_ID

LONGEST = 4096
"""Characters of a name; no path is longer."""


def saved_graph(name: str) -> str:
    """A saved graph's name, which may hold folders. BadRequest for none, and a path of any other kind.

    Control takes files too; here they would be files of the backend, wherever it was started.
    """
    if not name:
        raise BadRequest([problem("graph_name", "is missing", "name a saved graph, or send one as graph")])
    if len(name) > LONGEST:
        raise BadRequest([problem("graph_name", f"has {len(name)} characters", f"at most {LONGEST}")])
    parts = PurePosixPath(name).parts
    tricky = (
        not parts or name.startswith(("/", "~")) or ".." in parts or "\\" in name or not name.isprintable()
    )
    if tricky or name.endswith(".json") or _is_file(name):
        told = f"{name!r} is not the name of a saved graph"
        raise BadRequest([problem("graph_name", told, "send a file as graph")])
    return name


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def changeable_run(name: str) -> str:
    """A run's whole id. NotFoundError for a beginning, a label or ``last``: what a client changes, it names,
    so that a request sent twice never reaches another run."""
    if not RUN_ID.fullmatch(name):
        raise NotFoundError(f"{name!r} is not a run id, such as 20260518_143052")
    return name


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
