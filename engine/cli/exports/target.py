"""The file that an export goes to: replaced whole, and only where that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from engine.cli.output import say

TEXTS = ["json", "jsonl", "csv", "html"]
FILMS = ["mp4", "gif"]


def check_target(path: Path, form: str, force: bool) -> None:
    """BadParameter where something is there that must not be replaced, the folder is not there, or the name
    says another format than ``form``."""
    named = path.suffix[1:].lower()
    if named != form and named in (*TEXTS, *FILMS):
        told = f"{path.name} is the name of a {named} file, and {form} is to be written: make them agree"
        raise click.BadParameter(told, param_hint="-o")
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {path.parent}: make it first", param_hint="-o")
    if path.exists() and not path.is_file():
        raise click.BadParameter(f"{path} is not a file", param_hint="-o")
    if path.exists() and not force:
        raise click.BadParameter(f"{path} is there already; --force replaces it", param_hint="-o")


@contextmanager
def exported(path: Path, form: str, force: bool) -> Iterator[BinaryIO]:
    """The file to write to, which becomes ``path`` at the block's end, and is gone where the block fails."""
    from engine.store.atomic import replacing

    check_target(path, form, force)
    with replacing(path, before=lambda: check_target(path, form, force)) as file:
        yield file
    say(f"written: {path}")
