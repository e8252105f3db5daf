"""What is exported, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from engine.control.protocol import Control
    from engine.control.reports import RunReport
    from engine.control.results import Results
    from engine.store.records import EpisodeFile, EpisodeRow


@dataclass(frozen=True)
class RunContent:
    """A run with its numbers and its episodes."""

    run: RunReport
    results: Results
    episodes: list[EpisodeRow]


@dataclass(frozen=True)
class EpisodeContent:
    """An episode with the lines of its log."""

    episode: EpisodeFile
    log: list[dict[str, Any]]


@dataclass(frozen=True)
class Table:
    """Cells are texts, numbers or None."""

    header: list[str]
    rows: list[list[str | float | None]]


def read_run(control: Control, run: str) -> RunContent:
    report = control.show(run)
    return RunContent(report, control.results(report.run_id), control.episodes(report.run_id))


def read_episode(control: Control, run: str, episode: str) -> EpisodeContent:
    return EpisodeContent(control.episode(run, episode), list(control.log(run, episode)))


def episode_table(rows: Sequence[EpisodeRow]) -> Table:
    """An episode a row; its metrics as ``metric.<name>``, empty where it was not measured."""
    metrics = sorted({name for row in rows for name in row.measures})
    header = [
        "episode_index", "repeat", "task", "selectors", "episode_id", "scene_id", "instruction", "status",
        "termination", "error_class", "error", "step_count", "elapsed_sec", "seed", "trajectory_digest",
    ]  # fmt: skip
    return Table(
        [*header, *(f"metric.{name}" for name in metrics)],
        [
            [*(_cell(getattr(row, name)) for name in header), *(row.measures.get(name) for name in metrics)]
            for row in rows
        ],
    )


def firing_table(lines: Sequence[dict[str, Any]]) -> Table:
    """A node firing a row."""
    header = [
        "step", "node_id", "node_type", "duration_ms", "error", "inputs", "outputs", "inner_log", "timestamp",
    ]  # fmt: skip
    return Table(header, [[_cell(line.get(name)) for name in header] for line in lines])


def _cell(value: Any) -> str | float | None:
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.json.encode(value, order="sorted").decode()
