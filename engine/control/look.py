"""Reading runs: how each stands, its episodes, the firings of one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from engine.control.reports import NotFoundError, RunReport
from engine.scheduling.reasons import NOT_LOOKED_AT, sentence
from engine.scoring.asked import wants_verdicts
from engine.statistics.budget import budget_of
from engine.store.backend_lock import live_backend
from engine.store.episode_folders import find_episode_folders
from engine.store.process_identity import is_alive, is_here
from engine.store.records import EpisodeFile, EpisodeRow
from engine.store.rundir import RunDir, RunDirError, read_json
from engine.store.runs import RunView, read_rows, view_run

STDERR_LINES = 12
STDERR_BYTES = 1 << 16
POLL_SEC = 0.2


def light_report(view: RunView) -> RunReport:
    """A run's row in a list."""
    return RunReport(
        run_id=view.run.run_id,
        path=str(view.run.path),
        status=view.status,
        label=view.label,
        summary=view.head,
        error_budget=budget_of(view.scoring),
        wants_verdicts=wants_verdicts(view.scoring),
        waits=_waits(view.run) if view.status == "pending" else "",
    )


def _waits(run: RunDir) -> str:
    """Why it is not let in, by its job.json."""
    try:
        job = run.read_job()
    except (RunDirError, OSError):
        return "why it waits cannot be read from its job.json"
    if job.state == "started":
        return job.cluster.why if job.cluster else ""
    keeper = job.process
    if keeper and is_here(keeper) and not is_alive(keeper) and live_backend(run.root) is None:
        return "no backend serves this root: evaltower --serve takes it up"
    return sentence(job.reason) or NOT_LOOKED_AT


def full_report(run: RunDir) -> RunReport:
    """A run with its progress and environment, and for an aborted one what its process last said."""
    report = light_report(view_run(run))
    try:
        if report.status != "pending":  # else it is an earlier attempt's
            report.progress = run.read_progress()
        report.environment = run.read_environment() if run.environment.exists() else None
        report.cluster = run.read_job().cluster
    except RunDirError as error:
        report.summary.error = report.summary.error or str(error)
    if report.status == "aborted":
        report.stderr_tail = _tail(run.path / "stderr.log")
    return report


def _tail(path: Path) -> list[str]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - STDERR_BYTES))
            return file.read().decode("utf-8", "replace").splitlines()[-STDERR_LINES:]
    except FileNotFoundError:
        return []


def episode_folder(run: RunDir, episode: str) -> Path:
    """The folder of an episode. NotFoundError where none, or more than one, is meant."""
    found = find_episode_folders(run.episodes, episode)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise NotFoundError(f"episode {episode} of {run.run_id} is more than one: say which of {names}")
    rows = read_rows(run)
    span = f"it has {rows[0].episode_index} to {rows[-1].episode_index}" if rows else "none has finished yet"
    raise NotFoundError(f"run {run.run_id} has no episode {episode!r}; {span}")


def folder_of(run: RunDir, row: EpisodeRow) -> Path:
    """The folder of a finished episode. NotFoundError where it is gone."""
    for folder in find_episode_folders(run.episodes, str(row.episode_index)):
        if read_json(folder / "episode.json", EpisodeFile).episode.identity == row.identity:
            return folder
    raise NotFoundError(f"the folder of episode {row.episode_index} of {run.run_id} is not there")


def read_episode(run: RunDir, episode: str) -> EpisodeFile:
    """A finished episode's file. NotFoundError where there is none, or not yet."""
    path = episode_folder(run, episode) / "episode.json"
    if not path.exists():
        raise NotFoundError(f"episode {episode} of {run.run_id} has not finished")
    return read_json(path, EpisodeFile)


def read_log(run: RunDir, folder: Path, *, follow: bool) -> Iterator[dict[str, Any]]:
    """The lines of an episode's log. ``follow`` waits for more until the episode or its run has ended."""
    decoder = msgspec.json.Decoder(dict[str, Any])
    for line in _lines(folder / "log.jsonl", _ended(run, folder) if follow else lambda: True):
        try:
            yield decoder.decode(line)
        except msgspec.MsgspecError:
            continue  # the torn line of a killed process, closed off by the next


def _ended(run: RunDir, folder: Path) -> Callable[[], bool]:
    def ended() -> bool:
        return (folder / "episode.json").exists() or light_report(view_run(run)).is_over

    return ended


def _lines(path: Path, ended: Callable[[], bool]) -> Iterator[bytes]:
    """Whole lines as they come. ``ended`` is asked before the last look, so that nothing is missed."""
    offset, rest = 0, b""
    while True:
        last_look = ended()
        if path.exists():
            with open(path, "rb") as file:
                file.seek(offset)
                for piece in file:
                    offset += len(piece)
                    rest += piece
                    if rest.endswith(b"\n"):
                        yield rest[:-1]
                        rest = b""
        if last_look:
            return
        time.sleep(POLL_SEC)
