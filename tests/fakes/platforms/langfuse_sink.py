"""Langfuse as it is written to: version 4 by default, or what servers before OTLP and score lists had."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.fakes.platforms.sink_server import Seen, SinkServer


@dataclass
class LangfuseSink(SinkServer):
    """``old``: knows /ingestion alone. ``refuses``: names of scores, and of traces and observations, that it
    does not take."""

    old: bool = False
    refuses: set[str] = field(default_factory=set)
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, seen: Seen) -> tuple[int, Any]:
        if seen.path == "/api/public/projects":
            return 200, {"data": [{"id": "proj-1", "name": "evals"}]}
        if seen.path == "/api/public/ingestion":
            return self._ingest(seen.body["batch"])
        if not self.old and seen.path == "/api/public/otel/v1/traces":
            return 200, {}
        if seen.path == "/api/public/scores":
            return self._take(seen.body)
        return 404, "<html>not found</html>"

    def _take(self, body: Any) -> tuple[int, Any]:
        if self.old or not isinstance(body, list):
            return 400, {"message": "Invalid request data", "error": "expected object"}
        errors = [{"message": f"score {s['name']} is invalid"} for s in body if s["name"] in self.refuses]
        self.scores |= {s["id"]: s for s in body if s["name"] not in self.refuses}
        if errors:
            told = {"accepted": len(body) - len(errors), "rejected": len(errors), "errors": errors}
            return 207, told
        return 202, {"message": "Accepted"}

    def _ingest(self, batch: list[dict[str, Any]]) -> tuple[int, Any]:
        refused = [event["id"] for event in batch if event["body"].get("name") in self.refuses]
        for event in batch:
            if event["type"] == "score-create" and event["id"] not in refused:
                self.scores[event["body"]["id"]] = event["body"]
        errors = [{"id": event_id, "status": 400, "message": "invalid body"} for event_id in refused]
        taken = [{"id": event["id"], "status": 201} for event in batch if event["id"] not in refused]
        return 207, {"successes": taken, "errors": errors}
