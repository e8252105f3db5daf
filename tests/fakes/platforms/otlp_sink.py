"""An OTLP collector that takes JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.fakes.platforms.sink_server import Seen, SinkServer


@dataclass
class OtlpSink(SinkServer):
    """``partial``: what it says of every request that it takes."""

    partial: dict[str, Any] | None = None

    def answer(self, seen: Seen) -> tuple[int, Any]:
        if seen.method != "POST" or seen.path != "/v1/traces":
            return 404, "not found"
        if seen.headers.get("Content-Type") != "application/json":
            return 415, ""
        return 200, {"partialSuccess": self.partial} if self.partial else {}

    def spans(self) -> list[dict[str, Any]]:
        return [span for seen in self.sent("/v1/traces") for span in spans_of(seen.body)]


def spans_of(body: Any) -> list[dict[str, Any]]:
    """The spans of an OTLP/JSON request, in order."""
    scopes = [scope for resource in body["resourceSpans"] for scope in resource["scopeSpans"]]
    return [span for scope in scopes for span in scope["spans"]]


def flat(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """KeyValues as a dict; an integer is a number again."""
    return {entry["key"]: _plain(entry["value"]) for entry in attributes}


def _plain(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    return int(content) if kind == "intValue" else content
