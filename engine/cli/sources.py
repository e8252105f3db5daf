"""The options that say where nodesets and graphs come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from engine.cli.app import absolute

if TYPE_CHECKING:
    from engine.control.reports import Sources

workspace_option = click.option(
    "--workspace",
    "workspaces",
    multiple=True,
    metavar="DIR",
    help="Nodesets and graphs of DIR/nodesets and DIR/graphs come before the root's own. May be repeated: "
    "the first to have a name wins.",
)
server_option = click.option(
    "--server",
    "servers",
    multiple=True,
    metavar="NAME=URL",
    help="Borrow nodeset NAME from the server that runs at URL. May be repeated.",
)


def read_sources(workspaces: Sequence[str], servers: Sequence[str] = ()) -> Sources:
    """What the options say. UsageError for a server without a name or a URL."""
    from engine.control.reports import Sources

    return Sources(workspaces=[str(absolute(folder)) for folder in workspaces], servers=_servers(servers))


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
