"""An attempt of kind ``score``: the finished episodes of a run that has ended are scored, and nothing is
played.

Afterwards the run stands as it had ended; killed at any moment, it does so with the rows that it has.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from engine.evaluation.models import open_chat
from engine.evaluation.recorder import Recorder
from engine.evaluation.scoring import RunScoring, open_means
from engine.graph.read import parse_graph
from engine.models.client import ChatClient
from engine.models.errors import ProfileError
from engine.scoring.again import to_score_again
from engine.scoring.scored import Means, is_scored
from engine.scoring.spec import ScoringError
from engine.statistics.folding import fold_rows
from engine.store.fence import Fence, FencedError
from engine.store.pending import pending_summary
from engine.store.records import EndedAs, EpisodeFile, EpisodeRow, Identity, RunStatus, Spec, Summary
from engine.store.rundir import RunDir, RunDirError, read_json
from engine.store.runs import read_rows
from engine.store.settings import SettingsError

log = logging.getLogger(__name__)


class ScoreRun:
    """The process's work, as the attempt of ``fence``. Use it once."""

    def __init__(self, run: RunDir, spec: Spec, fence: Fence) -> None:
        self._run = run
        self._spec = spec
        self._fence = fence
        self._job = fence.job()
        self._rows = read_rows(run)
        self._recorder = Recorder(
            run, _reopened(run, spec, self._rows), spec.needs.graph_hash, fence, self._failed, lambda: 0.0
        )
        self._chat: ChatClient | None = None
        self._means: Means | None = None
        self._scoring: RunScoring | None = None
        self._stopped = False
        self._went_wrong: Exception | None = None

    async def go(self) -> RunStatus:
        """Score what there is to score, or as much of it as there is time for before a signal; the status is
        ``error`` where something kept that from being done.

        Raises FencedError where the run came to be another attempt's, and OSError where the last files could
        not be written.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop)
        try:
            await self._recorder.start()
            self._recorder.adopt(self._rows)
            await self._score()
        except (ScoringError, SettingsError, ProfileError) as error:
            self._went_wrong = error
            log.error("%s", error)
        except (OSError, FencedError) as error:
            self._failed(error)
        except Exception as error:
            self._went_wrong = error
            log.exception("scoring failed")
        await self._close()
        if isinstance(self._went_wrong, FencedError):
            await self._recorder.close()
            raise self._went_wrong
        before = self._job.ended_as or EndedAs(status="completed")
        await self._recorder.end_as(before.status, before.error, before.finished_at, done=True)
        return "error" if self._went_wrong else "cancelled" if self._stopped else "completed"

    async def _score(self) -> None:
        self._recorder.show(activity="scoring")
        self._chat, keys = open_chat(self._run, parse_graph(self._spec.graph), self._fence.check)
        means, keys = open_means(self._run, self._spec, self._chat, keys)
        if means is None:
            return
        await self._recorder.write(self._run.scoring, self._spec.scoring)
        self._means = replace(means, asks_again=self._job.rescore)
        self._scoring = RunScoring(self._means, self._recorder, None, self._failed, keys, in_backend=True)
        for position, (row, folder) in enumerate(self._to_score(self._means)):
            self._scoring.take_up(position, row, folder)
        if self._stopped:
            self._scoring.close()
        await self._scoring.settle()

    def _to_score(self, means: Means) -> Iterator[tuple[EpisodeRow, Path]]:
        folders = _folders(self._run)
        for row in self._rows:
            if not (is_scored(row) and (self._job.rescore or row.scoring == "pending")):
                continue
            folder = folders.get(row.identity)
            if folder is None:
                log.warning("episode %d has no folder any more, and is not scored", row.episode_index)
                continue
            yield (to_score_again(means, row) if self._job.rescore else row), folder

    def _stop(self) -> None:
        """Launch nothing more; what was launched ends, and is recorded."""
        self._stopped = True
        if self._scoring is not None:
            self._scoring.close()

    def _failed(self, error: OSError | FencedError) -> None:
        """Nothing can be written any more, or nothing may be."""
        log.error("%s", error)
        self._went_wrong = error if self._went_wrong is None else self._went_wrong
        self._stop()

    async def _close(self) -> None:
        if self._means is not None:
            await self._means.close()
        if self._chat is not None:
            await self._chat.close()


def _reopened(run: RunDir, spec: Spec, rows: list[EpisodeRow]) -> Summary:
    """The summary as it is while the run is scored: with all its numbers."""
    try:
        summary = run.read_summary()
    except RunDirError as error:
        log.warning("%s: it is made anew from episodes.jsonl", error)
        summary = pending_summary(spec)
        fold_rows(summary, rows)
        summary.total_episodes = len(rows)
    summary.status, summary.error, summary.finished_at = "running", None, None
    return summary


def _folders(run: RunDir) -> dict[Identity, Path]:
    """Episode → its folder."""
    found = {}
    for path in sorted(run.episodes.glob("*/episode.json")):
        try:
            found[read_json(path, EpisodeFile).episode.identity] = path.parent
        except RunDirError as error:
            log.warning("%s", error)
    return found
