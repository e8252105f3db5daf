"""Phoenix as it is written to: spans that are queued, annotations that need theirs inserted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.fakes.platforms.sink_server import Seen, SinkServer

KINDS = {"LLM", "CODE", "HUMAN"}


@dataclass
class PhoenixSink(SinkServer):
    """``late``: so many readings of a trace find it not inserted yet; None, all do. ``refuses``: names of
    annotations that it does not take, nor what comes with them."""

    late: int | None = 0
    refuses: set[str] = field(default_factory=set)
    spans: dict[str, dict[str, Any]] = field(default_factory=dict)
    annotations: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    queued: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, seen: Seen) -> tuple[int, Any]:
        if seen.path.startswith("/v1/projects/") and seen.path.endswith("/spans"):
            return self._spans(seen.body["data"]) if seen.method == "POST" else self._read(seen)
        if seen.path == "/v1/trace_annotations":
            return self._annotate(seen)
        return 404, "Not Found"

    @property
    def traces(self) -> set[str]:
        return {span["context"]["trace_id"] for span in self.spans.values()}

    def _spans(self, data: list[dict[str, Any]]) -> tuple[int, Any]:
        known = [span for span in data if span["context"]["span_id"] in self.spans]
        self.spans |= {span["context"]["span_id"]: span for span in data}
        told = {"total_received": len(data), "total_queued": len(data) - len(known)}
        if known:
            error = "Request contains invalid or duplicate spans"
            return 400, {"error": error, **told, "total_duplicates": len(known), "total_invalid": 0}
        return 202, told

    def _read(self, seen: Seen) -> tuple[int, Any]:
        if self.late is None or self.late:
            self.late = self.late and self.late - 1
            return 200, {"data": [], "next_cursor": None}
        wanted = seen.query["trace_id"]
        found = [span for span in self.spans.values() if span["context"]["trace_id"] == wanted]
        return 200, {"data": found[: int(seen.query["limit"])], "next_cursor": None}

    def _annotate(self, seen: Seen) -> tuple[int, Any]:
        data = seen.body["data"]
        if any(entry["annotator_kind"] not in KINDS or entry["name"] in self.refuses for entry in data):
            return 422, {"detail": [{"msg": "Input is invalid"}]}
        if seen.query.get("sync") != "true":
            self.queued += data
            return 200, {"data": []}
        missing = {entry["trace_id"] for entry in data} - self.traces
        if missing or self.late is None:
            return 404, f"Traces with IDs {', '.join(sorted(missing))} do not exist."
        for entry in data:
            self.annotations[entry["trace_id"], entry["name"], entry.get("identifier", "")] = entry
        return 200, {"data": [{"id": str(index)} for index in range(len(data))]}
