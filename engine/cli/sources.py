"""The options that say where nodesets and graphs come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from engine.cli.app import absolute

if TYPE_CHECKING:
    from engine.control.reports import Sources

F = TypeVar("F", bound=Callable[..., Any])

_workspaces = click.option(
    "--workspace",
    "workspaces",
    multiple=True,
    metavar="DIR",
    help="Nodesets and graphs of DIR/nodesets and DIR/graphs come before the root's own. May be repeated: "
    "the first to have a name wins.",
)
_overlay = click.option(
    "--overlay",
    metavar="DIR",
    help="A workspace over all others, for this once: a shared nodeset that it changes gets a server of its "
    "own.",
)
server_option = click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="NAME=URL",
    help="Borrow nodeset NAME from the server that runs at URL. May be repeated.",
)


def workspace_option(command: F) -> F:
    """``--workspace`` and ``--overlay``."""
    return _workspaces(_overlay(command))


def read_sources(
    workspaces: Sequence[str], servers: Sequence[str] = (), overlay: str | None = None
) -> Sources:
    """What the options say. UsageError for a folder that is not there, a server without a name or a URL."""
    from engine.control.reports import Sources

    return Sources(
        workspaces=[str(absolute(folder)) for folder in workspaces],
        active_workspace_dir=_folder(overlay),
        servers=_servers(servers),
    )


def _folder(overlay: str | None) -> str | None:
    found = absolute(overlay)
    if found is not None and not found.is_dir():
        raise click.BadParameter(f"there is no folder {overlay}", param_hint="--overlay")
    return None if found is None else str(found)


def _servers(pairs: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, _, url = pair.partition("=")
        if not name or not url:
            raise click.BadParameter(f"{pair!r} is not NAME=URL", param_hint="--server")
        if name in found:
            raise click.BadParameter(f"{name} is given twice", param_hint="--server")
        found[name] = url
    return found
