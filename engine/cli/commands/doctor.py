"""``evaltower doctor``."""

from __future__ import annotations

import os

import click

from engine.cli.app import FAILED, App
from engine.cli.output import Cell, put_json, put_table, say
from engine.control.reports import DoctorItem
from engine.store.settings import FILE
from engine.terminal_images import ask, hidden_by, way_of

COLOURS = {"ok": "green", "warning": "yellow", "failure": "red"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option(
    "--cluster",
    is_flag=True,
    help="Also submit a small job to the Slurm cluster, which sees the root, Python and clock of a node.",
)
@click.pass_obj
def command(app: App, /, *, as_json: bool, cluster: bool) -> None:
    """Look at this machine: interpreter, packages, GPUs, disk, terminal, nodesets, and its Slurm cluster, if
    any; what would stop a run?"""
    if cluster:
        say("a small job looks at a node of the cluster: half a minute, at most")
    items = [*app.control.doctor(cluster=cluster), _images()]
    items += [
        DoctorItem(name=FILE, state="failure", detail=told) for told in app.key_problems(app.control.root)
    ]
    if as_json:
        put_json(items)
    else:
        put_table(
            ["what", "state", "found"],
            [
                [i.name, Cell(i.state, COLOURS[i.state]), i.detail + (f" → {i.remedy}" if i.remedy else "")]
                for i in items
            ],
        )
    if any(item.state == "failure" for item in items):
        raise click.exceptions.Exit(FAILED)


def _images() -> DoctorItem:
    """What the terminal of this command can draw: ``[ui] images`` of evaltower.toml asks for it."""
    return DoctorItem(name="images", state="ok", detail=f"half-blocks; {_in_pixels()}")


def _in_pixels() -> str:
    if hidden := hidden_by():
        return hidden
    if not (os.isatty(0) and os.isatty(1) and os.tcgetpgrp(0) == os.getpgrp()):
        return "no terminal that could be asked for more"
    ability = ask(0)
    if not ability.complete:
        return way_of("auto", ability)[1]
    told = [("kitty's protocol", ability.kitty), ("sixel", ability.sixel)]
    cell = f"; a cell has {ability.cell[0]}×{ability.cell[1]} pixels" if ability.cell else ""
    return ", ".join(f"{name}: {'yes' if able else 'no'}" for name, able in told) + cell
