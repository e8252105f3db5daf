"""Unpack a case's archive; nothing of it may land, or lead, outside the folder."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path

from .paths import inside

_UNREADABLE = (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError)


def unpack(archive: Path, folder: Path) -> None:
    """A tar, of any compression that Python has, or a zip; ValueError where it cannot be, or may not be."""
    if not archive.is_file():
        raise ValueError(f"archive: there is no file {archive}")
    try:
        if zipfile.is_zipfile(str(archive)):
            _unzip(archive, folder)
        else:
            _untar(archive, folder)
    except _UNREADABLE as error:
        raise ValueError(f"archive: {archive} cannot be unpacked: {error}") from error


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(str(archive)) as packed:
        for member in packed.infolist():
            place = inside(folder, member.filename, f"{archive.name}:")
            if member.is_dir():
                place.mkdir(parents=True, exist_ok=True)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(member) as source, place.open("wb") as target:
                shutil.copyfileobj(source, target)
            mode = member.external_attr >> 16 & 0o777
            if mode:
                place.chmod(mode | 0o600)


def _untar(archive: Path, folder: Path) -> None:
    with tarfile.open(str(archive)) as packed:
        for member in packed:
            place = inside(folder, member.name, f"{archive.name}:")
            if member.isdir():
                place.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                place.parent.mkdir(parents=True, exist_ok=True)
                source = packed.extractfile(member)
                assert source is not None
                with source, place.open("wb") as target:
                    shutil.copyfileobj(source, target)
                place.chmod(member.mode & 0o777 | 0o600)
            elif member.issym():
                place.parent.mkdir(parents=True, exist_ok=True)
                below = os.path.relpath(str(place.parent), os.path.realpath(str(folder)))
                inside(folder, os.path.join(below, member.linkname), f"{archive.name}: link to")
                place.symlink_to(member.linkname)
            elif member.islnk():
                os.link(str(inside(folder, member.linkname, f"{archive.name}: link to")), str(place))
            else:
                raise ValueError(f"{archive.name}: {member.name!r} is neither a file, a folder nor a link")
