"""What is told of a run or an episode, whatever the format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.store.rundir import RunDir

if TYPE_CHECKING:
    from engine.control.comparing import CompareReport
    from engine.control.protocol import Control
    from engine.control.reports import RunReport
    from engine.control.results import Results
    from engine.control.scoring_report import ScoringReport
    from engine.store.records import EpisodeFile, EpisodeRow


@dataclass(frozen=True)
class RunContent:
    """A run with its numbers, what came of its scoring, and its episodes."""

    run: RunReport
    results: Results
    scoring: ScoringReport | None
    episodes: list[EpisodeRow]


@dataclass(frozen=True)
class EpisodeContent:
    """An episode with the lines of its log."""

    episode: EpisodeFile
    log: list[dict[str, Any]]


def read_run(control: Control, run: str) -> RunContent:
    report = control.show(run)
    scoring, run_id = control.scoring(report.run_id), report.run_id
    return RunContent(
        report, control.results(run_id), None if scoring.is_empty else scoring, control.episodes(run_id)
    )


def read_episode(control: Control, run: str, episode: str) -> EpisodeContent:
    return EpisodeContent(control.episode(run, episode), list(control.log(run, episode)))


def find_episode(control: Control, run: str, episode: str) -> tuple[RunDir, Path]:
    """The folders of a run and of an episode in it (an index or a folder's name), finished or not.
    NotFoundError where there is none."""
    from engine.control.look import episode_folder

    found = RunDir(Path(control.show(run).path))
    return found, episode_folder(found, episode)


def read_comparison(control: Control, run: str, other: str | None) -> CompareReport | None:
    """The run against another: differences are its values minus the other's. ControlError where the two are
    one."""
    if other is None:
        return None
    from engine.control.reports import ControlError

    runs = [control.show(other).run_id, run]
    if runs[0] == run:
        raise ControlError(f"{run} cannot be compared with itself")
    return control.compare(runs)
