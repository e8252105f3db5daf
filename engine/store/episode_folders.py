"""The folder of each episode: readable, unique on every file system, and never outside ``episodes/``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

LONGEST_TASK = 60
"""Characters of a task's name that a folder's name keeps."""


def folder_names(episodes: Iterable[tuple[int, str, int]]) -> list[str]:
    """A folder name for each (episode index, task, repeat), in the order given.

    ``ep0003``; ``ep0003_<task>`` for a further task with the same index; ``ep0003_r2`` for a repeat. The
    same list gives the same names, whatever runs them.
    """
    first_task: dict[int, str] = {}
    taken: set[str] = set()
    names = []
    for index, task, repeat in episodes:
        name = f"ep{index:04d}"
        if first_task.setdefault(index, task) != task:
            name += f"_{_safe(task)}"
        if repeat > 1:
            name += f"_r{repeat}"
        names.append(_unused(name, taken))
    return names


def find_episode_folders(episodes: Path, wanted: str) -> list[Path]:
    """The folders that ``wanted`` may mean: a folder's name, or an index (all that share it)."""
    if not episodes.is_dir():
        return []
    present = sorted(path for path in episodes.iterdir() if path.is_dir())
    if exact := [path for path in present if path.name == wanted]:
        return exact
    if not wanted.isascii() or not wanted.isdigit():
        return []
    stem = f"ep{wanted.lstrip('0').zfill(4)}"  # no number: of some digits on, Python refuses to make one
    return [path for path in present if path.name == stem or path.name.startswith(f"{stem}_")]


def _safe(task: str) -> str:
    # What is lost by the clean-up is told apart by a digest, so that two tasks never share a name by it.
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", task).strip(".-")[:LONGEST_TASK]
    if clean == task:
        return clean
    digest = blake2b(task.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{clean}-{digest}" if clean else digest


def _unused(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate.casefold() in taken:  # file systems that fold case are common
        number += 1
        candidate = f"{name}~{number}"
    taken.add(candidate.casefold())
    return candidate
