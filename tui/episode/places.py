"""Where an episode lies, how it ended, and which failed before and after it: from its files alone.

So it is the same for a run of ours and for a folder that somebody sent.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from pathlib import Path

from engine.control.look import folder_of
from engine.control.reports import NotFoundError
from engine.store.episode_folders import find_episode_folders
from engine.store.outcomes import is_fault
from engine.store.records import EpisodeFile, EpisodeRow, Identity, WorkerProgress
from engine.store.rundir import RunDir, RunDirError, read_json, runs_folder
from engine.store.runs import read_rows, view_run

LOG, EPISODE, TRACE = "log.jsonl", "episode.json", "trace.jsonl"
LISTED_AT_MOST = 6
MAX_EPISODE_BYTES = 16 << 20
"""An ``episode.json`` that is longer is none of ours, and is not read."""

_NAME = re.compile(r"ep(\d{4,9})(?:_.*|~.*)?", re.DOTALL)


class PlaceError(Exception):
    """There is no episode; the message says what there is instead."""


@dataclass(frozen=True)
class Place:
    """An episode's folder with its log; for a log of another name, that alone. run: whose it is, if its
    files lie around it."""

    folder: Path
    log: Path
    run: RunDir | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the folder is an episode's, and not only where a log happens to lie."""
        return self.log.name == LOG

    @property
    def name(self) -> str:
        return self.folder.name if self.is_whole else self.log.name

    @property
    def path(self) -> str:
        """By which :func:`place_at` finds it."""
        return str(self.folder if self.is_whole else self.log)

    @property
    def target(self) -> str:
        """By which a screen is brought back: ``run/episode``, else the path."""
        return f"{self.run.run_id}/{self.folder.name}" if self.run else self.path


@dataclass(frozen=True)
class Ending:
    """How an episode ended, or that it has not. file: None where there is none (yet). going: it is played
    now, by this worker. note: why there is no more to say, or nothing."""

    file: EpisodeFile | None = None
    going: WorkerProgress | None = None
    note: str = ""

    @property
    def row(self) -> EpisodeRow | None:
        return self.file.episode if self.file else None

    @property
    def is_final(self) -> bool:
        """Whether there is no more to come of it."""
        return self.row is not None and self.row.scoring != "pending"

    @property
    def failed(self) -> bool:
        return self.row is not None and is_fault(self.row)


def place_at(path: Path) -> Place:
    """The episode at a path that somebody typed: its folder, its ``log.jsonl``, or any file of such lines.

    Raises PlaceError.
    """
    path = path.absolute()
    if path.is_file():
        return Place(path.parent, path, _run_around(path.parent) if path.name == LOG else None)
    if not path.is_dir():
        there = "is no file that can be read" if path.exists() else "is not there"
        raise PlaceError(f"{path} {there}")
    if (path / LOG).exists() or (path / EPISODE).exists():
        return Place(path, path / LOG, _run_around(path))
    if (path / "episodes").is_dir():
        names = sorted(entry.name for entry in (path / "episodes").iterdir())
        more = ", …" if len(names) > LISTED_AT_MOST else ""
        listed = ", ".join(f"episodes/{name}" for name in names[:LISTED_AT_MOST]) + more
        raise PlaceError(f"{path} is a run: view one of its episodes: {listed or 'it has none yet'}")
    raise PlaceError(f"{path} holds neither {LOG} nor {EPISODE}: it is no episode's folder")


def place_in(run: RunDir, episode: str) -> Place:
    """The episode of a run by its folder's name, or its index. Raises PlaceError."""
    found = find_episode_folders(run.episodes, episode)
    if not found:
        raise PlaceError(f"{run.run_id} has no episode {episode!r}")
    return Place(found[0], found[0] / LOG, run)


def place_by(target: str, root: Path) -> Place:
    """The episode that a screen's target names (see :attr:`Place.target`). Raises PlaceError."""
    if target.startswith("/"):
        return place_at(Path(target))
    run, _, episode = target.partition("/")
    return place_in(RunDir(runs_folder(root) / run), episode)


def place_of(run: RunDir, row: EpisodeRow) -> Place:
    """The place of a finished episode. Raises PlaceError where its folder is gone."""
    try:
        folder = folder_of(run, row)
    except (NotFoundError, RunDirError, OSError) as error:
        raise PlaceError(str(error)) from None
    return Place(folder, folder / LOG, run)


def place_of_unfinished(run: RunDir, episode_index: int) -> Place:
    """The place of an episode that is played now. Raises PlaceError where it has none yet."""
    for folder in reversed(find_episode_folders(run.episodes, str(episode_index))):
        if not (folder / EPISODE).exists():
            return Place(folder, folder / LOG, run)
    raise PlaceError(f"episode {episode_index} of {run.run_id} has written nothing yet")


def read_ending(place: Place) -> Ending:
    """How it ended, as of now. What cannot be read is in the note."""
    if not place.is_whole:
        return Ending()
    path = place.folder / EPISODE
    try:
        if path.stat().st_size > MAX_EPISODE_BYTES:
            return Ending(note=f"{EPISODE} is too long to be one")
        return Ending(read_json(path, EpisodeFile))
    except FileNotFoundError:
        return _unfinished(place)
    except (RunDirError, OSError) as error:
        return Ending(note=f"{EPISODE} cannot be read: {_without(str(error), path)}")


def attempt_of(place: Place) -> int:
    """Of its run now; 0 where that is not known."""
    try:
        return place.run.read_job().attempt if place.run is not None else 0
    except (RunDirError, OSError):
        return 0


def failed_beside(place: Place, ending: Ending, *, forward: bool) -> Place | None:
    """The next failed episode of the same run, or the one before; None where there is none.

    Raises PlaceError where the folder does not say which others there are.
    """
    if place.run is None:
        raise PlaceError("the folder lies alone: there are no other episodes beside it")
    rows = [row for row in read_rows(place.run) if is_fault(row)]
    identities = [row.identity for row in rows]
    here = ending.row.identity if ending.row else _identity_by_name(place)
    at = bisect_right(identities, here) if forward else bisect_left(identities, here) - 1
    return place_of(place.run, rows[at]) if 0 <= at < len(rows) else None


def _run_around(folder: Path) -> RunDir | None:
    run = folder.parent.parent
    return RunDir(run) if folder.parent.name == "episodes" and (run / "spec.json").is_file() else None


def _unfinished(place: Place) -> Ending:
    if place.run is None:
        return Ending(note=f"no {EPISODE} beside it: it never finished, or only its log was sent")
    status = view_run(place.run).status
    if status not in ("pending", "running"):
        return Ending(note=f"it never finished: its run is {status}")
    try:
        progress = place.run.read_progress()
    except (RunDirError, OSError):
        progress = None
    index = _identity_by_name(place)[0]
    workers = progress.workers if progress else []
    going = next((worker for worker in workers if worker.episode_index == index), None)
    return Ending(going=going, note="" if going else "not finished yet")


def _identity_by_name(place: Place) -> Identity:
    match = _NAME.fullmatch(place.folder.name)
    return (int(match[1]) if match else -1, "", 1)


def _without(message: str, path: Path) -> str:
    return message.removeprefix(f"{path} ").removeprefix("cannot be read: ")
