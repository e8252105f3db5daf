"""The saved graphs that a name can mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from engine.components.catalog import Catalog, NodesetManifest
from engine.control.queue_reports import GraphEntry
from engine.control.reports import ControlError, NotFoundError


class _Told(msgspec.Struct):
    description: str = ""


def graph_entries(catalog: Catalog) -> list[GraphEntry]:
    """Each file once, by the fullest of its names."""
    names: dict[str, str] = {}
    for name, path in catalog.graphs.items():
        names.setdefault(path, name)
    return [
        GraphEntry(
            name=name,
            path=path,
            origin=_origin(path, catalog.nodesets.values()),
            description=_description(Path(path)),
        )
        for path, name in names.items()
    ]


def read_saved(catalog: Catalog, name: str) -> dict[str, Any]:
    """A saved graph, by its name only. NotFoundError names what is near."""
    if name not in catalog.graphs:
        near = get_close_matches(name, catalog.graphs, n=3, cutoff=0.5)
        known = ", ".join(near or sorted(catalog.graphs)) or "none"
        raise NotFoundError(f"no graph is called {name!r}; {'near' if near else 'there are'}: {known}")
    path = Path(catalog.graphs[name])
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ControlError(f"{path} cannot be read: {error}") from None


def _origin(path: str, nodesets: Iterable[NodesetManifest]) -> str:
    return next((nodeset.name for nodeset in nodesets if path in nodeset.graphs), "workspace")


def _description(path: Path) -> str:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Told).description
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""  # its check says what is wrong with it
