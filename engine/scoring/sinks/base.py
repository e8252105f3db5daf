"""What every sink does with an episode: its trace goes there unless it is there already, then its scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from engine.scoring.errors import ExportError
from engine.scoring.platform import Platform
from engine.scoring.sinks.ids import Ids
from engine.scoring.sinks.payload import ScorePayload, score_payloads
from engine.scoring.spec import SinkSpec
from engine.store.records import EpisodeRow, now_iso
from engine.store.scores import ExportOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportItem:
    """One episode as it is exported.

    correlation_id: ``<run id>/<episode folder>``, by which its trace is found. events: its trace events.
    existing_id: the platform's id of the trace, where it came from there: only scores are added. Empty, the
    trace is made. idempotency_key: the same key gives the same ids, so that what is exported again is not
    there twice; empty, ids are fresh. judge_models: judge id → the model that it asked.
    """

    run_id: str
    graph_name: str
    correlation_id: str
    row: EpisodeRow
    events: Sequence[Mapping[str, Any]] = ()
    snapshot: Mapping[str, Any] | None = None
    existing_id: str = ""
    idempotency_key: str = ""
    judge_models: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Placed:
    """A trace on its platform. warning: what is not as it should be, though it arrived."""

    external_id: str
    warning: str | None = None

    def warn(self, text: str | None) -> None:
        """Add to the warning."""
        self.warning = "; ".join(filter(None, (self.warning, text))) or None


class Sink(ABC):
    """One platform, for one run."""

    def __init__(self, spec: SinkSpec, platform: Platform) -> None:
        self.spec = spec
        self.platform = platform

    async def export(self, item: ExportItem) -> ExportOutcome:
        """Send one episode. ExportError where not even its trace got there; what was refused of its scores
        is ``error`` of the outcome, beside what is known of the trace."""
        ids = Ids(item.idempotency_key, self.spec.name)
        scores = score_payloads(item.row.scores, item.judge_models, item.run_id)
        placed = Placed(item.existing_id) if item.existing_id else await self.create(item, scores, ids)
        outcome = ExportOutcome(sink=self.spec.kind, name=self.spec.name, external_id=placed.external_id)
        try:
            if scores:
                outcome.error = await self.score(item, placed, scores, ids)
        except ExportError as error:
            outcome.error = str(error)
        with suppress(ExportError):  # it is there, whether or not we know where to look
            outcome.url = await self.link(placed.external_id)
        if not outcome.url:
            outcome.where = f"trace {placed.external_id} at {self.platform.shown}"
        outcome.warning = placed.warning
        outcome.exported_at = now_iso()
        return outcome

    @abstractmethod
    async def create(self, item: ExportItem, scores: Sequence[ScorePayload], ids: Ids) -> Placed:
        """Make the episode's trace. ``scores``: for a platform that has no place of its own for them."""

    @abstractmethod
    async def score(
        self, item: ExportItem, placed: Placed, scores: Sequence[ScorePayload], ids: Ids
    ) -> str | None:
        """Add scores to a trace; answers what was refused. ExportError where the platform is gone."""

    async def link(self, external_id: str) -> str:
        """Where a person sees the trace; empty where that is not known."""
        return ""
