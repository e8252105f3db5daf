"""The columns of the episodes: what every episode has, and a column for each metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.style import Style

from engine.figures import labelled, number
from engine.store.outcomes import outcome_of
from engine.store.records import VERDICT, EpisodeRow
from engine.store.scores import Measured
from engine.text import one_line
from tui.drawing import Drawing
from tui.episode.scores import detail_text, errors_of
from tui.models_scoring import lacks_something, verdict_text, why_failed
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
    measures = line.measures
    lacking = not measures or any(value is None for value in measures.values())
    unfinished = line.termination in ("timeout", "drained", "no_verdict") or line.error_class == "infra"
    return lacking or unfinished or lacks_something(line)


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
    told = f"{line.episode_index}\n{outcome_of(line)}\n{line.seed}\n{numbers}\n" + "\n".join(texts)
    return told if line.scoring == "none" else f"{told}\n{_tell_scores(line)}"


def _tell_scores(row: EpisodeRow) -> str:
    parts = [verdict_text(row), row.scoring]
    for score in row.scores:
        detail = score.detail if isinstance(score.detail, str) else ""
        parts += [score.metric, detail, "" if isinstance(score, Measured) else score.reason]
    parts += [outcome.error for outcome in row.exports if outcome.error]
    return "\n".join(parts)


@dataclass(frozen=True)
class Shape:
    """metrics: of any episode. tasks: there are several. scored: there are verdicts, or will be."""

    metrics: tuple[str, ...] = ()
    tasks: bool = False
    scored: bool = False


def shape_of(lines: Sequence[Line]) -> Shape:
    """What their columns follow from. The verdict has one of its own, but for a metric that has its name."""
    rows = [line for line in lines if not isinstance(line, Going)]
    metrics = dict.fromkeys(name for row in rows for name in row.measures)
    scored = any(row.scoring != "none" for row in rows)
    if scored and not any(VERDICT in row.metrics for row in rows):
        metrics.pop(VERDICT, None)
    return Shape(tuple(metrics), len({line.task for line in lines if line.task}) > 1, scored)


def episode_columns(
    shape: Shape,
    step_of: Callable[[Going], str],
    wait_of: Callable[[EpisodeRow], str],
    drawing: Callable[[], Drawing],
) -> list[Column[Line]]:
    """step_of: how far an episode is that goes on. wait_of: what one waits for that has ended. drawing: as it
    is when a cell is drawn. Of the metrics, the first stays longest where there is no room.
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
        *(_scoring_columns(wait_of, drawing) if shape.scored else []),
        *(_metric_column(name, place) for place, name in enumerate(shape.metrics)),
        Column("steps", "steps", 7, _of("step_count"), text=steps, align="right", drop=4),
        Column("sec", "sec", 7, _of("elapsed_sec"), text=_seconds, align="right", drop=5),
        *([Column("task", "task", 12, _task, drop=6)] if shape.tasks else []),
        Column("scene", "scene", 12, _of("scene_id"), drop=20),
        Column("worker", "w", 3, lambda line: line.worker_id, align="right", drop=21),
        Column("seed", "seed", 10, _of("seed"), align="right", drop=22),
        Column("note", "what", 0, _note, least=24),
    ]


def _scoring_columns(
    wait_of: Callable[[EpisodeRow], str], drawing: Callable[[], Drawing]
) -> list[Column[Line]]:
    """Both may be filtered: ``verdict:fail``, ``scoring:pending``."""

    def verdict(line: Line) -> str | None:
        return None if isinstance(line, Going) else verdict_text(line) or None

    def ink(line: Line) -> Style:
        styles = {"pass": drawing().good, "fail": drawing().bad, "pending": drawing().marks["scoring"].style}
        return styles.get(verdict(line) or "", Style.null())

    def waits(line: Line) -> str:
        return "" if isinstance(line, Going) or line.scoring != "pending" else wait_of(line)

    return [
        Column("verdict", "verdict", 7, verdict, style=ink, drop=2),
        Column("scoring", "waits for", 20, _of("scoring"), text=waits, drop=7),
    ]


def _metric_column(name: str, place: int) -> Column[Line]:
    def value(line: Line) -> float | None:
        return None if isinstance(line, Going) else line.measures.get(name)

    def text(line: Line) -> str:
        known = value(line)
        return "" if known is None else _short(known)

    shown = labelled(name)
    width = min(METRIC_MOST, max(METRIC_LEAST, len(shown)))
    return Column(
        name, shown, width, value, text=text, align="right", drop=1 if not place else 7 + min(place, 12)
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
        told = one_line(line.error)
        return f"{line.error_class}: {told}" if line.error_class else told
    if (score := why_failed(line)) is not None:
        return f"{score.metric}: {detail_text(score.detail)}"
    if lacking := errors_of(line):
        return lacking[0]
    return line.instruction
