"""What a run scores its episodes with, from what was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.models.call import Chat
from engine.scoring.graders import make_grader
from engine.scoring.judging import JudgePanel, judge_models
from engine.scoring.scored import Means
from engine.scoring.secrets import Secrets, SecretsError
from engine.scoring.spec import ScoringSpec, TraceSpec
from engine.store.profile import Profile

if TYPE_CHECKING:
    import httpx

    from engine.scoring.exporting import Exporter
    from engine.scoring.sources import TraceSource

COLLECT_SEC = 30.0
"""For one request to the platform that has the traces."""


def make_means(
    spec: ScoringSpec,
    run_id: str,
    graph_name: str,
    chat: Chat,
    profiles: Mapping[str, Profile],
    secrets: Secrets,
) -> Means:
    """A secret that is not there costs what needs it, and nothing else: each such failure is told where it
    is met. Raises ScoringError."""
    client = _client(spec)
    source, no_source = _source(spec.trace, secrets, client)
    return Means(
        spec=spec,
        run_id=run_id,
        graph_name=graph_name,
        graders=[make_grader(grader) for grader in spec.graders],
        judges=JudgePanel(spec.judges, chat) if spec.judges else None,
        source=source,
        no_source=no_source,
        exporter=_exporter(spec, secrets, client),
        models=judge_models(spec.judges, profiles),
        client=client,
    )


def _client(spec: ScoringSpec) -> httpx.AsyncClient | None:
    if spec.trace.kind in ("none", "file") and not spec.sinks:
        return None
    import httpx

    return httpx.AsyncClient(timeout=COLLECT_SEC)


def _source(
    trace: TraceSpec, secrets: Secrets, client: httpx.AsyncClient | None
) -> tuple[TraceSource | None, str]:
    """The source, or None and why there is none."""
    if trace.kind in ("none", "file") or client is None:
        return None, ""
    from engine.scoring.sources import CollectError, make_source

    try:
        secret = secrets.get(trace.auth_secret) if trace.auth_secret else None
        if trace.auth_secret and secret is None:
            return None, secrets.missing(trace.auth_secret)
        return make_source(trace, secret, client, secrets.strike), ""
    except (SecretsError, CollectError) as error:
        return None, str(error)


def _exporter(spec: ScoringSpec, secrets: Secrets, client: httpx.AsyncClient | None) -> Exporter | None:
    if not spec.sinks:
        return None
    from engine.scoring.exporting import Exporter

    return Exporter(spec.sinks, secrets, spec.trace, client)
