"""What a run does with each episode once it is over: scored, where that was asked for, and then counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import structs

from engine.evaluation.early_stop import EarlyStopper
from engine.evaluation.episode import Hold
from engine.evaluation.recorder import Recorder
from engine.models.client import ChatClient
from engine.models.errors import ProfileError
from engine.scoring.context import Compute
from engine.scoring.opening import make_means
from engine.scoring.pipeline import Pipeline
from engine.scoring.reading import read_scoring
from engine.scoring.scored import Means
from engine.scoring.secrets import Secrets
from engine.store.fence import FencedError
from engine.store.keys import Keys
from engine.store.records import EpisodeRow, Spec
from engine.store.rundir import RunDir
from engine.store.settings import read_settings


def open_means(run: RunDir, spec: Spec, chat: ChatClient, keys: Keys) -> tuple[Means | None, Keys]:
    """What the run's episodes are scored with, None where nothing is asked for; and ``keys``, with the
    secrets. From now on no process that is started has these, whoever asked. Raises ScoringError and
    SettingsError."""
    secrets = Secrets.withheld(run.root)
    keys = keys.with_those_of(secrets.keys)
    if not spec.scoring:
        return None, keys
    asked, profiles = read_scoring(spec.scoring), read_settings(run.root).profiles
    if asked.asks_nothing:
        return None, keys
    for judge in asked.judges:
        with suppress(ProfileError):  # its scores will say so
            chat.endpoint(judge.profile)
    return make_means(asked, run.run_id, str(spec.graph.get("name", "")), chat, profiles, secrets), keys


class RunScoring:
    """``stopper`` is told of each final row. ``failed``: called with what keeps a file from being written.

    ``means`` None: nothing is scored, and every row is final. ``keys`` are in nothing that is written.
    """

    def __init__(
        self,
        means: Means | None,
        recorder: Recorder,
        stopper: EarlyStopper | None,
        failed: Callable[[OSError | FencedError], None],
        keys: Keys,
        *,
        in_backend: bool = False,
    ) -> None:
        self._recorder = recorder
        self._stopper = stopper
        self._failed = failed
        self._keys = keys
        self._pipeline: Pipeline | None = None
        if means is not None:
            self._pipeline = Pipeline(means, self, recorder.show, self._final, in_backend=in_backend)
            recorder.waiting = self._pipeline.waiting

    def hold(self, folder: Path) -> Hold | None:
        """What is done with an episode's row while its environment is held; None where nothing is."""
        return partial(self._held, self._pipeline, folder) if self._pipeline is not None else None

    def push(self, position: int, row: EpisodeRow, folder: Path) -> None:
        """The row is on disk, and the episode's environment is released."""
        if self._pipeline is None:
            self._final(position, row, folder)
            return
        if self._stopper is not None:
            self._stopper.stands(position, row, folder)
        self._pipeline.push(position, row, folder)

    def take_up(self, position: int, row: EpisodeRow, folder: Path) -> None:
        """The row is of an earlier attempt, which may have left its scoring to this one."""
        if row.scoring == "pending":
            self.push(position, row, folder)
        else:
            self._final(position, row, folder)

    def close(self) -> None:
        """Launch nothing more."""
        if self._pipeline is not None:
            self._pipeline.close()

    async def settle(self) -> None:
        """Wait for all that was pushed. See :meth:`engine.scoring.pipeline.Pipeline.settle`."""
        if self._pipeline is not None:
            await self._pipeline.settle()

    async def record(self, row: EpisodeRow, folder: Path) -> None:
        """See :class:`engine.scoring.scored.Files`."""
        await self._written(self._recorder.record(self._struck(row), folder))

    async def write_bytes(self, path: Path, data: bytes) -> None:
        await self._written(self._recorder.write_bytes(path, self._keys.strike(data)))

    def _struck(self, row: EpisodeRow) -> EpisodeRow:
        """What graders, judges and platforms said may repeat a key."""
        strike = self._keys.strike_in
        return structs.replace(
            row,
            scores=[structs.replace(score, detail=strike(score.detail)) for score in row.scores],
            stages=[structs.replace(stage, error=strike(stage.error)) for stage in row.stages],
        )

    async def _written(self, writing: Awaitable[None]) -> None:
        """The whole run must hear of what cannot be written, and not only the episode."""
        try:
            await writing
        except (OSError, FencedError) as error:
            self._failed(error)
            raise

    async def _held(self, pipeline: Pipeline, folder: Path, row: EpisodeRow, compute: Compute) -> EpisodeRow:
        return self._struck(await pipeline.hold(row, folder, compute))

    def _final(self, position: int, row: EpisodeRow, folder: Path) -> None:
        if self._stopper is not None:
            self._stopper.ended(position, row, folder)
