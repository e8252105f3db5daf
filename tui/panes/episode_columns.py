"""The columns of the episodes: what every episode has, and a column for each metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.style import Style

from engine.figures import number
from engine.store.records import EpisodeRow
from tui.drawing import Drawing
from tui.models import outcome_of
from tui.table_model import Column
from tui.theme import Outcome


@dataclass(frozen=True)
class Going:
    """An episode that a worker plays now."""

    episode_index: int
    task: str
    worker_id: int


Line = EpisodeRow | Going

METRIC_LEAST, METRIC_MOST = 7, 16


def line_id(line: Line) -> str:
    """The same for an episode before and after its end, unless tasks or repeats share its index."""
    if isinstance(line, Going) or (line.repeat == 1 and not line.selectors):
        return str(line.episode_index)
    return f"{line.episode_index}/{line.repeat}/{line.task}"


def outcome(line: Line) -> Outcome:
    return "running" if isinstance(line, Going) else outcome_of(line)


def is_doubtful(line: Line) -> bool:
    """Whether it has a warning: it did not finish by itself, or gave no number, or not all of them."""
    if isinstance(line, Going):
        return False
    lacking = not line.metrics or any(value is None for value in line.metrics.values())
    return lacking or line.termination in ("timeout", "drained", "no_verdict") or line.error_class == "infra"


def tell(line: Line) -> str:
    """All that a regex may find, without a cell being made: ten thousand are told at the first key."""
    if isinstance(line, Going):
        return f"{line.episode_index}\nrunning\n{line.task}\n{line.worker_id}"
    texts = (
        line.termination,
        line.scene_id,
        line.task,
        line.error or line.instruction,
        line.error_class or "",
    )
    numbers = " ".join([str(value) for value in line.metrics.values()])
    return f"{line.episode_index}\n{outcome_of(line)}\n{line.seed}\n{numbers}\n" + "\n".join(texts)


def episode_columns(
    metrics: Sequence[str], tasks: bool, step_of: Callable[[Going], str], drawing: Callable[[], Drawing]
) -> list[Column[Line]]:
    """tasks: there are several. step_of: how far an episode is that goes on. drawing: as it is when a cell is
    drawn. Of the metrics, the first stays longest where there is no room.
    """

    def mark(line: Line) -> Style:
        return drawing().marks[outcome(line)].style

    def glyph(line: Line) -> str:
        return drawing().marks[outcome(line)].glyph

    def steps(line: Line) -> str:
        return step_of(line) if isinstance(line, Going) else str(line.step_count)

    return [
        Column("outcome", "", 1, outcome, style=mark, text=glyph),
        Column("episode", "ep", 6, lambda line: line.episode_index, text=_episode, align="right"),
        Column("ended", "ended by", 10, _ended, drop=3),
        *(_metric_column(name, place) for place, name in enumerate(metrics)),
        Column("steps", "steps", 7, _of("step_count"), text=steps, align="right", drop=4),
        Column("sec", "sec", 7, _of("elapsed_sec"), text=_seconds, align="right", drop=5),
        *([Column("task", "task", 12, _task, drop=6)] if tasks else []),
        Column("scene", "scene", 12, _of("scene_id"), drop=20),
        Column("worker", "w", 3, lambda line: line.worker_id, align="right", drop=21),
        Column("seed", "seed", 10, _of("seed"), align="right", drop=22),
        Column("note", "what", 0, _note, least=24),
    ]


def _metric_column(name: str, place: int) -> Column[Line]:
    def value(line: Line) -> float | None:
        return None if isinstance(line, Going) else line.measures.get(name)

    def text(line: Line) -> str:
        known = value(line)
        return "" if known is None else _short(known)

    width = min(METRIC_MOST, max(METRIC_LEAST, len(name)))
    return Column(
        name, name, width, value, text=text, align="right", drop=1 if not place else 7 + min(place, 12)
    )


def _short(value: float) -> str:
    return (
        str(int(value))
        if math.isfinite(value) and value == int(value) and abs(value) < 1e6
        else number(value)
    )


def _of(field: str) -> Callable[[Line], Any]:
    """A field of a finished episode; None for one that goes on."""
    return lambda line: None if isinstance(line, Going) else getattr(line, field)


def _episode(line: Line) -> str:
    repeat = f"r{line.repeat}" if isinstance(line, EpisodeRow) and line.repeat > 1 else ""
    return f"{line.episode_index}{repeat}"


def _task(line: Line) -> str:
    return line.task


def _ended(line: Line) -> str:
    return "" if isinstance(line, Going) else line.termination


def _seconds(line: Line) -> str:
    return "" if isinstance(line, Going) else f"{line.elapsed_sec:.1f}"


def _note(line: Line) -> str:
    if isinstance(line, Going):
        return "is played now: enter follows it"
    if line.error:
        return f"{line.error_class}: {line.error}" if line.error_class else line.error
    return line.instruction
