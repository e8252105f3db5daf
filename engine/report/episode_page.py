"""An episode as one page: how it ended, what it looked like, its firings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.report import cards
from engine.report.content import EpisodeContent
from engine.report.markup import TAIL, Child, Html, as_json, cut, el, facts, head, section, table
from engine.report.strips import Strips
from engine.store.outcomes import outcome_of
from engine.store.records import EpisodeFile
from engine.store.task_names import task_names

STRIP_FRAMES = 24
IMAGE_BYTES = 1 << 20
FIRINGS = 5000
LONGEST = 2000
"""Characters of a value in a cell; all of it is in the log."""


def episode_page(content: EpisodeContent, folder: Path) -> Iterator[bytes]:
    """The page, piece by piece. ``folder``: the episode's."""
    return (piece.encode() for piece in _pieces(content, folder))


def _pieces(content: EpisodeContent, folder: Path) -> Iterator[Html]:
    found, row = content.episode, content.episode.episode
    yield head(f"{found.graph_name} · {found.run_id} · episode {row.episode_index}")
    strips = Strips(None, STRIP_FRAMES, IMAGE_BYTES)
    of = "episode.json#/episode"
    yield el(
        "header",
        el("p", f"Evaltower · run {found.run_id}", cls="note"),
        el("h1", found.graph_name),
        cards.heading(row, task_names([row.task])[row.task], of),
        cards.instruction(row),
        cls=f"masthead {outcome_of(row)}",
    )
    why = cards.why(row, folder)
    strip = strips.strip(folder, lambda: content.log)
    words = cards.last_words(row, content.log)
    if why or words or strip:
        yield section("What happened", why, words, strip, name="frames")
    if row.metrics:
        yield section("Metrics", cards.measures(row, of), name="metrics")
    if row.scores:
        yield section("Scores", cards.scores(row), name="scores")
    yield section("Firings", *_firings(content.log), name="firings")
    yield section("Provenance", _facts(found), name="provenance")
    yield TAIL


def _firings(log: list[dict[str, Any]]) -> list[Child]:
    names = ["step", "node_id", "node_type", "duration_ms", "error", "inputs", "outputs", "inner_log"]
    rows = [[_cell(line.get(name)) for name in names] for line in log[:FIRINGS]]
    left = len(log) - len(rows)
    return [table(names, rows, (0, 3)), el("p", f"{left} more are in its log.", cls="note") if left else None]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return cut(value if isinstance(value, str) else as_json(value), LONGEST)


def _facts(found: EpisodeFile) -> Html:
    row = found.episode
    return facts(
        [
            ("episode id", row.episode_id),
            ("scene", row.scene_id),
            ("selectors", as_json(row.selectors) if row.selectors else None),
            ("repeat", str(row.repeat)),
            ("seed", str(row.seed)),
            ("started", row.started_at),
            ("finished", row.finished_at),
            ("graph", el("code", found.graph_hash)),
            ("trajectory digest", el("code", row.trajectory_digest) if row.trajectory_digest else None),
        ]
    )
