"""Every sink of a run: set up once, and from then on an episode's export is an outcome, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import msgspec

from engine.scoring.secrets import Secrets, SecretsError
from engine.scoring.spec import SinkSpec, TraceSpec
from engine.store.records import EpisodeRow, Identity, now_iso
from engine.store.scores import ExportOutcome

if TYPE_CHECKING:
    import httpx

    from engine.scoring.sinks import ExportItem, Sink

EXPORT_SEC = 60.0
"""What one episode may take at one sink."""

log = logging.getLogger(__name__)


SinkStatus = Literal["nothing sent", "pending", "succeeded", "partial", "failed"]


class ExportedCase(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One episode at one sink; see :class:`engine.store.scores.ExportOutcome`."""

    identity: Identity
    external_id: str = ""
    url: str = ""
    where: str = ""
    error: str | None = None
    warning: str | None = None


class SinkReport(msgspec.Struct, kw_only=True):
    """What came of one sink over a run. A warning does not make it less than succeeded.

    cases: episodes that were exported, or failed to be. waiting: scored episodes that were not tried yet;
    while there are any, it is ``pending``. url, where: of the first episode that has one. message: empty
    where all went well.
    """

    sink: str
    name: str
    status: SinkStatus
    url: str = ""
    where: str = ""
    message: str = ""
    waiting: int = 0
    cases: list[ExportedCase] = []

    @property
    def sent(self) -> int:
        """Episodes that arrived."""
        return sum(case.error is None for case in self.cases)

    @property
    def total(self) -> int:
        """Episodes that were to arrive."""
        return len(self.cases) + self.waiting

    @property
    def is_left(self) -> bool:
        """Whether another attempt may bring more."""
        return self.sent < self.total


@dataclass(slots=True)
class Channel:
    """One sink, or why there is none: then nothing is ever asked."""

    spec: SinkSpec
    attaches: bool
    sink: Sink | None = None
    problem: str = ""

    async def export(self, item: ExportItem, timeout_sec: float) -> ExportOutcome:
        """Never raises."""
        if self.sink is None:
            return self._failed(self.problem)
        if not self.attaches:
            item = replace(item, existing_id="")
        try:
            async with asyncio.timeout(timeout_sec):
                return await self.sink.export(item)
        except TimeoutError:
            return self._failed(f"it was not done within {timeout_sec:g} s")
        except Exception as error:
            from engine.scoring.sinks import ExportError

            if not isinstance(error, ExportError):
                log.exception("exporting %s to %s failed", item.correlation_id, self.spec.name)
            return self._failed(str(error) or type(error).__name__)

    def _failed(self, error: str) -> ExportOutcome:
        return ExportOutcome(sink=self.spec.kind, name=self.spec.name, error=error, exported_at=now_iso())


@dataclass(slots=True)
class Exporter:
    """The sinks of one run.

    ``trace``: where traces come from. An episode's scores are added to the trace it has there only by a sink
    of the same platform; every other gets a trace of its own. ``client``: asks; without one, one is made, and
    closed by :meth:`close`. ``timeout_sec``: what one episode may take at one sink.
    """

    sinks: Sequence[SinkSpec]
    secrets: Secrets
    trace: TraceSpec = field(default_factory=TraceSpec)
    client: httpx.AsyncClient | None = None
    timeout_sec: float = EXPORT_SEC
    channels: list[Channel] = field(init=False)
    _ours: httpx.AsyncClient | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.channels = [self._channel(spec) for spec in self.sinks]

    async def export(self, item: ExportItem) -> list[ExportOutcome]:
        """One outcome a sink, in their order: that of an earlier export, where it went well. Never raises; a
        slow sink does not keep the others waiting."""
        return await asyncio.gather(*(self._exported(channel, item) for channel in self.channels))

    async def _exported(self, channel: Channel, item: ExportItem) -> ExportOutcome:
        called = channel.spec.kind, channel.spec.name
        for outcome in item.row.exports:
            if (outcome.sink, outcome.name) == called and outcome.error is None:
                return outcome
        return await channel.export(item, self.timeout_sec)

    async def close(self) -> None:
        if self._ours is not None:
            await self._ours.aclose()

    def _channel(self, spec: SinkSpec) -> Channel:
        from engine.scoring.sinks import make_sink

        channel = Channel(spec, _same_platform(spec, self.trace))
        try:
            secret = self.secrets.get(spec.auth_secret) if spec.auth_secret else None
        except SecretsError as error:
            channel.problem = str(error)
            return channel
        if spec.auth_secret and secret is None:
            channel.problem = self.secrets.missing(spec.auth_secret)
        else:
            channel.sink = make_sink(spec, secret, self._client(), self.secrets.strike)
        return channel

    def _client(self) -> httpx.AsyncClient:
        if self.client is not None:
            return self.client
        if self._ours is None:
            import httpx

            self._ours = httpx.AsyncClient()
        return self._ours


def fold_exports(rows: Iterable[EpisodeRow], sinks: Sequence[SinkSpec] = ()) -> list[SinkReport]:
    """What came of each sink over the rows, which are scored, in order. ``sinks``: those that were asked for,
    which are in the answer even where no episode was exported to them."""
    found: dict[tuple[str, str], list[ExportedCase]] = {(sink.kind, sink.name): [] for sink in sinks}
    scored = list(rows)
    for row in scored:
        for outcome in row.exports:
            case = ExportedCase(
                identity=row.identity,
                external_id=outcome.external_id,
                url=outcome.url,
                where=outcome.where,
                error=outcome.error,
                warning=outcome.warning,
            )
            found.setdefault((outcome.sink, outcome.name), []).append(case)
    return [_report(kind, name, cases, len(scored) - len(cases)) for (kind, name), cases in found.items()]


def _report(kind: str, name: str, cases: list[ExportedCase], waiting: int) -> SinkReport:
    errors = [case.error for case in cases if case.error is not None]
    failed = f"{len(errors)}/{len(cases)} episodes failed to export"
    status: SinkStatus
    if waiting:
        status, told = "pending", [f"{waiting} to come", *([failed] if errors else [])]
    elif not cases:
        status, told = "nothing sent", []
    elif len(errors) == len(cases):
        status, told = "failed", errors[:1]
    else:
        status, told = ("partial", [failed]) if errors else ("succeeded", [])
    return SinkReport(
        sink=kind,
        name=name,
        status=status,
        url=next((case.url for case in cases if case.url), ""),
        where=next((case.where for case in cases if case.where), ""),
        message="; ".join(told),
        waiting=waiting,
        cases=cases,
    )


def _same_platform(sink: SinkSpec, trace: TraceSpec) -> bool:
    return sink.kind == trace.kind and sink.endpoint.rstrip("/") == trace.endpoint.rstrip("/")
