"""The file that an export goes to: replaced whole, and only where that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from engine.cli.output import say


def check_target(path: Path, force: bool) -> None:
    """BadParameter where something is there that must not be replaced, or the folder is not there."""
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}: make it first", param_hint="-o")
    if path.exists() and not path.is_file():
        raise click.BadParameter(f"{path} is not a file", param_hint="-o")
    if path.exists() and not force:
        raise click.BadParameter(f"{path} is there already; --force replaces it", param_hint="-o")


@contextmanager
def exported(path: Path, force: bool) -> Iterator[BinaryIO]:
    """The file to write to, which becomes ``path`` at the block's end, and is gone where the block fails."""
    from engine.store.atomic import replacing

    check_target(path, force)
    with replacing(path, before=lambda: check_target(path, force)) as file:
        yield file
    say(f"written: {path}")
