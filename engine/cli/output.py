"""Writing: data to stdout, narration to stderr, tables that a pipe can read as well."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TextIO

import click

from engine.text import one_line, visible

GAP = "  "
NARROWEST = 18
"""Columns of a run's id with its number; no column is cut below."""


class Cell(NamedTuple):
    """A cell of a table. colour: a name that click knows, or None."""

    text: str
    colour: str | None = None


def say(text: str, colour: str | None = None) -> None:
    """Narrate: one line to stderr. That nobody reads it any more ends no command."""
    try:
        click.echo(_styled(visible(text), colour), err=True)
    except BrokenPipeError:
        forsake(sys.stderr)


def forsake(stream: TextIO) -> None:
    """Its reader has left: what is written there from now on, also by the interpreter at its end, is lost."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say_error(text: str) -> None:
    """Narrate what went wrong; every line of it is an error of its own."""
    for line in text.strip("\n").split("\n"):
        say(f"error: {line}", "red")


def say_lines(label: str, text: str, colour: str | None = None) -> None:
    """Narrate a text of several lines, each on a line of its own."""
    for line in f"{label}{text}".strip().splitlines():
        say(line, colour)


def put(text: str = "", colour: str | None = None) -> None:
    """One line of data to stdout."""
    click.echo(_styled(visible(text), colour))


def put_wrapped(text: str, colour: str | None = None, indent: str = "") -> None:
    """A sentence of data to stdout, in as many lines as it takes; those after the first are indented."""
    width = shutil.get_terminal_size().columns
    lines = textwrap.wrap(visible(text), width, subsequent_indent=indent, break_on_hyphens=False)
    for line in lines:
        click.echo(_styled(line, colour))


def put_json(document: Any) -> None:
    """The one JSON document of ``--json``."""
    from engine.store.strict_json import encode_indented

    click.echo(encode_indented(document), nl=False)


def put_json_line(document: Any) -> None:
    """One JSON document on a line of its own, seen at once by who reads a pipe."""
    from engine.store.strict_json import encode

    click.echo(encode(document))


def put_json_list(items: Iterable[Any]) -> None:
    """One JSON document, a list, written as its items come; one item a line."""
    from engine.store.strict_json import encode

    before = b"["
    for item in items:
        click.echo(before + b"\n" + encode(item), nl=False)
        before = b","
    click.echo(b"[]" if before == b"[" else b"\n]")


def put_table(header: Sequence[str], rows: Sequence[Sequence[str | Cell]]) -> None:
    """Aligned columns, a line a row: of a text of several, the first. Numbers stand right; on a terminal the
    widest columns are cut to fit its width."""
    from rich.cells import cell_len, set_cell_size

    cells = [[_shown(cell) for cell in row] for row in rows]
    widths = [
        max(cell_len(row[i].text) for row in ([*map(_shown, header)], *cells)) for i in range(len(header))
    ]
    right = [bool(cells) and all(_is_number(row[i].text) for row in cells) for i in range(len(header))]
    if sys.stdout.isatty():
        _narrow(widths, shutil.get_terminal_size().columns - len(GAP) * (len(widths) - 1))
    for line in ([Cell(visible(name), "bright_black") for name in header], *cells):
        parts = []
        for cell, width, is_right in zip(line, widths, right, strict=True):
            length = cell_len(cell.text)
            text = set_cell_size(cell.text, width - 1) + "…" if length > width else cell.text
            padding = " " * max(0, width - length)
            styled = _styled(text, cell.colour)
            parts.append(padding + styled if is_right else styled + padding)
        click.echo(GAP.join(parts).rstrip())


def _narrow(widths: list[int], room: int) -> None:
    """Take from the widest until they fit, or all are narrow."""
    while sum(widths) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _styled(text: str, colour: str | None) -> str:
    return click.style(text, fg=colour) if colour and text else text


def _shown(cell: str | Cell) -> Cell:
    text, colour = (cell, None) if isinstance(cell, str) else cell
    return Cell(visible(one_line(text) if "\n" in text else text), colour)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).replace("/", "", 1).lstrip("-").isdigit() or text in ("", "-")
