"""What a run scores its episodes with, made once; and how a part of an episode's way is written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from engine.scoring.asked import deciding, metric_owners
from engine.scoring.graders.base import AnyGrader
from engine.scoring.judging import JudgePanel
from engine.scoring.ladder import verdict
from engine.scoring.safe import partition
from engine.scoring.spec import ScoringSpec
from engine.store.records import EpisodeRow
from engine.store.scores import Invalid, Measured, Score, Stage, stage_time

if TYPE_CHECKING:
    import httpx

    from engine.scoring.exporting import Exporter
    from engine.scoring.sources import TraceSource


Told = Callable[[EpisodeRow, str], None]
"""Called with the row and the stage that the episode waits for now."""


@dataclass(frozen=True)
class Means:
    """source: where traces are fetched, None where there is no platform; no_source: why there is none
    although one is asked for. models: judge id → model. client: what asks platforms; closed by
    :meth:`close`. asks_again: judges are asked although they have judged the episode before."""

    spec: ScoringSpec
    run_id: str
    graph_name: str
    graders: Sequence[AnyGrader]
    judges: JudgePanel | None = None
    source: TraceSource | None = None
    no_source: str = ""
    exporter: Exporter | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    client: httpx.AsyncClient | None = None
    asks_again: bool = False

    async def close(self) -> None:
        if self.client is not None:
            await self.client.aclose()

    @property
    def holders(self) -> dict[int, AnyGrader]:
        """The graders that need the environment, by their places."""
        return partition(self.graders)[0]

    @property
    def observers(self) -> dict[int, AnyGrader]:
        """Those that do without it."""
        return partition(self.graders)[1]

    @property
    def waits_for_backend(self) -> bool:
        """Whether a trace is fetched, and what needs it done, after the run."""
        return self.spec.trace.collect == "control-plane" and self.spec.trace.kind not in ("none", "file")


class Files(Protocol):
    """Who writes the run's files, in order and durably. Every method raises OSError and FencedError."""

    async def record(self, row: EpisodeRow, folder: Path) -> None:
        """A row replaces the one that the episode has."""

    async def write_bytes(self, path: Path, data: bytes) -> None:
        """Replace a file."""


@contextmanager
def stage(row: EpisodeRow, name: str) -> Iterator[Stage]:
    """Write down that a part of the episode's way began, and when it ended. One of that name is replaced."""
    begun = Stage(name=name, started_at=stage_time())
    row.stages = [*(s for s in row.stages if s.name != name), begun]
    try:
        yield begun
    finally:
        begun.finished_at = stage_time()


def has_been(row: EpisodeRow, name: str) -> bool:
    """Whether a part of its way is behind it: it ended, and not in a way that another try could mend."""
    return any(s.name == name and s.finished_at and not (s.error and s.retryable) for s in row.stages)


def without_judges(stages: Sequence[Stage], asked: Sequence[str] = ()) -> list[Stage]:
    """The stages but for those of judges that are not, or not any more, among the ``asked``."""
    return [s for s in stages if s.name in asked or not s.name.startswith("judge:")]


def is_gradable(row: EpisodeRow) -> bool:
    """Whether there is something to grade: the agent came to its end, with or without a trace."""
    return row.status == "completed"


def is_scored(row: EpisodeRow) -> bool:
    """Whether the episode goes this way at all: not what the box failed or a person cancelled, which is
    played again."""
    return row.status != "cancelled" and row.error_class != "infra"


def with_scores(means: Means, row: EpisodeRow, scores: Sequence[Score]) -> EpisodeRow:
    """The row with these scores, and the verdict that they come to."""
    told_apart = _each_once(scores, metric_owners(means.graders))
    decided = verdict(told_apart, means.spec.verdict, deciding(means.graders, means.spec.judges))
    return msgspec.structs.replace(row, scores=told_apart, verdict=decided)


def _each_once(scores: Sequence[Score], owners: Mapping[str, str]) -> list[Score]:
    """The scores, but for a value of a metric that is another grader's, who declares it or had it first."""
    owned = dict(owners)
    return [_kept(score, owned.setdefault(score.metric, score.grader_id)) for score in scores]


def _kept(score: Score, owner: str) -> Score:
    if not isinstance(score, Measured) or score.grader_id == owner:
        return score
    told = f"{score.metric!r} is scored by the grader {owner!r}: it needs another name"
    return Invalid(grader_id=score.grader_id, metric=score.metric, reason="contract_violation", detail=told)
