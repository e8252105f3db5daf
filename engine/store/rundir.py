"""The names of a run directory's files, and how a run's id is claimed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from engine.store.atomic import fsync_folder, write_bytes
from engine.store.environment_record import EnvironmentRecord
from engine.store.records import Job, Progress, Spec, Summary, SummaryHead, now_iso

T = TypeVar("T")


RUN_ID = re.compile(r"\d{8}_\d{6}(_\d+)?")
"""What every run's id looks like."""

SHARDS = "shards"
"""The folder of a run that holds those of its shards."""


class RunDirError(Exception):
    """A file of a run directory is missing, or is not what it should be. The message names the file."""


@dataclass(frozen=True)
class RunDir:
    """One run's folder: its paths, and ``read_*``, which raise RunDirError for an absent or broken file.

    ``shard``: of a run that is split over several machines, the one whose files these are, from 0. What was
    asked and the episodes' folders are the run's; everything else lies in the shard's ``own`` folder.
    """

    path: Path
    shard: int | None = None

    @property
    def own(self) -> Path:
        """The folder of the files that its process writes."""
        return self.path if self.shard is None else self.path / SHARDS / str(self.shard)

    @property
    def whole(self) -> RunDir:
        """The run that this is a shard of, or itself."""
        return self if self.shard is None else RunDir(self.path)

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def root(self) -> Path:
        """The root that holds ``outputs/``."""
        return self.path.parents[2]

    @property
    def spec(self) -> Path:
        return self.path / "spec.json"

    @property
    def shared_urls(self) -> Path:
        return self.path / "shared_urls.json"

    @property
    def job(self) -> Path:
        return self.own / "job.json"

    @property
    def graph(self) -> Path:
        return self.own / "graph.json"

    @property
    def scoring(self) -> Path:
        """How its episodes are scored: beside its graph, so that a run of that graph is scored alike."""
        return self.own / "graph.scoring.json"

    @property
    def environment(self) -> Path:
        return self.own / "environment.json"

    @property
    def summary(self) -> Path:
        return self.own / "summary.json"

    @property
    def episode_rows(self) -> Path:
        return self.own / "episodes.jsonl"

    @property
    def progress(self) -> Path:
        return self.own / "progress.json"

    @property
    def control(self) -> Path:
        """Where a run that is played by hand listens."""
        return self.own / "control.json"

    @property
    def done(self) -> Path:
        return self.own / "_DONE"

    @property
    def model_cache(self) -> Path:
        """Answers of chat models, by their requests."""
        return self.own / "model_cache.jsonl"

    @property
    def episodes(self) -> Path:
        return self.path / "episodes"

    def attempt(self, number: int) -> Path:
        return self.own / "attempts" / str(number)

    def shards(self) -> list[RunDir]:
        """Those that there are, in order; none of a run that is not split."""
        with suppress(FileNotFoundError):
            numbers = [int(name) for name in os.listdir(self.path / SHARDS) if name.isdecimal()]
            return [RunDir(self.path, number) for number in sorted(numbers)]
        return []

    def read_spec(self) -> Spec:
        return read_json(self.spec, Spec)

    def read_shared_urls(self) -> dict[str, str]:
        """Nodeset → the URL of a server that stands in for a process of the run's own."""
        return read_json(self.shared_urls, dict[str, str])

    def read_job(self) -> Job:
        return read_json(self.job, Job)

    def read_summary(self) -> Summary:
        return read_json(self.summary, Summary)

    def read_summary_head(self) -> SummaryHead:
        return read_json(self.summary, SummaryHead)

    def read_environment(self) -> EnvironmentRecord:
        return read_json(self.environment, EnvironmentRecord)

    def read_progress(self) -> Progress | None:
        """None before the run process has written any."""
        return read_json(self.progress, Progress) if self.progress.exists() else None

    def is_done(self) -> bool:
        """Whether ``_DONE`` is there and holds its time: a full disk can leave an empty one."""
        try:
            return self.done.stat().st_size > 0
        except FileNotFoundError:
            return False

    def mark_done(self, before: Callable[[], object] | None = None) -> None:
        """Write ``_DONE``, the last file of a run. ``before``: as of :func:`write_bytes`."""
        write_bytes(self.done, now_iso().encode() + b"\n", before=before)


def read_json(path: Path, record: type[T]) -> T:
    """A JSON file as a ``record``. RunDirError names the file and what is wrong with it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except FileNotFoundError:
        raise RunDirError(f"{path} is not there") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RunDirError(f"{path} cannot be read: {error}") from None


def runs_folder(root: Path) -> Path:
    """Where the runs of a root lie."""
    return root / "outputs" / "eval_runs"


def create_run_dir(root: Path, now: datetime | None = None) -> RunDir:
    """Claim a new run id, ``YYYYmmdd_HHMMSS`` or with ``_2``, ``_3`` … behind it, by making its folder."""
    folder = runs_folder(root)
    folder.mkdir(parents=True, exist_ok=True)
    stem = (now or datetime.now()).strftime("%Y%m%d_%H%M%S")
    number = 1
    while True:
        path = folder / (stem if number == 1 else f"{stem}_{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
            continue
        fsync_folder(folder)
        return RunDir(path)
