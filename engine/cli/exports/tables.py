"""Episodes and firings as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from engine.figures import UNITS
from engine.report.words import score_in_words

if TYPE_CHECKING:
    from engine.store.records import EpisodeRow


@dataclass(frozen=True)
class Table:
    """Cells are texts, numbers or None."""

    header: list[str]
    rows: list[list[str | float | None]]


def episode_table(rows: Sequence[EpisodeRow]) -> Table:
    """An episode a row; its metrics as ``metric.<name>``, empty where it was not measured. Of a run that is
    scored its verdict, what each grader and judge gave as a reason, and where it was exported."""
    metrics = sorted({name for row in rows for name in row.measures})
    header = [
        "episode_index", "repeat", "task", "selectors", "episode_id", "scene_id", "instruction", "status",
        "termination", "error_class", "error", "step_count", "elapsed_sec", "seed", "trajectory_digest",
    ]  # fmt: skip
    table = Table(
        [*header, *(f"metric.{name}" for name in metrics)],
        [
            [*(_cell(getattr(row, name)) for name in header), *(row.measures.get(name) for name in metrics)]
            for row in rows
        ],
    )
    if all(row.scoring == "none" for row in rows):
        return table
    scores = _score_columns(rows)
    return Table(
        [*table.header, *scores.header],
        [[*cells, *more] for cells, more in zip(table.rows, scores.rows, strict=True)],
    )


def score_lines(rows: Sequence[EpisodeRow]) -> list[dict[str, Any]]:
    """A score of an episode each, with all that it says; unit: of its value, "" where it has none."""
    return [
        {
            "episode_index": row.episode_index,
            "repeat": row.repeat,
            "task": row.task,
            **msgspec.to_builtins(score),
            "unit": UNITS.get(score.metric, ""),
        }
        for row in rows
        for score in row.scores
    ]


def scores_table(rows: Sequence[EpisodeRow]) -> Table:
    """The same as a table; ``pass`` is empty of a score that judges nothing."""
    header = [
        "episode_index", "repeat", "task", "grader_id", "metric", "status", "value", "unit", "pass", "label",
        "reason", "retryable", "attempts", "detail",
    ]  # fmt: skip
    return Table(header, [[_cell(line.get(name)) for name in header] for line in score_lines(rows)])


def _score_columns(rows: Sequence[EpisodeRow]) -> Table:
    reasons = sorted({score.metric for row in rows for score in row.scores})
    sinks = sorted({outcome.name for row in rows for outcome in row.exports})
    cells: list[list[str | float | None]] = []
    for row in rows:
        told: dict[str, list[str]] = {}
        for score in row.scores:
            told.setdefault(score.metric, []).append(score_in_words(score))
        sent = {one.name: one.error or one.url or one.where or one.external_id for one in row.exports}
        verdict = {True: "pass", False: "fail", None: None}[row.verdict]
        cells.append(
            [
                verdict,
                row.scoring,
                *("; ".join(told[metric]) if metric in told else None for metric in reasons),
                *(sent.get(name) for name in sinks),
            ]
        )
    return Table(
        [
            "verdict",
            "scoring",
            *(f"score.{metric}" for metric in reasons),
            *(f"export.{name}" for name in sinks),
        ],
        cells,
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
