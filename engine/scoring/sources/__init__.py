"""Where the traces of harnesses are read from (contract scoring.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from engine.scoring.attributes import Names
from engine.scoring.auth import auth_headers
from engine.scoring.errors import CollectError
from engine.scoring.sources.base import TraceSource
from engine.scoring.spec import TraceSpec

if TYPE_CHECKING:
    import httpx

    from engine.scoring.platform import Platform

__all__ = ["CollectError", "TraceSource", "make_source"]


def make_source(
    spec: TraceSpec,
    secret: str | None,
    client: httpx.AsyncClient,
    strike: Callable[[bytes], bytes] = bytes,
) -> TraceSource:
    """The platform that a run's ``trace`` names. ``secret``: the value of its ``auth_secret``. ``strike``:
    takes secrets out of what errors repeat.

    Raises CollectError for a secret that is not there or unfit, and for what a search by tag lacks.
    """
    from engine.scoring.platform import Platform

    if spec.auth_secret and secret is None:
        raise CollectError(f"trace.auth_secret: there is no secret {spec.auth_secret!r}")
    try:
        headers = auth_headers(spec.kind, secret)
    except ValueError as error:
        raise CollectError(f"trace.auth_secret: {spec.auth_secret!r} {error}") from None
    try:
        names = Names(spec.mapping)
    except ValueError as error:
        raise CollectError(f"trace.mapping: {error}") from None
    platform = Platform(client, spec.endpoint, headers, secret, fault=CollectError, strike=strike)
    return _on_platform(spec, platform, names)


def _on_platform(spec: TraceSpec, platform: Platform, names: Names) -> TraceSource:
    tagged = spec.correlate == "tag"
    match spec.kind:
        case "otel":
            from engine.scoring.sources.otel import OtelSource

            return OtelSource(platform, names, _needed(spec, "service") if tagged else None)
        case "mlflow":
            from engine.scoring.sources.mlflow import MlflowSource

            return MlflowSource(platform, names, _needed(spec, "experiment") if tagged else None)
        case "langfuse":
            from engine.scoring.sources.langfuse import LangfuseSource

            return LangfuseSource(platform, names, tagged=tagged)
        case "langsmith":
            from engine.scoring.sources.langsmith import LangsmithSource

            project = _needed(spec, "project") if tagged else spec.project or None
            return LangsmithSource(platform, names, project, tagged=tagged)
        case "phoenix":
            from engine.scoring.sources.phoenix import PhoenixSource

            return PhoenixSource(platform, names, _needed(spec, "project"), tagged=tagged)
        case _:
            raise CollectError(f"trace.kind: from {spec.kind!r} there is nothing to fetch")


def _needed(spec: TraceSpec, field: Literal["service", "experiment", "project"]) -> str:
    found: str = getattr(spec, field)
    if not found:
        raise CollectError(f"trace.{field} is missing: {spec.kind} looks for traces in one")
    return found
