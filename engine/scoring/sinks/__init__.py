"""Where finished episodes are exported to. :func:`make_sink` makes a platform's sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.scoring.auth import auth_headers
from engine.scoring.errors import ExportError
from engine.scoring.platform import Platform
from engine.scoring.sinks.base import ExportItem, Sink
from engine.scoring.sinks.langfuse import LangfuseSink
from engine.scoring.sinks.langsmith import LangSmithSink
from engine.scoring.sinks.mlflow import MlflowSink
from engine.scoring.sinks.otlp import OtlpSink
from engine.scoring.sinks.phoenix import PhoenixSink
from engine.scoring.spec import SinkSpec

if TYPE_CHECKING:
    import httpx

__all__ = ["ExportError", "ExportItem", "Sink", "make_sink"]

_SINKS: dict[str, type[Sink]] = {
    "langfuse": LangfuseSink,
    "langsmith": LangSmithSink,
    "mlflow": MlflowSink,
    "otlp": OtlpSink,
    "phoenix": PhoenixSink,
}


def make_sink(
    spec: SinkSpec,
    secret: str | None,
    client: httpx.AsyncClient,
    strike: Callable[[bytes], bytes] = bytes,
) -> Sink:
    """The sink that ``spec`` describes. ``secret``: None asks without. ``strike``: takes secrets out of what
    is sent, and of what errors repeat."""
    headers = auth_headers(spec.kind, secret)
    platform = Platform(client, spec.endpoint, headers, secret, fault=ExportError, strike=strike)
    return _SINKS[spec.kind](spec, platform)
