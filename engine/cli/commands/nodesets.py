"""``evaltower nodesets``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.app import USAGE, App
from engine.cli.output import Cell, put, put_json, put_table, say
from engine.cli.queueing import gigabytes
from engine.cli.sources import read_sources, workspace_option

if TYPE_CHECKING:
    from engine.components.catalog import Catalog, NodesetManifest, PortManifest
    from engine.control.queue_reports import ServerReport

COLOURS = {"ready": "green", "failed": "red"}


@click.command("nodesets")
@click.argument("name", required=False)
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.pass_obj
def command(app: App, /, *, name: str | None, as_json: bool, **sources: Any) -> None:
    """Show what is installed, what failed to load, and which shared servers the live backend has; with NAME,
    one nodeset's node types and graphs.
    """
    catalog = app.control.nodesets(read_sources(**sources))
    if name is not None:
        manifest = catalog.nodesets.get(name)
        if manifest is None:
            known = ", ".join(sorted(catalog.nodesets)) or "none"
            say(f"error: no nodeset is called {name!r}; there are: {known}", "red")
            raise click.exceptions.Exit(USAGE)
        put_json(manifest) if as_json else _put_one(manifest, _servers(app))
    elif as_json:
        put_json(
            {
                "nodesets": catalog.nodesets,
                "failures": catalog.failures,
                "hidden": catalog.hidden,
                "graphs": catalog.graphs,
                "servers": _servers(app),
            }
        )
    else:
        _put_all(catalog, _servers(app))


def _servers(app: App) -> list[ServerReport]:
    """The servers that run or did not load; none where there is no live backend."""
    from engine.control.reports import NoBackendError

    try:
        return [server for server in app.operating.servers() if server.state != "installed"]
    except NoBackendError:
        return []


def _put_all(catalog: Catalog, servers: list[ServerReport]) -> None:
    rows: list[list[str | Cell]] = [
        [m.name, m.origin, m.parallelism, m.determinism, str(len(m.tools)), _graphs(m), m.description]
        for _, m in sorted(catalog.nodesets.items())
    ]
    if rows:
        put_table(["nodeset", "origin", "parallelism", "determinism", "nodes", "graphs", "what"], rows)
    if servers:
        put()
        put_table(
            ["server", "state", "users", "memory", "GPUs", "process", "address"],
            [_server(found) for found in servers],
        )
    for hidden in catalog.hidden:
        put(f"hidden: {hidden.name} of {hidden.path}, by {hidden.hidden_by}", "yellow")
    for failure in catalog.failures:
        put(f"failed: {failure.path}: {failure.error}", "red")


def _graphs(manifest: NodesetManifest) -> str:
    return ", ".join(Path(graph).stem for graph in manifest.graphs) or "-"


def _server(found: ServerReport) -> list[str | Cell]:
    return [
        found.name,
        Cell(found.state, COLOURS.get(found.state)),
        ", ".join(found.users) or ("kept" if found.kept else "-"),
        ", ".join(f"{pool} {gigabytes(mb)}" for pool, mb in found.memory_mb.items()) or "-",
        ", ".join(found.gpus) or "-",
        str(found.pid or "-"),
        found.url or found.detail,
    ]


def _put_one(manifest: NodesetManifest, servers: list[ServerReport]) -> None:
    put(f"{manifest.name}: {manifest.description}")
    facts: list[list[str | Cell]] = [
        ["path", manifest.path],
        ["origin", manifest.origin],
        ["parallelism", manifest.parallelism + (" (assumed)" if manifest.parallelism_assumed else "")],
        ["determinism", manifest.determinism],
        ["interpreter", manifest.server_python or "the one that runs Evaltower"],
        ["memory", f"{manifest.expected_ram_mb or '?'} MB, GPU {manifest.expected_vram_mb or '?'} MB"],
        ["step limit", f"{manifest.default_per_step_budget_sec:g} s"],
        ["graphs", _graphs(manifest)],
        ["source", manifest.source_hash],
    ]
    facts += [
        ["server", f"{found.state}, process {found.pid or '-'}, {found.url or found.detail}"]
        for found in servers
        if found.name == manifest.name
    ]
    put_table(["", ""], facts)
    put()
    tools: list[list[str | Cell]] = [
        [name, "yes" if tool.batched else "no", _ports(tool.inputs), _ports(tool.outputs)]
        for name, tool in manifest.tools.items()
    ]
    put_table(["node type", "batched", "inputs (? optional)", "outputs"], tools)


def _ports(ports: tuple[PortManifest, ...]) -> str:
    return ", ".join(f"{p.name}{'?' if p.optional else ''}:{p.wire_type}" for p in ports) or "-"
