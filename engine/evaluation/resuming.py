"""What earlier attempts of a run left, and what of it stands."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.evaluation.plan import PlannedEpisode
from engine.statistics.folding import fold_rows
from engine.store.jsonl import read_with_lines
from engine.store.pending import pending_summary
from engine.store.records import EpisodeRow, Identity, Spec, Summary, now_iso
from engine.store.rundir import RunDir, RunDirError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Earlier:
    """Rows by the position of their episode in the list.

    ``finished`` are not played again: whoever read them may rely on them. ``unfinished`` (cancelled, or of
    class ``infra`` where the resume asks for those) count until the new row is there. ``beyond``: positions
    that an early end had set aside, which are played only if they come to count.
    """

    finished: dict[int, EpisodeRow] = field(default_factory=dict)
    unfinished: dict[int, EpisodeRow] = field(default_factory=dict)
    beyond: frozenset[int] = frozenset()


def read_earlier(
    run: RunDir, episodes: Sequence[tuple[PlannedEpisode, Path]], *, rerun_errors: bool
) -> Earlier:
    """The rows of the run's episodes, by the last line of each. Raises OSError."""
    rows = _last_rows(run)
    earlier, beyond = Earlier(), set()
    for planned, folder in episodes:
        row = rows.pop(planned.identity, None)
        if row is None:
            continue
        if row.beyond_stop:
            beyond.add(planned.position)
        elif _is_finished(row, folder, rerun_errors):
            earlier.finished[planned.position] = row
        else:
            earlier.unfinished[planned.position] = row
    if rows and run.shard is None:  # others are other shards'
        log.warning(
            "%d rows are of episodes that the run does not have any more: they do not count", len(rows)
        )
    return Earlier(earlier.finished, earlier.unfinished, frozenset(beyond))


def _last_rows(run: RunDir) -> dict[Identity, EpisodeRow]:
    """A shard's rows were gathered by the run before this attempt: what it has there of other lines than the
    shard has written came later, as when the run was scored again."""
    lines, own = set(), {}
    for line, row in read_with_lines(run.episode_rows, EpisodeRow):
        lines.add(line)
        own[row.identity] = row
    if run.shard is None:
        return own
    gathered = {
        row.identity: (line, row) for line, row in read_with_lines(run.whole.episode_rows, EpisodeRow)
    }
    return own | {identity: row for identity, (line, row) in gathered.items() if line not in lines}


def _is_finished(row: EpisodeRow, folder: Path, rerun_errors: bool) -> bool:
    if row.status == "cancelled":
        return False
    if rerun_errors and row.failure is not None and row.failure.get("stage") == "grade":
        return False
    # Without its episode.json, playing it again had begun when that attempt was killed.
    return row.error_class != "infra" or (not rerun_errors and (folder / "episode.json").exists())


def reopened_summary(run: RunDir, spec: Spec, rows: Sequence[EpisodeRow] = ()) -> Summary:
    """The summary that an attempt begins with, of the ``rows`` that earlier ones left; what else it says is
    made anew where there is none that can be read."""
    try:
        before = run.read_summary()
    except RunDirError as error:
        if run.shard is None or run.summary.exists():  # nobody has written any for a shard that begins
            log.warning("%s: it is made anew from episodes.jsonl", error)
        before = pending_summary(spec)
    summary = Summary(
        run_id=run.run_id,
        config=before.config,
        status="running",
        created_at=before.created_at,
        started_at=before.started_at or now_iso(),
        total_episodes=before.total_episodes,
        elapsed_sec=before.elapsed_sec,
    )
    fold_rows(summary, rows)
    return summary


def remove_leftovers(run: RunDir) -> None:
    """Remove temporary files of a run process that was killed in the middle of a write."""
    for name in (run.summary, run.progress, run.graph, run.scoring, run.environment, run.done, run.control):
        for left in run.own.glob(f".{name.name}.*.tmp"):
            left.unlink(missing_ok=True)
